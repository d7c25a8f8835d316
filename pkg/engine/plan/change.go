package plan

import (
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Change is the payload of a Patch action.
type Change interface {
	// PatchType is the content type of Body.
	PatchType() types.PatchType
	// Body is the patch on the wire, as small as possible and without preconditions, which the executor adds.
	Body() ([]byte, error)
	// Apply makes the same change to obj in memory. It fails when obj is of another kind.
	Apply(obj Object) error
}

// MetaChange is a change of metadata. A nil value removes the key; keys that are not named stay.
type MetaChange struct {
	Labels      map[string]*string
	Annotations map[string]*string
	// AddFinalizers and RemoveFinalizers change the list; entries that are (not) there already are no fault.
	AddFinalizers, RemoveFinalizers []string
	// SetOwner adds or replaces the owner reference of that UID. RemoveOwner drops the one of that UID.
	SetOwner    *metav1.OwnerReference
	RemoveOwner types.UID
}

// Set returns a pointer to v, for the maps of MetaChange.
func Set(v string) *string { return &v }

// IsZero says that nothing changes.
func (c *MetaChange) IsZero() bool {
	return len(c.Labels) == 0 && len(c.Annotations) == 0 && len(c.AddFinalizers) == 0 && len(c.RemoveFinalizers) == 0 &&
		c.SetOwner == nil && c.RemoveOwner == ""
}

// Label sets a label in the change.
func (c *MetaChange) Label(key, value string) { setKey(&c.Labels, key, &value) }

// Annotate sets an annotation in the change.
func (c *MetaChange) Annotate(key, value string) { setKey(&c.Annotations, key, &value) }

// Unannotate removes an annotation in the change.
func (c *MetaChange) Unannotate(key string) { setKey(&c.Annotations, key, nil) }

func setKey(m *map[string]*string, key string, value *string) {
	if *m == nil {
		*m = map[string]*string{}
	}
	(*m)[key] = value
}

// strategic is the change as the metadata part of a strategic merge patch; nil when nothing changes.
func (c *MetaChange) strategic() map[string]any {
	if c.IsZero() {
		return nil
	}
	meta := map[string]any{}
	if len(c.Labels) > 0 {
		meta["labels"] = c.Labels
	}
	if len(c.Annotations) > 0 {
		meta["annotations"] = c.Annotations
	}
	if len(c.AddFinalizers) > 0 {
		meta["finalizers"] = c.AddFinalizers
	}
	if len(c.RemoveFinalizers) > 0 {
		meta["$deleteFromPrimitiveList/finalizers"] = c.RemoveFinalizers
	}
	var owners []any
	if c.SetOwner != nil {
		owners = append(owners, ownerPatch(c.SetOwner))
	}
	if c.RemoveOwner != "" {
		owners = append(owners, map[string]any{"$patch": "delete", "uid": c.RemoveOwner})
	}
	if len(owners) > 0 {
		meta["ownerReferences"] = owners
	}
	return meta
}

// ownerPatch writes the flags also when they are not set, or a merge would keep the old ones.
func ownerPatch(o *metav1.OwnerReference) map[string]any {
	return map[string]any{
		"apiVersion": o.APIVersion, "kind": o.Kind, "name": o.Name, "uid": o.UID,
		"controller": o.Controller, "blockOwnerDeletion": o.BlockOwnerDeletion,
	}
}

// apply makes the change to obj's metadata. Maps of obj that change are replaced, never written to, so that a shallow
// copy of an object is enough for a caller that keeps the original.
func (c *MetaChange) apply(obj metav1.Object) {
	if len(c.Labels) > 0 {
		obj.SetLabels(merged(obj.GetLabels(), c.Labels))
	}
	if len(c.Annotations) > 0 {
		obj.SetAnnotations(merged(obj.GetAnnotations(), c.Annotations))
	}
	if len(c.AddFinalizers) > 0 || len(c.RemoveFinalizers) > 0 {
		list := slices.DeleteFunc(slices.Clone(obj.GetFinalizers()), func(f string) bool { return slices.Contains(c.RemoveFinalizers, f) })
		for _, f := range c.AddFinalizers {
			if !slices.Contains(list, f) {
				list = append(list, f)
			}
		}
		obj.SetFinalizers(list)
	}
	if c.SetOwner != nil || c.RemoveOwner != "" {
		drop := func(o metav1.OwnerReference) bool {
			return o.UID == c.RemoveOwner || c.SetOwner != nil && o.UID == c.SetOwner.UID
		}
		list := slices.DeleteFunc(slices.Clone(obj.GetOwnerReferences()), drop)
		if c.SetOwner != nil {
			list = append(list, *c.SetOwner)
		}
		obj.SetOwnerReferences(list)
	}
}

func merged(old map[string]string, change map[string]*string) map[string]string {
	m := make(map[string]string, len(old)+len(change))
	for k, v := range old {
		m[k] = v
	}
	for k, v := range change {
		if v == nil {
			delete(m, k)
		} else {
			m[k] = *v
		}
	}
	if len(m) == 0 {
		return nil
	}
	return m
}

// ObjectChange is a change of any object's metadata and nothing else, as a merge patch where no lists change and a
// strategic one otherwise. For kinds whose server has no strategic merge (custom resources) only Labels and Annotations
// may be used.
type ObjectChange struct{ Meta MetaChange }

// PatchType is a strategic merge patch if lists change, otherwise a merge patch.
func (c *ObjectChange) PatchType() types.PatchType {
	m := &c.Meta
	if len(m.AddFinalizers)+len(m.RemoveFinalizers) == 0 && m.SetOwner == nil && m.RemoveOwner == "" {
		return types.MergePatchType
	}
	return types.StrategicMergePatchType
}

// Body implements Change.
func (c *ObjectChange) Body() ([]byte, error) {
	meta := c.Meta.strategic()
	if meta == nil {
		// A null would ask to remove the metadata as a whole.
		return []byte("{}"), nil
	}
	return json.Marshal(map[string]any{"metadata": meta})
}

// Apply implements Change.
func (c *ObjectChange) Apply(obj Object) error {
	c.Meta.apply(obj)
	return nil
}

// PodChange is a change of one pod, sent as a strategic merge patch. Fields that are empty stay as they are. Conditions
// belong to the status subresource, Images to the pod itself and Resources to the resize subresource where the server
// has it; metadata may go with either of the first two (the server keeps labels and annotations of a status patch).
type PodChange struct {
	Meta MetaChange
	// Images maps container names to their new image.
	Images map[string]string
	// Resources maps container names to the limits and requests that change; other entries stay.
	Resources map[string]corev1.ResourceRequirements
	// Conditions replace those of the same type.
	Conditions []corev1.PodCondition
}

// PatchType is always the strategic merge patch.
func (c *PodChange) PatchType() types.PatchType { return types.StrategicMergePatchType }

// Body implements Change. Containers are listed by name.
func (c *PodChange) Body() ([]byte, error) {
	body := map[string]any{}
	if meta := c.Meta.strategic(); meta != nil {
		body["metadata"] = meta
	}
	if containers := c.containers(); len(containers) > 0 {
		body["spec"] = map[string]any{"containers": containers}
	}
	if len(c.Conditions) > 0 {
		body["status"] = map[string]any{"conditions": conditionPatches(c.Conditions)}
	}
	return json.Marshal(body)
}

// conditionPatches writes reason and message also when they are empty, or a merge would keep the old ones.
func conditionPatches(conditions []corev1.PodCondition) []map[string]any {
	list := make([]map[string]any, 0, len(conditions))
	for _, c := range conditions {
		p := map[string]any{"type": c.Type, "status": c.Status, "reason": nil, "message": nil}
		if c.Reason != "" {
			p["reason"] = c.Reason
		}
		if c.Message != "" {
			p["message"] = c.Message
		}
		if !c.LastTransitionTime.IsZero() {
			p["lastTransitionTime"] = c.LastTransitionTime
		}
		list = append(list, p)
	}
	return list
}

func (c *PodChange) containers() []map[string]any {
	names := make([]string, 0, len(c.Images)+len(c.Resources))
	for n := range c.Images {
		names = append(names, n)
	}
	for n := range c.Resources {
		names = append(names, n)
	}
	slices.Sort(names)
	var list []map[string]any
	for _, n := range slices.Compact(names) {
		p := map[string]any{"name": n}
		if image, ok := c.Images[n]; ok {
			p["image"] = image
		}
		if r, ok := c.Resources[n]; ok {
			p["resources"] = r
		}
		list = append(list, p)
	}
	return list
}

// Apply implements Change. Slices and maps of the pod that change are replaced, so a shallow copy of the pod suffices.
func (c *PodChange) Apply(obj Object) error {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return fmt.Errorf("a pod change cannot be applied to %T", obj)
	}
	c.Meta.apply(pod)
	if len(c.Images)+len(c.Resources) > 0 {
		pod.Spec.Containers = slices.Clone(pod.Spec.Containers)
	}
	for i := range pod.Spec.Containers {
		container := &pod.Spec.Containers[i]
		if image, ok := c.Images[container.Name]; ok {
			container.Image = image
		}
		if r, ok := c.Resources[container.Name]; ok {
			container.Resources.Limits = overlay(container.Resources.Limits, r.Limits)
			container.Resources.Requests = overlay(container.Resources.Requests, r.Requests)
		}
	}
	if len(c.Conditions) > 0 {
		pod.Status.Conditions = slices.Clone(pod.Status.Conditions)
	}
	for _, condition := range c.Conditions {
		i := slices.IndexFunc(pod.Status.Conditions, func(p corev1.PodCondition) bool { return p.Type == condition.Type })
		if i < 0 {
			pod.Status.Conditions = append(pod.Status.Conditions, condition)
			continue
		}
		old := &pod.Status.Conditions[i]
		old.Status, old.Reason, old.Message = condition.Status, condition.Reason, condition.Message
		if !condition.LastTransitionTime.IsZero() {
			old.LastTransitionTime = condition.LastTransitionTime
		}
	}
	return nil
}

func overlay(old, change corev1.ResourceList) corev1.ResourceList {
	if len(change) == 0 {
		return old
	}
	list := make(corev1.ResourceList, len(old)+len(change))
	for k, v := range old {
		list[k] = v
	}
	for k, v := range change {
		list[k] = v
	}
	return list
}
