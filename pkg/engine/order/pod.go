package order

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
)

// Phase is the rank of a pod's phase: lower goes first.
type Phase uint8

// The ranks of phases.
const (
	// Pending stands for every phase that is not listed, too.
	Pending Phase = iota
	Unknown
	Running
)

// Pod is what ordering has to know about a pod. Times are in nanoseconds since 1970, 0 is an unset time.
type Pod struct {
	Name string
	// Node is empty while the pod is not scheduled.
	Node  string
	Phase Phase
	// Ready is the Ready condition alone; Available has minReadySeconds and the workload's own rules in it.
	Ready, Available bool
	// ReadySince is the transition time of the Ready condition.
	ReadySince int64
	// Restarts is the largest restart count of its containers.
	Restarts int32
	Created  int64
	// DeletionCost is what ParseDeletionCost says.
	DeletionCost int32
	Labels       map[string]string
}

// Of is the view of a pod, but for Available, which the workload defines.
func Of(pod *corev1.Pod) Pod {
	view := Pod{
		Name:         pod.Name,
		Node:         pod.Spec.NodeName,
		Phase:        phaseRank(pod.Status.Phase),
		DeletionCost: ParseDeletionCost(pod.Annotations[keys.PodDeletionCostAnnotation]),
		Labels:       pod.Labels,
	}
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodReady {
			view.Ready = c.Status == corev1.ConditionTrue
			if !c.LastTransitionTime.IsZero() {
				view.ReadySince = c.LastTransitionTime.UnixNano()
			}
		}
	}
	for i := range pod.Status.ContainerStatuses {
		view.Restarts = max(view.Restarts, pod.Status.ContainerStatuses[i].RestartCount)
	}
	if !pod.CreationTimestamp.IsZero() {
		view.Created = pod.CreationTimestamp.UnixNano()
	}
	return view
}

func phaseRank(p corev1.PodPhase) Phase {
	switch p {
	case corev1.PodRunning:
		return Running
	case corev1.PodUnknown:
		return Unknown
	default:
		return Pending
	}
}

// ParseDeletionCost reads the annotation controller.kubernetes.io/pod-deletion-cost. What is absent or malformed is 0; a
// leading plus sign, leading zeros and numbers outside of int32 are malformed (cloneset.md 9.4 item 5).
func ParseDeletionCost(s string) int32 {
	n, err := strconv.ParseInt(s, 10, 32)
	if err != nil || strconv.FormatInt(n, 10) != s {
		return 0
	}
	return int32(n)
}
