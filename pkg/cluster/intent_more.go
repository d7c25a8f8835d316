package cluster

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
)

// Template is a pod template that replaces the present one.
type Template struct {
	// Raw is the template as the server stores it, so that fields that this build does not know survive.
	Raw json.RawMessage
	// From and To name the revisions for people.
	From, To string
}

// Changes says that the patch would change anything, told to people or not.
func (c *IntentChange) Changes() bool { return len(c.body) > len("{}") }

// Exclusive says that the patch has to be bound to the version of the set that was judged.
func (c *IntentChange) Exclusive() bool { return c.intent.Exclusive }

// moreEdits are those that look the same in every version.
func (in *Intent) moreEdits(object map[string]any) []edit {
	var edits []edit
	if in.Replicas != nil {
		edits = append(edits, edit{"replicas", []string{"spec", "replicas"}, int64(*in.Replicas)})
	}
	if len(in.PodsToDelete) > 0 {
		path := []string{"spec", "scaleStrategy", "podsToDelete"}
		old, _ := lookup(object, path)
		var names []string
		if list, ok := old.([]any); ok {
			for _, name := range list {
				names = append(names, fmt.Sprint(name))
			}
		}
		edits = append(edits, edit{"podsToDelete", path, added(names, in.PodsToDelete)})
	}
	for _, key := range slices.Sorted(maps.Keys(in.Annotations)) {
		path := []string{"metadata", "annotations", key}
		if value := in.Annotations[key]; value != nil {
			edits = append(edits, edit{"", path, *value})
		} else {
			edits = append(edits, edit{"", path, nil})
		}
	}
	return edits
}

// added is a list with the names that it lacks.
func added(list, names []string) []string {
	list = slices.Clone(list)
	for _, name := range names {
		if !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list
}

// applyRest makes true in the planners' version what moreEdits and the template make true on the wire.
func (in *Intent) applyRest(set *v1beta1.CloneSet) error {
	if in.Replicas != nil {
		n := *in.Replicas
		set.Spec.Replicas = &n
	}
	if len(in.PodsToDelete) > 0 {
		set.Spec.ScaleStrategy.PodsToDelete = added(set.Spec.ScaleStrategy.PodsToDelete, in.PodsToDelete)
	}
	if len(in.Annotations) > 0 {
		all := maps.Clone(set.Annotations)
		if all == nil {
			all = map[string]string{}
		}
		for key, value := range in.Annotations {
			if value == nil {
				delete(all, key)
			} else {
				all[key] = *value
			}
		}
		set.Annotations = all
	}
	if in.Template == nil {
		return nil
	}
	template := corev1.PodTemplateSpec{}
	if err := json.Unmarshal(in.Template.Raw, &template); err != nil {
		return fmt.Errorf("template of revision %s: %w", in.Template.To, err)
	}
	set.Spec.Template = template
	return nil
}
