package cloneset

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/features"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/inplace"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/order"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/revision"
)

// Facts is what follows from one pod alone, so it can be cached by UID and resourceVersion. A plan is the same whether
// facts come from a cache or are worked out anew.
type Facts struct {
	// active: neither finished nor being deleted (cloneset.md 6).
	active bool
	// ready: running, Ready, and not in the middle of an in-place update.
	ready bool
	// state is the lifecycle state.
	state string
	// revision is the label as it is, hash the same without the workload's name.
	revision, hash string
	// specified: a label asks for the deletion.
	specified bool
	order     order.Pod

	// update is the in-place update that the pod records, if any; complete says whether it is done, incomplete why not.
	update     *inplace.Facts
	complete   bool
	incomplete string
	grace      bool
	// leftover: a lifecycle hook holds it not ready, although its state knows no such hold.
	leftover bool
	// bookkept: gates are answered and labels are complete, so that refreshing cannot want anything but a lifecycle move.
	bookkept bool
}

// FactsOf works out the facts of a pod under the given gates.
func FactsOf(pod *corev1.Pod, gates features.Gates) *Facts {
	f := &Facts{
		active:   pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed && pod.DeletionTimestamp == nil,
		state:    pod.Labels[keys.LifecycleStateLabel],
		revision: pod.Labels[keys.ControllerRevisionHashLabel],
		order:    order.Of(pod),
		update:   inplace.FactsOf(pod, gates),
	}
	f.hash = revision.Short(f.revision)
	_, f.specified = pod.Labels[keys.SpecifiedDeleteLabel]
	f.complete, f.incomplete = f.update.Complete()
	f.grace = f.update.Grace != nil
	updating := condition(pod, keys.InPlaceUpdateReady)
	f.ready = pod.Status.Phase == corev1.PodRunning && f.order.Ready && (updating == nil || updating.Status == corev1.ConditionTrue)
	_, hashed := pod.Labels[keys.PodTemplateHashLabel]
	f.leftover = leftover(pod, f.state)
	f.bookkept = f.complete && !f.grace && hashed && answered(pod) && !f.leftover
	return f
}

// answered says that both of our readiness gates have a condition, and that of in-place updates is True.
func answered(pod *corev1.Pod) bool {
	for i := range pod.Spec.ReadinessGates {
		switch gate := pod.Spec.ReadinessGates[i].ConditionType; gate {
		case keys.InPlaceUpdateReady:
			c := condition(pod, gate)
			if c == nil || c.Status != corev1.ConditionTrue {
				return false
			}
		case keys.KruisePodReady:
			if condition(pod, gate) == nil {
				return false
			}
		}
	}
	return true
}

func leftover(pod *corev1.Pod, state string) bool {
	if state != "" && state != keys.StateNormal && state != keys.StatePreparingNormal {
		return false
	}
	c := condition(pod, keys.KruisePodReady)
	return c != nil && c.Status == corev1.ConditionFalse && slices.ContainsFunc(inplace.NotReadyKeys(pod), func(k inplace.NotReadyKey) bool {
		return k.UserAgent == keys.NotReadyUserLifecycle && (k.Key == keys.NotReadyKeyPreUpdate || k.Key == keys.NotReadyKeyPreDelete)
	})
}

func condition(pod *corev1.Pod, t corev1.PodConditionType) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == t {
			return c
		}
	}
	return nil
}

// available follows cloneset.md 6: state empty or Normal, ready, and ready for minReady already. The second value is when
// it becomes available by the clock alone; zero when that is not what it waits for.
func (f *Facts) available(minReady time.Duration, now time.Time) (bool, time.Time) {
	if !f.ready || f.state != "" && f.state != keys.StateNormal {
		return false, time.Time{}
	}
	if minReady <= 0 {
		return true, time.Time{}
	}
	if f.order.ReadySince == 0 {
		return false, time.Time{}
	}
	if at := time.Unix(0, f.order.ReadySince).Add(minReady); at.After(now) {
		return false, at
	}
	return true, time.Time{}
}
