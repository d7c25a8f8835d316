package sim

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
)

// Kind is what the cluster has to know of a kind of objects.
type Kind struct {
	Kind schema.GroupKind
	// Shallow copies an object but shares what its fields point to.
	Shallow func(plan.Object) plan.Object
	// CopySpec and CopyStatus replace one half of an object by that of another; nil for kinds without that half. A kind
	// with a status has a status subresource: writes to the object leave the status alone, and the other way round.
	CopySpec, CopyStatus func(to, from plan.Object)
	// SameSpec says whether two objects have equal specs; where they have not, the generation grows. Nil for kinds without
	// a generation.
	SameSpec func(a, b plan.Object) bool
	// StatusMeta says that a status write keeps its changes of labels and annotations, as pods do.
	StatusMeta bool
	// Graceful says that a deleted object stays for a while, marked.
	Graceful bool
}

// NewKind builds a Kind for the pointer type T of which V is the struct, without status and generation.
func NewKind[V any, T interface {
	*V
	plan.Object
}](kind schema.GroupKind) Kind {
	return Kind{Kind: kind, Shallow: func(obj plan.Object) plan.Object {
		copied := *(*V)(obj.(T))
		return T(&copied)
	}}
}

// Builtin are the kinds that every cluster has.
func Builtin() []Kind {
	pods := NewKind[corev1.Pod](plan.PodKind)
	pods.CopySpec = func(to, from plan.Object) { to.(*corev1.Pod).Spec = from.(*corev1.Pod).Spec }
	pods.CopyStatus = func(to, from plan.Object) { to.(*corev1.Pod).Status = from.(*corev1.Pod).Status }
	pods.SameSpec = samePodSpec
	pods.StatusMeta, pods.Graceful = true, true
	return []Kind{pods, NewKind[appsv1.ControllerRevision](plan.ControllerRevisionKind), NewKind[corev1.PersistentVolumeClaim](plan.ClaimKind)}
}

// samePodSpec compares what can change in a running pod: images and resources.
func samePodSpec(a, b plan.Object) bool {
	x, y := a.(*corev1.Pod).Spec.Containers, b.(*corev1.Pod).Spec.Containers
	if len(x) != len(y) {
		return false
	}
	for i := range x {
		if x[i].Image != y[i].Image || !sameResources(x[i].Resources.Limits, y[i].Resources.Limits) ||
			!sameResources(x[i].Resources.Requests, y[i].Resources.Requests) {
			return false
		}
	}
	return true
}

func sameResources(a, b corev1.ResourceList) bool {
	if len(a) != len(b) {
		return false
	}
	for name, quantity := range a {
		if other, ok := b[name]; !ok || quantity.Cmp(other) != 0 {
			return false
		}
	}
	return true
}

// Reason says why a write did not succeed.
type Reason string

// The reasons of failed writes.
const (
	Conflict      Reason = "conflict"       // the object has moved on or was replaced
	AlreadyExists Reason = "already exists" // the name is taken
	NotFound      Reason = "not found"
	Refused       Reason = "refused"   // the server does not want it, or a fault says so
	NoAnswer      Reason = "no answer" // it may have happened or not
)

// Error is a write that did not succeed.
type Error struct {
	Reason Reason
	On     plan.Ref
}

// Error implements error.
func (e *Error) Error() string {
	return fmt.Sprintf("%s %s: %s", e.On.Kind.Kind, e.On.Name, e.Reason)
}
