package inplace

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
)

// HasGate says that the pod's readiness depends on a condition of that type.
func HasGate(pod *corev1.Pod, gate corev1.PodConditionType) bool {
	for i := range pod.Spec.ReadinessGates {
		if pod.Spec.ReadinessGates[i].ConditionType == gate {
			return true
		}
	}
	return false
}

func condition(pod *corev1.Pod, of corev1.PodConditionType) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == of {
			return c
		}
	}
	return nil
}

func isTrue(pod *corev1.Pod, of corev1.PodConditionType) bool {
	c := condition(pod, of)
	return c != nil && c.Status == corev1.ConditionTrue
}

// NeedsUnready says whether the pod must leave its endpoints before the update (inplace.md 3.2): it has the gate, and
// something in it restarts.
func NeedsUnready(pod *corev1.Pod, spec *Spec) bool {
	return HasGate(pod, keys.InPlaceUpdateReady) && restarts(pod, &spec.Work)
}

func restarts(pod *corev1.Pod, work *Work) bool {
	if len(work.Images)+len(work.RefMetadata) > 0 {
		return true
	}
	changed := changedResources(pod, work.Resources)
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		r := changed[c.Name]
		for _, policy := range c.ResizePolicy {
			_, limit := r.Limits[policy.ResourceName]
			_, request := r.Requests[policy.ResourceName]
			if (limit || request) && policy.RestartPolicy == corev1.RestartContainer {
				return true
			}
		}
	}
	return false
}

// notReady turns the gate condition False and takes Ready with it, so that endpoints do not wait for the kubelet
// (inplace.md 3.3).
func notReady(pod *corev1.Pod, now time.Time) *plan.PodChange {
	change := &plan.PodChange{Conditions: []corev1.PodCondition{
		turned(pod, keys.InPlaceUpdateReady, corev1.ConditionFalse, keys.ReasonStartInPlaceUpdate, "", now),
	}}
	takeReady(change, pod, now, keys.InPlaceUpdateReady)
	return change
}

// turned is a condition with a new status. Its transition time is set only if the status changes.
func turned(pod *corev1.Pod, of corev1.PodConditionType, status corev1.ConditionStatus, reason, message string, now time.Time) corev1.PodCondition {
	c := corev1.PodCondition{Type: of, Status: status, Reason: reason, Message: message}
	if old := condition(pod, of); old == nil || old.Status != status {
		c.LastTransitionTime = metav1.NewTime(now)
	}
	return c
}

// takeReady adds to a change that turns the gate unmet False the Ready condition that follows from it. A pod without
// that condition, or whose containers are not ready anyway, is left to the kubelet.
func takeReady(change *plan.PodChange, pod *corev1.Pod, now time.Time, unmet corev1.PodConditionType) {
	if condition(pod, corev1.PodReady) == nil || !isTrue(pod, corev1.ContainersReady) {
		return
	}
	var names []string
	for _, gate := range pod.Spec.ReadinessGates {
		if gate.ConditionType == unmet || !isTrue(pod, gate.ConditionType) {
			names = append(names, string(gate.ConditionType))
		}
	}
	slices.Sort(names)
	change.Conditions = append(change.Conditions, turned(pod, corev1.PodReady, corev1.ConditionFalse,
		keys.ReasonReadinessGatesNotReady, "readiness gates not met: "+strings.Join(slices.Compact(names), ", "), now))
}

// ReadyConditionTrue turns the gate condition True; nil when it is, or when the pod has no such gate. Whoever writes it
// does so only at the resourceVersion of this very copy of the pod and does not retry (inplace.md 3.4). It may share
// its write with other changes of the pod's status and metadata.
func ReadyConditionTrue(pod *corev1.Pod, now time.Time) *plan.PodChange {
	if !HasGate(pod, keys.InPlaceUpdateReady) || isTrue(pod, keys.InPlaceUpdateReady) {
		return nil
	}
	return &plan.PodChange{Conditions: []corev1.PodCondition{
		turned(pod, keys.InPlaceUpdateReady, corev1.ConditionTrue, "", "", now),
	}}
}
