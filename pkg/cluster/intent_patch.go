package cluster

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1alpha1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
)

// IntentChange is an intent as a patch of one stored object. It is a plan.Change.
type IntentChange struct {
	// Fields lists what changes, in the order in which it is told; empty when the object says all of it already.
	Fields []FieldChange
	intent Intent
	as     types.PatchType
	body   []byte
}

// FieldChange is one field that an intent changes. Old is empty for a field that was not set.
type FieldChange struct {
	// Name is the field in the user's words: "partition", "image nginx".
	Name, Old, New string
}

// PatchType implements plan.Change: a JSON patch if images change, because lists of templates have to be patched by
// position, otherwise a merge patch.
func (c *IntentChange) PatchType() types.PatchType { return c.as }

// Body implements plan.Change.
func (c *IntentChange) Body() ([]byte, error) { return c.body, nil }

// Apply implements plan.Change.
func (c *IntentChange) Apply(obj plan.Object) error { return c.intent.apply(obj) }

// edit is one value to set at a path of the wire object.
type edit struct {
	name  string
	path  []string
	value any
}

// Change renders the intent for a set as the server stores it, raw, in the given version. The patch touches nothing but
// the fields that differ, so that everything else in the object survives, known to this build or not. Images are set by
// position, guarded by tests of the container's name and present image: if the template changed in the meantime the
// server answers with a conflict. It returns an *UnknownContainerError for an image of a container that is not there.
func (in Intent) Change(raw []byte, version string) (*IntentChange, error) {
	var object map[string]any
	if err := json.Unmarshal(raw, &object); err != nil {
		return nil, fmt.Errorf("stored object: %w", err)
	}
	change := &IntentChange{intent: in, as: types.MergePatchType}
	images, operations, err := in.images(object)
	if err != nil {
		return nil, err
	}
	change.Fields = images
	if in.Template != nil {
		change.Fields = append(change.Fields, FieldChange{Name: "template", Old: in.Template.From, New: in.Template.To})
		operations = append(operations, operation{"replace", "/spec/template", in.Template.Raw})
	}
	var edits []edit
	for _, e := range append(in.edits(version), in.moreEdits(object)...) {
		old, found := lookup(object, e.path)
		if found && fmt.Sprint(old) == fmt.Sprint(e.value) || !found && (e.value == false || e.value == nil) {
			continue
		}
		edits = append(edits, e)
		if e.name == "" {
			continue
		}
		field := FieldChange{Name: e.name, New: fmt.Sprint(e.value)}
		if found {
			field.Old = fmt.Sprint(old)
		}
		change.Fields = append(change.Fields, field)
	}
	if len(operations) == 0 {
		change.body, err = json.Marshal(mergePatch(edits))
		return change, err
	}
	change.as = types.JSONPatchType
	change.body, err = json.Marshal(append(operations, jsonPatch(object, edits)...))
	return change, err
}

// edits names the fields of a version. The values are as JSON decodes them, so that they compare with what is stored.
func (in *Intent) edits(version string) []edit {
	strategy := []string{"spec", "updateStrategy"}
	block := strategy
	var edits []edit
	switch {
	case version == v1alpha1.SchemeGroupVersion.Version:
		if in.Type != "" {
			edits = append(edits, edit{"type", at(strategy, "type"), in.Type})
		}
	default:
		block = at(strategy, "rollingUpdate")
		if in.Type == OnDelete {
			edits = append(edits, edit{"type", at(strategy, "type"), in.Type})
		} else if in.Type != "" {
			edits = append(edits,
				edit{"", at(strategy, "type"), string(v1beta1.RollingUpdateCloneSetUpdateStrategyType)},
				edit{"type", at(block, "podUpdatePolicy"), in.Type})
		}
	}
	if in.Partition != nil {
		edits = append(edits, edit{"partition", at(block, "partition"), wireNumber(in.Partition)})
	}
	if in.MaxUnavailable != nil {
		edits = append(edits, edit{"maxUnavailable", at(block, "maxUnavailable"), wireNumber(in.MaxUnavailable)})
	}
	if in.MaxSurge != nil {
		edits = append(edits, edit{"maxSurge", at(block, "maxSurge"), wireNumber(in.MaxSurge)})
	}
	if in.Paused != nil {
		edits = append(edits, edit{"paused", at(block, "paused"), *in.Paused})
	}
	return edits
}

// wireNumber is an int-or-string as JSON has it; a number in quotes becomes one without.
func wireNumber(value *intstr.IntOrString) any {
	text := value.String()
	if n, err := strconv.ParseInt(text, 10, 32); err == nil {
		return n
	}
	return text
}

func at(path []string, key string) []string { return append(slices.Clone(path), key) }

func lookup(object map[string]any, path []string) (any, bool) {
	var value any = object
	for _, key := range path {
		open, ok := value.(map[string]any)
		if !ok {
			return nil, false
		}
		if value, ok = open[key]; !ok || value == nil {
			return nil, false
		}
	}
	return value, true
}

func mergePatch(edits []edit) map[string]any {
	patch := map[string]any{}
	for _, e := range edits {
		open := patch
		for _, key := range e.path[:len(e.path)-1] {
			next, ok := open[key].(map[string]any)
			if !ok {
				next = map[string]any{}
				open[key] = next
			}
			open = next
		}
		open[e.path[len(e.path)-1]] = e.value
	}
	return patch
}

type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// jsonPatch makes the parents that are missing. An "add" replaces what is there.
func jsonPatch(object map[string]any, edits []edit) []operation {
	var list []operation
	made := map[string]bool{}
	for _, e := range edits {
		for i := 1; i < len(e.path); i++ {
			parent := pointer(e.path[:i])
			if _, found := lookup(object, e.path[:i]); !found && !made[parent] {
				made[parent] = true
				list = append(list, operation{"add", parent, map[string]any{}})
			}
		}
		if e.value == nil {
			list = append(list, operation{Op: "remove", Path: pointer(e.path)})
			continue
		}
		list = append(list, operation{"add", pointer(e.path), e.value})
	}
	return list
}

// pointer is a JSON pointer, in which keys with a slash are escaped.
func pointer(path []string) string {
	var b strings.Builder
	for _, key := range path {
		b.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key))
	}
	return b.String()
}

// images finds the containers by name and renders what changes.
func (in *Intent) images(object map[string]any) ([]FieldChange, []operation, error) {
	if len(in.Images) == 0 {
		return nil, nil, nil
	}
	raw, _ := lookup(object, []string{"spec", "template", "spec"})
	text, err := json.Marshal(raw)
	if err != nil {
		return nil, nil, err
	}
	var spec corev1.PodSpec
	if err := json.Unmarshal(text, &spec); err != nil {
		return nil, nil, fmt.Errorf("stored template: %w", err)
	}
	var fields []FieldChange
	var operations []operation
	for _, name := range slices.Sorted(maps.Keys(in.Images)) {
		list, index := find(&spec, name)
		if index < 0 {
			return nil, nil, unknownContainer(&spec, name)
		}
		old, image := container(&spec, name).Image, in.Images[name]
		if old == image {
			continue
		}
		path := "/spec/template/spec/" + list + "/" + strconv.Itoa(index)
		fields = append(fields, FieldChange{Name: "image " + name, Old: old, New: image})
		operations = append(operations, operation{"test", path + "/name", name})
		if old != "" {
			operations = append(operations, operation{"test", path + "/image", old})
		}
		operations = append(operations, operation{"add", path + "/image", image})
	}
	return fields, operations, nil
}

func find(spec *corev1.PodSpec, name string) (string, int) {
	named := func(c corev1.Container) bool { return c.Name == name }
	if i := slices.IndexFunc(spec.Containers, named); i >= 0 {
		return "containers", i
	}
	return "initContainers", slices.IndexFunc(spec.InitContainers, named)
}
