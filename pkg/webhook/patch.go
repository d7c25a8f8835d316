package webhook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"gomodules.xyz/jsonpatch/v2"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// patched is the answer that turns the object of a request into the changed one. before is the object as this build
// understood it, after what became of it. Only their difference goes into the patch, so that what the request says besides
// survives (workloadspread.md H9).
func patched(raw []byte, before, after any) (admission.Response, error) {
	if equality.Semantic.DeepEqual(before, after) {
		return admission.Allowed(""), nil
	}
	was, err := tree(raw)
	if err != nil {
		return admission.Response{}, err
	}
	from, err := treeOf(before)
	if err != nil {
		return admission.Response{}, err
	}
	to, err := treeOf(after)
	if err != nil {
		return admission.Response{}, err
	}
	ops := difference(nil, "", was, graft(was, from, to))
	if len(ops) == 0 {
		return admission.Allowed(""), nil
	}
	return admission.Patched("", ops...), nil
}

// tree decodes JSON and keeps the text of numbers.
func tree(data []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, fmt.Errorf("decode object: %w", err)
	}
	return value, nil
}

func treeOf(object any) (any, error) {
	data, err := json.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("encode object: %w", err)
	}
	return tree(data)
}

// graft does to a value what turned from into to. The value may hold more than from, and lack what from has empty.
func graft(value, from, to any) any {
	if reflect.DeepEqual(from, to) {
		return value
	}
	switch to := to.(type) {
	case map[string]any:
		before, ok := from.(map[string]any)
		if !ok {
			return to
		}
		now, _ := value.(map[string]any)
		return graftMap(now, before, to)
	case []any:
		before, ok1 := from.([]any)
		now, ok2 := value.([]any)
		if ok1 && ok2 && len(before) == len(now) {
			return graftList(now, before, to)
		}
	}
	return to
}

func graftMap(value, from, to map[string]any) map[string]any {
	out := make(map[string]any, len(value)+len(to))
	for key, v := range value {
		out[key] = v
	}
	for key := range from {
		if _, kept := to[key]; !kept {
			delete(out, key)
		}
	}
	for key, v := range to {
		before, found := from[key]
		if !found {
			out[key] = v
			continue
		}
		now, found := value[key]
		if !found && reflect.DeepEqual(before, v) {
			continue // both say that it is empty, and the request did not say it
		}
		out[key] = graft(now, before, v)
	}
	return out
}

// graftList follows entries by what they are called, or by being equal, so that those that moved keep what they say
// besides. Entries that cannot be found again come as they are.
func graftList(value, from, to []any) []any {
	used := make([]bool, len(from))
	find := func(entry any) int {
		for i := range from {
			if !used[i] && (reflect.DeepEqual(from[i], entry) || sameName(from[i], entry)) {
				used[i] = true
				return i
			}
		}
		return -1
	}
	out := make([]any, len(to))
	for i, entry := range to {
		if at := find(entry); at >= 0 {
			out[i] = graft(value[at], from[at], entry)
		} else {
			out[i] = entry
		}
	}
	return out
}

// mergeKeys tell the entries of a list apart, the first one that an entry has.
var mergeKeys = []string{"name", "mountPath", "devicePath", "containerPort", "conditionType", "key"}

func sameName(a, b any) bool {
	one, ok1 := a.(map[string]any)
	other, ok2 := b.(map[string]any)
	if !ok1 || !ok2 {
		return false
	}
	for _, key := range mergeKeys {
		if value, found := one[key]; found {
			return reflect.DeepEqual(value, other[key])
		}
	}
	return false
}

// difference adds the operations that turn one value into another. A list of another length is replaced as a whole.
func difference(ops []jsonpatch.Operation, path string, from, to any) []jsonpatch.Operation {
	if reflect.DeepEqual(from, to) {
		return ops
	}
	switch now := to.(type) {
	case map[string]any:
		if before, ok := from.(map[string]any); ok {
			return differenceOfMaps(ops, path, before, now)
		}
	case []any:
		before, ok := from.([]any)
		if ok && len(before) == len(now) {
			for i := range now {
				ops = difference(ops, path+"/"+strconv.Itoa(i), before[i], now[i])
			}
			return ops
		}
	}
	return append(ops, jsonpatch.NewOperation("replace", path, to))
}

func differenceOfMaps(ops []jsonpatch.Operation, path string, from, to map[string]any) []jsonpatch.Operation {
	for _, key := range sortedKeys(from) {
		if _, kept := to[key]; !kept {
			ops = append(ops, jsonpatch.NewOperation("remove", path+"/"+escape(key), nil))
		}
	}
	for _, key := range sortedKeys(to) {
		at := path + "/" + escape(key)
		if before, found := from[key]; found {
			ops = difference(ops, at, before, to[key])
		} else {
			ops = append(ops, jsonpatch.NewOperation("add", at, to[key]))
		}
	}
	return ops
}

func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

var pointer = strings.NewReplacer("~", "~0", "/", "~1")

// escape writes a key as a part of a JSON pointer.
func escape(key string) string { return pointer.Replace(key) }
