package launchorder

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Container is what its level has to know of one container.
type Container struct {
	Name string
	// Ready is the container's own readiness: it runs, its postStart hook is through, its probes pass.
	Ready bool
	// Ended says that it ended well and will not run again: a step of a job.
	Ended bool
	// Started says that it runs or has run before.
	Started bool
	// Held says that the kubelet did not find its key when it last tried.
	Held bool
	// Note is why it is not ready, in the words of its status; Since when that began, zero when unknown.
	Note  string
	Since time.Time
}

// done says that lower levels need not wait for it.
func (c *Container) done() bool { return c.Ready || c.Ended }

// containerOf reads the status of a container. One without a status is not ready.
func containerOf(pod *corev1.Pod, c *corev1.Container) Container {
	is := Container{Name: c.Name}
	s := statusOf(pod, c.Name)
	if s == nil {
		is.Note = "not created yet"
		return is
	}
	last := s.LastTerminationState.Terminated
	is.Ready, is.Held = s.Ready, Waits(pod, s)
	is.Started = s.ContainerID != "" || last != nil
	switch running, ended := s.State.Running, s.State.Terminated; {
	case running != nil:
		is.Since = running.StartedAt.Time
		if !s.Ready {
			is.Note = runningNote(c, s)
		}
	case ended != nil:
		is.Since = ended.FinishedAt.Time
		is.Note = endedNote(ended)
		if policy := policyOf(pod, c); ended.ExitCode == 0 {
			is.Ended = policy != corev1.ContainerRestartPolicyAlways && !restartsAfter(c, 0)
		} else if policy == corev1.ContainerRestartPolicyNever {
			is.Note += ", and is not restarted"
		}
	default:
		is.Note = waitingNote(s.State.Waiting, last)
		if last != nil {
			is.Since = last.FinishedAt.Time
		}
	}
	return is
}

func statusOf(pod *corev1.Pod, name string) *corev1.ContainerStatus {
	for i := range pod.Status.ContainerStatuses {
		if s := &pod.Status.ContainerStatuses[i]; s.Name == name {
			return s
		}
	}
	return nil
}

// policyOf is when the kubelet starts the container again: the container's own policy where it has one.
func policyOf(pod *corev1.Pod, c *corev1.Container) corev1.ContainerRestartPolicy {
	switch {
	case c.RestartPolicy != nil:
		return *c.RestartPolicy
	case pod.Spec.RestartPolicy == "":
		return corev1.ContainerRestartPolicyAlways
	}
	return corev1.ContainerRestartPolicy(pod.Spec.RestartPolicy)
}

// restartsAfter says that a rule of the container starts it again after that exit code.
func restartsAfter(c *corev1.Container, code int32) bool {
	return slices.ContainsFunc(c.RestartPolicyRules, func(r corev1.ContainerRestartRule) bool {
		if r.Action != corev1.ContainerRestartRuleActionRestart || r.ExitCodes == nil {
			return false
		}
		return slices.Contains(r.ExitCodes.Values, code) == (r.ExitCodes.Operator == corev1.ContainerRestartRuleOnExitCodesOpIn)
	})
}

// runningNote is what a container that runs still has to pass.
func runningNote(c *corev1.Container, s *corev1.ContainerStatus) string {
	switch started := s.Started != nil && *s.Started; {
	case !started && c.StartupProbe != nil:
		return "runs, its startup probe has not passed"
	case c.ReadinessProbe != nil:
		return "runs, its readiness probe does not pass"
	case !started:
		return "runs, its postStart hook has not ended"
	}
	return "runs, not ready"
}

func endedNote(t *corev1.ContainerStateTerminated) string {
	note := fmt.Sprintf("ended with exit code %d", t.ExitCode)
	if t.Message != "" {
		note += ": " + t.Message
	}
	return note
}

// waitingNote has the form "reason: message", in which views look for what waiting alone will not cure. What a container
// said when it ended is worth more than the kubelet's "back-off … restarting".
func waitingNote(w *corev1.ContainerStateWaiting, last *corev1.ContainerStateTerminated) string {
	switch {
	case w == nil || w.Reason == "":
		return "not created yet"
	case last != nil && w.Reason == "CrashLoopBackOff":
		return w.Reason + ": " + endedNote(last)
	case w.Message != "":
		return w.Reason + ": " + w.Message
	}
	return w.Reason
}

// Waits says that a container is not created because its pod's barrier lacks its key: it is no fault of the container.
// The kubelet names the ConfigMap in its message.
func Waits(pod *corev1.Pod, s *corev1.ContainerStatus) bool {
	w := s.State.Waiting
	if w == nil || w.Reason != "CreateContainerConfigError" || !strings.Contains(w.Message, BarrierName(pod.Name)) {
		return false
	}
	return slices.ContainsFunc(pod.Spec.Containers, func(c corev1.Container) bool {
		_, ordered := levelOf(pod, &c)
		return ordered && c.Name == s.Name
	})
}
