package estimate

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/sim"
)

// PaceOf is the pace of pods as their status tells it, in whole seconds. Each span is the median of the pods that tell it:
//   - Schedule: from the creation to a node;
//   - Start: from the node to the last running container, of pods without restarts, pulls and init containers included.
//     A restart in place takes as long, for it pulls and starts too;
//   - Ready: from the last started container to the Ready condition.
func PaceOf(pods []*corev1.Pod) sim.Pace {
	pace := sim.DefaultPace()
	var schedule, start, ready []time.Duration
	for _, pod := range pods {
		scheduled, isReady := when(pod, corev1.PodScheduled), when(pod, corev1.PodReady)
		if !scheduled.IsZero() {
			schedule = append(schedule, scheduled.Sub(pod.CreationTimestamp.Time))
		}
		started, restarted := lastStart(pod)
		if started.IsZero() {
			continue
		}
		if !restarted && !scheduled.IsZero() {
			start = append(start, started.Sub(scheduled))
		}
		if !isReady.IsZero() {
			ready = append(ready, isReady.Sub(started))
		}
	}
	set := func(to *sim.Range, spans []time.Duration) {
		spans = slices.DeleteFunc(spans, func(d time.Duration) bool { return d < 0 })
		if len(spans) > 0 {
			slices.Sort(spans)
			*to = sim.Fixed(spans[len(spans)/2])
		}
	}
	set(&pace.Schedule, schedule)
	set(&pace.Start, start)
	set(&pace.Ready, ready)
	if len(start) > 0 {
		pace.Restart = pace.Start
	}
	return pace
}

// when is when a condition became true; zero if it is not.
func when(pod *corev1.Pod, t corev1.PodConditionType) time.Time {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == t && c.Status == corev1.ConditionTrue {
			return c.LastTransitionTime.Time
		}
	}
	return time.Time{}
}

// lastStart is when the last container started, zero unless all run, and whether one of them is not the first in its
// place.
func lastStart(pod *corev1.Pod) (last time.Time, restarted bool) {
	for i := range pod.Status.ContainerStatuses {
		s := &pod.Status.ContainerStatuses[i]
		if s.State.Running == nil {
			return time.Time{}, false
		}
		restarted = restarted || s.RestartCount > 0
		if at := s.State.Running.StartedAt.Time; at.After(last) {
			last = at
		}
	}
	return last, restarted
}
