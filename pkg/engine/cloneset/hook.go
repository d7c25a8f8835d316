package cloneset

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
)

// hits says that a hook holds the pod: one of its marks is on it (cloneset.md 8). An absent hook never holds.
func hits(h *v1beta1.LifecycleHook, x *corev1.Pod) bool {
	if h == nil {
		return false
	}
	for k, v := range h.LabelsHandler {
		if got, ok := x.Labels[k]; ok && got == v {
			return true
		}
	}
	return slices.ContainsFunc(h.FinalizersHandler, func(f string) bool { return slices.Contains(x.Finalizers, f) })
}

// fullySet says that all marks of a hook are on the pod; an absent hook is never fully set, one without marks always.
func fullySet(h *v1beta1.LifecycleHook, x *corev1.Pod) bool {
	if h == nil {
		return false
	}
	for k, v := range h.LabelsHandler {
		if got, ok := x.Labels[k]; !ok || got != v {
			return false
		}
	}
	return !slices.ContainsFunc(h.FinalizersHandler, func(f string) bool { return !slices.Contains(x.Finalizers, f) })
}

func (p *pass) preDelete() *v1beta1.LifecycleHook {
	if p.set.Spec.Lifecycle == nil {
		return nil
	}
	return p.set.Spec.Lifecycle.PreDelete
}

func (p *pass) inPlaceUpdate() *v1beta1.LifecycleHook {
	if p.set.Spec.Lifecycle == nil {
		return nil
	}
	return p.set.Spec.Lifecycle.InPlaceUpdate
}

func (p *pass) preNormal() *v1beta1.LifecycleHook {
	if p.set.Spec.Lifecycle == nil {
		return nil
	}
	return p.set.Spec.Lifecycle.PreNormal
}

// afterUpdate is the state of a pod whose in-place update is over or no longer wanted (cloneset.md 8).
func (p *pass) afterUpdate(x *pod) string {
	if p.set.Spec.Lifecycle != nil && !fullySet(p.inPlaceUpdate(), x.Pod.Pod) {
		return keys.StateUpdated
	}
	return keys.StateNormal
}

// enter adds the move to a lifecycle state to a change (cloneset.md 8 rule 7).
func (p *pass) enter(c *plan.MetaChange, state string) {
	c.Label(keys.LifecycleStateLabel, state)
	c.Annotate(keys.LifecycleTimestampAnnotation, p.stamp())
}

// mayTakeBack says that a pod on its way to deletion may still be kept (cloneset.md 8 rule 9).
func (p *pass) mayTakeBack() bool {
	for _, h := range []*v1beta1.LifecycleHook{p.preDelete(), p.inPlaceUpdate()} {
		if h != nil && h.MarkPodNotReady {
			return false
		}
	}
	return true
}
