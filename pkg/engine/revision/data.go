package revision

import (
	"bytes"
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// Data is the content of a revision in the normal form: JSON with sorted keys, as the types of Kubernetes 1.32 write it.
type Data []byte

// FromTemplate encodes a pod template as revision data (cloneset.md 9.0.1 and 9.0.2). The template is taken as it is
// stored; defaults must not have been filled in, or OpenKruise would compute another revision from the same object.
func FromTemplate(template *corev1.PodTemplateSpec) (Data, error) {
	encoded, err := json.Marshal(template)
	if err != nil {
		return nil, fmt.Errorf("encode pod template: %w", err)
	}
	// Numbers pass through float64 as in OpenKruise, which differs from an exact number only above 2^53.
	var object map[string]any
	if err := json.Unmarshal(encoded, &object); err != nil {
		return nil, fmt.Errorf("decode pod template: %w", err)
	}
	nullCreationTime(object)
	spec := member(object, "spec")
	for _, list := range []string{"containers", "initContainers", "ephemeralContainers"} {
		for _, container := range objects(spec, list) {
			if _, ok := container["resources"]; !ok {
				container["resources"] = map[string]any{}
			}
		}
	}
	for _, volume := range objects(spec, "volumes") {
		if claim := member(member(volume, "ephemeral"), "volumeClaimTemplate"); claim != nil {
			nullCreationTime(claim)
		}
	}
	object["$patch"] = "replace"
	data, err := json.Marshal(map[string]any{"spec": map[string]any{"template": object}})
	if err != nil {
		return nil, fmt.Errorf("encode revision data: %w", err)
	}
	return data, nil
}

// nullCreationTime gives the metadata of an object the null that the older types always write.
func nullCreationTime(object map[string]any) {
	meta := member(object, "metadata")
	if meta == nil {
		meta = map[string]any{}
		object["metadata"] = meta
	}
	if _, ok := meta["creationTimestamp"]; !ok {
		meta["creationTimestamp"] = nil
	}
}

func member(object map[string]any, key string) map[string]any {
	m, _ := object[key].(map[string]any)
	return m
}

func objects(object map[string]any, key string) []map[string]any {
	list, _ := object[key].([]any)
	found := make([]map[string]any, 0, len(list))
	for _, item := range list {
		if m, ok := item.(map[string]any); ok {
			found = append(found, m)
		}
	}
	return found
}

// content is the part of revision data that is read.
type content struct {
	Spec struct {
		Template json.RawMessage `json:"template"`
	} `json:"spec"`
}

// Template decodes the pod template of a revision. Defaults are not filled in.
func Template(rev *appsv1.ControllerRevision) (*corev1.PodTemplateSpec, error) {
	raw, err := rawTemplate(rev)
	if err != nil {
		return nil, err
	}
	template := &corev1.PodTemplateSpec{}
	if err := json.Unmarshal(raw, template); err != nil {
		return nil, fmt.Errorf("decode the template of revision %s: %w", rev.Name, err)
	}
	return template, nil
}

func rawTemplate(rev *appsv1.ControllerRevision) (json.RawMessage, error) {
	var c content
	if err := json.Unmarshal(rev.Data.Raw, &c); err != nil {
		return nil, fmt.Errorf("decode revision %s: %w", rev.Name, err)
	}
	if len(c.Spec.Template) == 0 || bytes.Equal(c.Spec.Template, []byte("null")) {
		return nil, fmt.Errorf("revision %s has no pod template", rev.Name)
	}
	return c.Spec.Template, nil
}

// PodTemplateFor is the template of the pods of a revision: the workload's present one with the revision's applied as a
// strategic merge patch (cloneset.md 9.0.10). Revisions replace the template as a whole; one that does not say so is
// merged.
func PodTemplateFor(rev *appsv1.ControllerRevision, present *corev1.PodTemplateSpec) (*corev1.PodTemplateSpec, error) {
	raw, err := rawTemplate(rev)
	if err != nil {
		return nil, err
	}
	var directive struct {
		Patch string `json:"$patch"`
	}
	if err := json.Unmarshal(raw, &directive); err != nil {
		return nil, fmt.Errorf("decode the template of revision %s: %w", rev.Name, err)
	}
	if directive.Patch == "replace" {
		return Template(rev)
	}
	base, err := json.Marshal(present)
	if err != nil {
		return nil, fmt.Errorf("encode pod template: %w", err)
	}
	merged, err := strategicpatch.StrategicMergePatch(base, raw, corev1.PodTemplateSpec{})
	if err != nil {
		return nil, fmt.Errorf("apply revision %s: %w", rev.Name, err)
	}
	template := &corev1.PodTemplateSpec{}
	if err := json.Unmarshal(merged, template); err != nil {
		return nil, fmt.Errorf("decode the template of revision %s: %w", rev.Name, err)
	}
	return template, nil
}
