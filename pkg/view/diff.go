package view

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// FieldDiff is one field that two templates do not have in common. Path is stable: entries of lists are named by what
// Kubernetes merges them by, such as containers[nginx].env[MODE].value. An absent From means that the field is added, an
// absent To that it is removed.
type FieldDiff struct {
	Path string `json:"path"`
	From any    `json:"from,omitempty"`
	To   any    `json:"to,omitempty"`

	steps []string
}

// DiffJSON compares two JSON documents. It is the first of three stages: differences, then a tree of them, then text.
func DiffJSON(from, to []byte) ([]FieldDiff, error) {
	var a, b any
	if err := json.Unmarshal(from, &a); err != nil {
		return nil, fmt.Errorf("compare: %w", err)
	}
	if err := json.Unmarshal(to, &b); err != nil {
		return nil, fmt.Errorf("compare: %w", err)
	}
	var d differ
	d.walk(nil, a, b)
	return d.found, nil
}

type differ struct{ found []FieldDiff }

func (d *differ) add(steps []string, from, to any) {
	steps = slices.Clone(steps)
	d.found = append(d.found, FieldDiff{Path: joinSteps(steps), From: from, To: to, steps: steps})
}

func (d *differ) walk(at []string, a, b any) {
	if reflect.DeepEqual(a, b) {
		return
	}
	if x, ok := a.(map[string]any); ok {
		if y, ok := b.(map[string]any); ok {
			d.objects(at, x, y)
			return
		}
	}
	if x, ok := a.([]any); ok {
		if y, ok := b.([]any); ok {
			d.lists(at, x, y)
			return
		}
	}
	d.add(at, a, b)
}

func (d *differ) objects(at []string, a, b map[string]any) {
	names := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		d.walk(append(at, name), a[name], b[name])
	}
}

// lists compares entries of the same key. Keys in another order are a difference of their own, for they make another
// template.
func (d *differ) lists(at []string, a, b []any) {
	field := ""
	if len(at) > 0 {
		field = at[len(at)-1]
	}
	x, y, ok := entries(field, a, b)
	if !ok {
		for i := range max(len(a), len(b)) {
			d.walk(append(at, "["+strconv.Itoa(i)+"]"), item(a, i), item(b, i))
		}
		return
	}
	for _, key := range x {
		d.walk(append(at, "["+key+"]"), a[slices.Index(x, key)], item(b, slices.Index(y, key)))
	}
	for i, key := range y {
		if !slices.Contains(x, key) {
			d.walk(append(at, "["+key+"]"), nil, b[i])
		}
	}
	if before, after := common(x, y), common(y, x); !slices.Equal(before, after) {
		d.add(append(at, "(order)"), strings.Join(before, ", "), strings.Join(after, ", "))
	}
}

func item(list []any, i int) any {
	if i < 0 || i >= len(list) {
		return nil
	}
	return list[i]
}

// common keeps the entries of a that b has too.
func common(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return !slices.Contains(b, s) })
}

// mergeKey is what Kubernetes tells the entries of a list by.
func mergeKey(field string) string {
	switch field {
	case "containers", "initContainers", "ephemeralContainers", "volumes", "env", "imagePullSecrets", "resourceClaims", "schedulingGates":
		return "name"
	case "volumeMounts":
		return "mountPath"
	case "volumeDevices":
		return "devicePath"
	case "ports":
		return "containerPort"
	case "hostAliases":
		return "ip"
	case "readinessGates":
		return "conditionType"
	}
	return ""
}

// entries lists the keys of both lists; false if the list has no keys, or if they are not all there and different.
func entries(field string, a, b []any) (x, y []string, ok bool) {
	key := mergeKey(field)
	if key == "" {
		return nil, nil, false
	}
	keys := func(list []any) []string {
		var found []string
		for _, entry := range list {
			object, _ := entry.(map[string]any)
			value, has := object[key]
			if text := plainValue(value); has && !slices.Contains(found, text) {
				found = append(found, text)
			}
		}
		return found
	}
	x, y = keys(a), keys(b)
	return x, y, len(x) == len(a) && len(y) == len(b)
}

func joinSteps(steps []string) string {
	var b strings.Builder
	for i, step := range steps {
		switch {
		case i == 0 || strings.HasPrefix(step, "["):
		case strings.HasPrefix(step, "("):
			b.WriteByte(' ')
		default:
			b.WriteByte('.')
		}
		if strings.ContainsAny(step, "./") && !strings.HasPrefix(step, "[") {
			step = strconv.Quote(step) // labels and annotations
		}
		b.WriteString(step)
	}
	return b.String()
}

// plainValue shows scalars as they are and everything else as JSON.
func plainValue(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(raw)
}

// Sentence tells a difference: "nginx:1.26 -> nginx:1.27", "added: x", "removed: x".
func (f FieldDiff) Sentence() string {
	switch {
	case f.From == nil:
		return Clean("added: " + plainValue(f.To))
	case f.To == nil:
		return Clean("removed: " + plainValue(f.From))
	}
	return Clean(plainValue(f.From) + " -> " + plainValue(f.To))
}

// branch is the second stage: differences by their path, with what they have in common said once.
type branch struct {
	steps    []string
	children []*branch
	leaf     *FieldDiff
}

// treeOf sorts differences, which are in the order of their paths, into a tree. A branch with one child is one with it.
func treeOf(diffs []FieldDiff) *branch {
	root := &branch{}
	for i := range diffs {
		at := root
		for _, step := range diffs[i].steps {
			k := slices.IndexFunc(at.children, func(b *branch) bool { return b.steps[0] == step })
			if k < 0 {
				k = len(at.children)
				at.children = append(at.children, &branch{steps: []string{step}})
			}
			at = at.children[k]
		}
		at.leaf = &diffs[i]
	}
	root.contract()
	return root
}

func (b *branch) contract() {
	for _, c := range b.children {
		for len(c.children) == 1 && c.leaf == nil {
			only := c.children[0]
			c.steps, c.children, c.leaf = append(c.steps, only.steps...), only.children, only.leaf
		}
		c.contract()
	}
}

// text is the third stage: a line for each branch, indented below what it belongs to.
func (b *branch) text(indent string) []string {
	var lines []string
	width := 0
	for _, c := range b.children {
		if c.leaf != nil {
			width = max(width, len(joinSteps(c.steps)))
		}
	}
	for _, c := range b.children {
		name := joinSteps(c.steps)
		if c.leaf != nil {
			lines = append(lines, fmt.Sprintf("%s%-*s  %s", indent, width, Clean(name), c.leaf.Sentence()))
		} else {
			lines = append(lines, indent+Clean(name))
		}
		lines = append(lines, c.text(indent+"  ")...)
	}
	return lines
}

// DiffText shows differences to people.
func DiffText(diffs []FieldDiff) []string { return treeOf(diffs).text("") }
