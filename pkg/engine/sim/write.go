package sim

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
)

// Do carries out one action without those chained to it, as an API server does, and returns the object as it is
// afterwards; nil if it is gone or if the action is an event. Errors are *Error, or say that a Change does not fit its
// object.
func (c *Cluster) Do(by string, a *plan.Action) (plan.Object, error) {
	t := c.table(a.On.Kind)
	if t == nil {
		return nil, &Error{NotFound, a.On}
	}
	switch a.Verb {
	case plan.Record:
		return nil, nil
	case plan.Create:
		return c.create(t, a.Object, by, a)
	}
	obj := t.get(a.On.Namespace, a.On.Name)
	if obj == nil {
		return nil, &Error{NotFound, a.On}
	}
	if a.On.UID != obj.GetUID() || a.ResourceVersion != "" && a.ResourceVersion != obj.GetResourceVersion() {
		return nil, &Error{Conflict, a.On}
	}
	switch a.Verb {
	case plan.Delete, plan.Evict:
		return c.remove(t, obj, by, a), nil
	case plan.Patch:
		after := t.kind.Shallow(obj)
		if err := a.Change.Apply(after); err != nil {
			return nil, err
		}
		t.kind.confine(obj, after, a.Subresource)
		return c.change(t, obj, after, by, a), nil
	}
	return nil, &Error{Refused, a.On}
}

// confine takes back what a write to the given subresource must not change.
func (k *Kind) confine(before, after plan.Object, subresource string) {
	switch subresource {
	case plan.StatusSubresource:
		if k.CopySpec != nil {
			k.CopySpec(after, before)
		}
		after.SetOwnerReferences(before.GetOwnerReferences())
		after.SetFinalizers(before.GetFinalizers())
		if !k.StatusMeta {
			after.SetLabels(before.GetLabels())
			after.SetAnnotations(before.GetAnnotations())
		}
	case plan.ResizeSubresource:
		after.SetLabels(before.GetLabels())
		after.SetAnnotations(before.GetAnnotations())
		fallthrough
	default:
		if k.CopyStatus != nil {
			k.CopyStatus(after, before)
		}
	}
}

// Create stores a new object on behalf of somebody who is no driver. The object is given away.
func (c *Cluster) Create(by string, kind schema.GroupKind, obj plan.Object) (plan.Object, error) {
	t := c.table(kind)
	if t == nil {
		return nil, &Error{NotFound, plan.Ref{Kind: kind, Name: obj.GetName()}}
	}
	return c.create(t, obj, by, nil)
}

func (c *Cluster) create(t *table, obj plan.Object, by string, a *plan.Action) (plan.Object, error) {
	if t.get(obj.GetNamespace(), obj.GetName()) != nil {
		return nil, &Error{AlreadyExists, plan.Ref{Kind: t.kind.Kind, Namespace: obj.GetNamespace(), Name: obj.GetName()}}
	}
	obj = t.kind.Shallow(obj)
	c.uids++
	obj.SetUID(types.UID("uid-" + strconv.FormatInt(c.uids, 10)))
	obj.SetCreationTimestamp(c.stamp())
	obj.SetDeletionTimestamp(nil)
	if t.kind.SameSpec != nil {
		obj.SetGeneration(1)
	}
	if pod, ok := obj.(*corev1.Pod); ok {
		pod.Status = corev1.PodStatus{Phase: corev1.PodPending}
	}
	c.store(t, nil, obj, by, a)
	if owners := obj.GetOwnerReferences(); len(owners) > 0 && !c.anyExists(owners) {
		c.remove(t, obj, garbageCollector, nil)
	}
	return obj, nil
}

// Change lets somebody who is no driver edit an object. edit gets a shallow copy, in which it replaces slices, maps and
// pointers rather than writing into them. An object that does not exist is an error.
func (c *Cluster) Change(by string, kind schema.GroupKind, namespace, name string, edit func(plan.Object)) error {
	t := c.table(kind)
	if t == nil || t.get(namespace, name) == nil {
		return &Error{NotFound, plan.Ref{Kind: kind, Namespace: namespace, Name: name}}
	}
	before := t.get(namespace, name)
	after := t.kind.Shallow(before)
	edit(after)
	c.change(t, before, after, by, nil)
	return nil
}

// change stores the next state of an object; one that was only waiting for its finalizers goes.
func (c *Cluster) change(t *table, before, after plan.Object, by string, a *plan.Action) plan.Object {
	if same := t.kind.SameSpec; same != nil && (a == nil || a.Subresource != plan.StatusSubresource) && !same(before, after) {
		after.SetGeneration(before.GetGeneration() + 1)
	}
	if pod, ok := after.(*corev1.Pod); ok {
		truncateTimes(pod)
	}
	if after.GetDeletionTimestamp() != nil && len(after.GetFinalizers()) == 0 && !t.kind.Graceful {
		c.erase(t, before, by, a)
		return nil
	}
	c.store(t, before, after, by, a)
	return after
}

// truncateTimes brings times of conditions to whole seconds, as they are on the wire.
func truncateTimes(pod *corev1.Pod) {
	for i := range pod.Status.Conditions {
		at := &pod.Status.Conditions[i].LastTransitionTime
		if at.Nanosecond() == 0 {
			continue
		}
		list := append([]corev1.PodCondition(nil), pod.Status.Conditions...)
		for j := range list {
			list[j].LastTransitionTime = metav1.NewTime(list[j].LastTransitionTime.Truncate(1e9))
		}
		pod.Status.Conditions = list
		return
	}
}

// Delete lets somebody who is no driver delete an object. One that does not exist is an error.
func (c *Cluster) Delete(by string, kind schema.GroupKind, namespace, name string) error {
	t := c.table(kind)
	if t == nil || t.get(namespace, name) == nil {
		return &Error{NotFound, plan.Ref{Kind: kind, Namespace: namespace, Name: name}}
	}
	c.remove(t, t.get(namespace, name), by, nil)
	return nil
}

// remove begins or completes a deletion: pods that were scheduled terminate first, objects with finalizers stay marked.
func (c *Cluster) remove(t *table, obj plan.Object, by string, a *plan.Action) plan.Object {
	if obj.GetDeletionTimestamp() != nil {
		return obj
	}
	pod, isPod := obj.(*corev1.Pod)
	wait := len(obj.GetFinalizers()) > 0 || t.kind.Graceful && isPod && pod.Spec.NodeName != ""
	if !wait {
		c.erase(t, obj, by, a)
		return nil
	}
	after := t.kind.Shallow(obj)
	at := c.stamp()
	after.SetDeletionTimestamp(&at)
	c.store(t, obj, after, by, a)
	return after
}
