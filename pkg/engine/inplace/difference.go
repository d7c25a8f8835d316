package inplace

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// operation is what happens to a field.
type operation string

const (
	opAdd     operation = "added"
	opRemove  operation = "removed"
	opReplace operation = "changed"
)

// difference is one field that is not the same in two JSON trees.
type difference struct {
	// at has the names and list indexes on the way to the field.
	at []string
	op operation
}

// path is the field below root in the form of validation messages.
func (d difference) path(root string) string {
	var b strings.Builder
	b.WriteString(root)
	for _, step := range d.at {
		if _, err := strconv.Atoi(step); err == nil {
			b.WriteString("[" + step + "]")
		} else if strings.ContainsAny(step, "./[]") {
			b.WriteString("[" + step + "]")
		} else {
			b.WriteString("." + step)
		}
	}
	return b.String()
}

// differences lists what has to be added, removed or replaced to make the tree b of a, in the order of the fields'
// names. Lists are compared by index.
func differences(a, b any) []difference {
	var found []difference
	walk(nil, a, b, &found)
	return found
}

func walk(at []string, a, b any, found *[]difference) {
	switch a := a.(type) {
	case map[string]any:
		if b, ok := b.(map[string]any); ok {
			walkObjects(at, a, b, found)
			return
		}
	case []any:
		if b, ok := b.([]any); ok {
			walkLists(at, a, b, found)
			return
		}
	}
	if !reflect.DeepEqual(a, b) {
		*found = append(*found, difference{at: slices.Clone(at), op: opReplace})
	}
}

func walkObjects(at []string, a, b map[string]any, found *[]difference) {
	names := make([]string, 0, len(a)+len(b))
	for name := range a {
		names = append(names, name)
	}
	for name := range b {
		if _, both := a[name]; !both {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		was, had := a[name]
		is, has := b[name]
		step := append(at, name)
		switch {
		case !has:
			*found = append(*found, difference{at: slices.Clone(step), op: opRemove})
		case !had:
			*found = append(*found, difference{at: slices.Clone(step), op: opAdd})
		default:
			walk(step, was, is, found)
		}
	}
}

func walkLists(at []string, a, b []any, found *[]difference) {
	for i := range max(len(a), len(b)) {
		step := append(at, strconv.Itoa(i))
		switch {
		case i >= len(b):
			*found = append(*found, difference{at: slices.Clone(step), op: opRemove})
		case i >= len(a):
			*found = append(*found, difference{at: slices.Clone(step), op: opAdd})
		default:
			walk(step, a[i], b[i], found)
		}
	}
}
