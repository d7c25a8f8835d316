package launchorder

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
)

// World is what the planner sees of one pod. Nothing in it is changed.
type World struct {
	// Now is the time of the snapshot.
	Now time.Time
	Pod *corev1.Pod
	// Barrier is the ConfigMap that has the name of the pod's barrier, whoever it belongs to; nil when there is none.
	Barrier *corev1.ConfigMap
	// OpenedAt is when the barrier was last written; zero when unknown. It is for people only.
	OpenedAt time.Time
	// Release opens the levels without waiting for anything, because nobody will be there to open them later: still from
	// the highest to the lowest, one at a time (launchorder.md 7).
	Release bool
}

// Output is what Decide returns.
type Output struct {
	plan.Plan
	// Levels are the levels of the pod, the highest first; none for a pod without order.
	Levels []Level
	// Completed says that all levels have been opened, as far as the pod knows.
	Completed bool
}

// The stages of a plan.
const (
	// StageBarrier makes the barrier.
	StageBarrier = "barrier"
	// StageOpen opens a level.
	StageOpen = "open"
)

// owner says who a barrier belongs to.
type owner int

const (
	nobody  owner = iota // there is none
	ours                 // this pod
	former               // an earlier pod of the same name
	another              // it is no barrier
)

// ownerOf compares UIDs, because pods of a StatefulSet come again under their name (launchorder.md 1.6). What no pod owns
// is taken for what is left of a barrier when it holds nothing but keys; anything else is somebody's own ConfigMap.
func ownerOf(pod *corev1.Pod, barrier *corev1.ConfigMap) owner {
	if barrier == nil {
		return nobody
	}
	is := another
	for _, o := range barrier.OwnerReferences {
		switch {
		case o.UID == pod.UID:
			return ours
		case o.Kind == plan.PodKind.Kind && o.APIVersion == corev1.SchemeGroupVersion.String() && o.Name == pod.Name:
			is = former
		}
	}
	if len(barrier.OwnerReferences) == 0 && onlyKeys(barrier) {
		is = former
	}
	return is
}

func onlyKeys(barrier *corev1.ConfigMap) bool {
	for key := range barrier.Data {
		if _, ours := priorityOf(key); !ours {
			return false
		}
	}
	return len(barrier.Data) > 0 && len(barrier.BinaryData) == 0
}

// completed says that all levels have been opened before: the pod is marked, or every container has been ready at once
// (launchorder.md 8, T5).
func completed(pod *corev1.Pod) bool {
	if pod.Annotations[keys.LaunchCompletedAnnotation] == opened {
		return true
	}
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.ContainersReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// Pending says that containers of the pod still wait for levels to open.
func Pending(pod *corev1.Pod) bool { return !completed(pod) && !over(pod) && Ordered(pod) }

// over says that no container of the pod will start any more.
func over(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}
