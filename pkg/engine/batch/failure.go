package batch

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/inplace"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/launchorder"
)

// How long a pod may be in a state that seldom ends by itself before its batch has failed. The clock of a container starts
// when its pod was last seen to be in order, which is the only time that the pod tells; time for scheduling is not
// counted.
const (
	// PullPatience lets a registry answer a second and a third time.
	PullPatience = 30 * time.Second
	// CrashPatience is above the kubelet's first two pauses (10 s and 20 s), so that a container has ended at least twice.
	CrashPatience = 30 * time.Second
	// CreatePatience lets a ConfigMap or Secret turn up that is made at the same time.
	CreatePatience = 30 * time.Second
	// SchedulePatience lets a cluster add a node.
	SchedulePatience = 2 * time.Minute
)

// Cause is what a failure is.
type Cause string

// The causes of failures.
const (
	ImagePull     Cause = "image cannot be pulled"
	CrashLoop     Cause = "container ends again and again"
	NotCreated    Cause = "container cannot be created"
	Unschedulable Cause = "no node takes the pod"
)

// Failure is what keeps pods of a batch from becoming available, in the words of the container or the scheduler.
type Failure struct {
	Cause Cause
	// Pods are all pods with this cause, sorted; the words are those of the one that has it longest.
	Pods []string
	// Container is empty for a failure of the whole pod.
	Container       string
	Reason, Message string
	Since           time.Time
}

// String says it in one clause: `image cannot be pulled: nginx: ErrImagePull: "not found" (web-7kx2p)`.
func (f *Failure) String() string {
	var b strings.Builder
	b.WriteString(string(f.Cause) + ": ")
	if f.Container != "" {
		b.WriteString(f.Container + ": ")
	}
	b.WriteString(f.Reason)
	if f.Message != "" {
		fmt.Fprintf(&b, ": %q", f.Message)
	}
	const most = 3
	if pods := f.Pods; len(pods) > most {
		fmt.Fprintf(&b, " (%s and %d more)", strings.Join(pods[:most], ", "), len(pods)-most)
	} else {
		fmt.Fprintf(&b, " (%s)", strings.Join(pods, ", "))
	}
	return b.String()
}

// Judge looks for a failure among the pods of a batch: those at the target revision. It returns the one that lasts
// longest, nil if there is none. Wake is when a pod that is ill now would become a failure; zero for never.
func Judge(pods []*corev1.Pod, now time.Time) (found *Failure, wake time.Time) {
	byCause := map[Cause]*Failure{}
	for _, pod := range pods {
		f, patience := examine(pod)
		if f == nil {
			continue
		}
		if due := f.Since.Add(patience); now.Before(due) {
			if wake.IsZero() || due.Before(wake) {
				wake = due
			}
			continue
		}
		f.Pods = []string{pod.Name}
		if known := byCause[f.Cause]; known != nil {
			f.Pods = append(known.Pods, pod.Name)
			if !earlier(f, known) {
				f.Container, f.Reason, f.Message, f.Since = known.Container, known.Reason, known.Message, known.Since
			}
		}
		byCause[f.Cause] = f
	}
	for _, cause := range []Cause{ImagePull, CrashLoop, NotCreated, Unschedulable} {
		if f := byCause[cause]; f != nil && (found == nil || f.Since.Before(found.Since)) {
			found = f
		}
	}
	if found != nil {
		slices.Sort(found.Pods)
	}
	return found, wake
}

// earlier prefers the longer illness, and of equal ones the first in order of words, so that the order of pods does not
// matter.
func earlier(a, b *Failure) bool {
	if !a.Since.Equal(b.Since) {
		return a.Since.Before(b.Since)
	}
	return a.Container+a.Reason+a.Message < b.Container+b.Reason+b.Message
}

// examine finds what a pod suffers from, and how long that may last. Pods that are ready, finished or being deleted
// suffer from nothing.
func examine(pod *corev1.Pod) (*Failure, time.Duration) {
	if pod.DeletionTimestamp != nil || isTrue(pod, corev1.PodReady) {
		return nil, 0
	}
	if c := condition(pod, corev1.PodScheduled); c != nil && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable {
		return &Failure{Cause: Unschedulable, Reason: c.Reason, Message: c.Message, Since: c.LastTransitionTime.Time}, SchedulePatience
	}
	since := downSince(pod)
	for _, list := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range list {
			if launchorder.Waits(pod, &list[i]) {
				continue // for other containers of the pod, which tell what is wrong
			}
			if f, patience := examineContainer(&list[i]); f != nil {
				f.Since = since
				if f.Cause == CrashLoop && diesYoung(&list[i]) {
					f.Since = begun(pod)
				}
				return f, patience
			}
		}
	}
	return nil, 0
}

func examineContainer(s *corev1.ContainerStatus) (*Failure, time.Duration) {
	w := s.State.Waiting
	if w == nil {
		return nil, 0
	}
	f := &Failure{Container: s.Name, Reason: w.Reason, Message: w.Message}
	switch w.Reason {
	case "ErrImageNeverPull", "InvalidImageName":
		f.Cause = ImagePull
		return f, 0
	case "ErrImagePull", "ImagePullBackOff", "ImageInspectError", "RegistryUnavailable":
		f.Cause = ImagePull
		return f, PullPatience
	case "CrashLoopBackOff":
		f.Cause = CrashLoop
		if last := s.LastTerminationState.Terminated; last != nil {
			f.Message = ended(last, w.Message)
		}
		return f, CrashPatience
	case "CreateContainerConfigError", "CreateContainerError", "RunContainerError":
		f.Cause = NotCreated
		return f, CreatePatience
	}
	return nil, 0
}

// ended is how a container ended, with what it said itself if it did.
func ended(t *corev1.ContainerStateTerminated, otherwise string) string {
	switch {
	case t.Message != "":
		return fmt.Sprintf("exit %d: %s", t.ExitCode, strings.TrimSpace(t.Message))
	case t.Reason != "" && t.Reason != "Error":
		return fmt.Sprintf("exit %d: %s", t.ExitCode, t.Reason)
	case otherwise != "":
		return fmt.Sprintf("exit %d: %s", t.ExitCode, otherwise)
	}
	return fmt.Sprintf("exit %d", t.ExitCode)
}

// diesYoung says that a container did not live as long as a crash is borne. One without a readiness probe is ready each time
// until it ends, so that the pod's conditions tell of the last moment alone.
func diesYoung(s *corev1.ContainerStatus) bool {
	t := s.LastTerminationState.Terminated
	return t != nil && t.FinishedAt.Sub(t.StartedAt.Time) < CrashPatience
}

// begun is when the pod got its node, or its last update in place.
func begun(pod *corev1.Pod) time.Time {
	at := pod.CreationTimestamp.Time
	if c := condition(pod, corev1.PodScheduled); c != nil && c.LastTransitionTime.After(at) {
		at = c.LastTransitionTime.Time
	}
	if state, found, err := inplace.ParseState(pod); err == nil && found && state.UpdateTimestamp.After(at) {
		at = state.UpdateTimestamp.Time
	}
	return at
}

// downSince is when the pod's containers were last in order, or when it got its node.
func downSince(pod *corev1.Pod) time.Time {
	since := pod.CreationTimestamp.Time
	for _, t := range []corev1.PodConditionType{corev1.PodScheduled, corev1.ContainersReady} {
		if c := condition(pod, t); c != nil && c.LastTransitionTime.After(since) {
			since = c.LastTransitionTime.Time
		}
	}
	return since
}

func condition(pod *corev1.Pod, t corev1.PodConditionType) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == t {
			return &pod.Status.Conditions[i]
		}
	}
	return nil
}

func isTrue(pod *corev1.Pod, t corev1.PodConditionType) bool {
	c := condition(pod, t)
	return c != nil && c.Status == corev1.ConditionTrue
}
