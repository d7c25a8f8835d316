package cloneset

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/inplace"
)

// recently is how far back a container's end is worth a word when a rollout is done.
const recently = 10 * time.Minute

// warnRestarted tells of updated pods that count as available although a container of theirs has ended since its update:
// without minReadySeconds a pod that crashes a moment after it was ready ends a rollout as done.
func (p *pass) warnRestarted() {
	pods, words := 0, ""
	for i := range p.pods {
		x := &p.pods[i]
		if !x.updated {
			continue
		}
		if s := endedSince(x.Pod.Pod, p.w.Now); s != nil {
			if pods++; words == "" {
				t := s.LastTerminationState.Terminated
				words = fmt.Sprintf("pod %s, container %s: exit %d", x.Name, s.Name, t.ExitCode)
				if t.Reason != "" {
					words += ", " + t.Reason
				}
			}
		}
	}
	if pods > 0 {
		p.out.Warnings = append(p.out.Warnings, fmt.Sprintf("%s restarted a container after the update (%s); minReadySeconds makes a rollout wait for that", counted(pods, "updated pod"), words))
	}
}

// endedSince is a container that was begun after the pod's last update and has ended lately; nil if there is none.
func endedSince(pod *corev1.Pod, now time.Time) *corev1.ContainerStatus {
	for i := range pod.Status.ContainerStatuses {
		s := &pod.Status.ContainerStatuses[i]
		t := s.LastTerminationState.Terminated
		if s.RestartCount == 0 || t == nil || now.Sub(t.FinishedAt.Time) > recently {
			continue
		}
		state, found, err := inplace.ParseState(pod)
		if err == nil && found && !t.StartedAt.After(state.UpdateTimestamp.Time) {
			continue // it ended because it was updated
		}
		return s
	}
	return nil
}
