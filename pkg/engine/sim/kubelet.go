package sim

import (
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
)

// Pace is how long the steps in the life of a pod take.
type Pace struct {
	// Schedule is from the creation to a node, Start from there to running containers, and Ready from there until they are
	// ready. Observe is from a changed spec until the kubelet says that it has seen it, Restart from there, or from a crash,
	// to a new container. Gate is until the Ready condition follows the readiness gates, Terminate from a deletion to the
	// end.
	Schedule, Start, Ready, Observe, Restart, Gate, Terminate Range
	// Retry is the pause between attempts with an image that crashes, doubled with each restart.
	Retry Range
	// NodeLost is how long it takes to see that a node is gone, Evict how long until its pods are given up.
	NodeLost, Evict Range
}

// Fixed is a range of one value.
func Fixed(d time.Duration) Range { return Range{d, d} }

// DefaultPace is a pace without chance, for scripts and previews.
func DefaultPace() Pace {
	return Pace{
		Schedule: Fixed(100 * time.Millisecond), Start: Fixed(time.Second), Ready: Fixed(2 * time.Second),
		Observe: Fixed(100 * time.Millisecond), Restart: Fixed(time.Second), Gate: Fixed(500 * time.Millisecond), Terminate: Fixed(2 * time.Second),
		Retry: Fixed(10 * time.Second), NodeLost: Fixed(40 * time.Second), Evict: Fixed(5 * time.Minute),
	}
}

// PodStages is the life of a pod as kubelet, scheduler and node controller make it.
func PodStages(p Pace) []Stage {
	return []Stage{
		{Name: "force-delete", Match: func(b Body) bool { return terminating(b) && b.nodeGone() }, Delay: p.Evict, Then: Remove},
		{Name: "terminate", Match: terminating, Delay: p.Terminate, Then: Remove},
		{Name: "finished", Match: func(b Body) bool { return b.DeletionTimestamp != nil || over(b.Pod) }},
		{Name: "node-lost", Match: func(b Body) bool { return b.nodeGone() && isTrue(b.Pod, corev1.PodReady) }, Delay: p.NodeLost, Next: loseNode},
		{Name: "evict", Match: Body.nodeGone, Delay: p.Evict, Then: Delete},
		{Name: "schedule", Match: func(b Body) bool { return b.Spec.NodeName == "" && b.pickNode() != "" }, Delay: p.Schedule, Next: schedule},
		{Name: "unschedulable", Match: func(b Body) bool { return b.Spec.NodeName == "" }},
		{Name: "start", Match: func(b Body) bool { return len(b.Status.ContainerStatuses) == 0 }, Delay: p.Start, Next: start},
		{Name: "observe", Match: func(b Body) bool { return b.Status.ObservedGeneration != b.Generation }, Delay: p.Observe, Next: settle},
		{Name: "restart", Match: func(b Body) bool { return b.any(needsRestart) }, Delay: p.Restart, Next: restart},
		{Name: "crash-again", Match: func(b Body) bool { return b.any(crashing) }, Delay: p.Retry, Backoff: true, Next: crashAgain},
		{Name: "ready", Match: func(b Body) bool { return b.any(startedUnready) }, Delay: p.Ready, Next: becomeReady},
		{Name: "gates", Match: func(b Body) bool { return b.wantReady() != isTrue(b.Pod, corev1.PodReady) }, Delay: p.Gate, Next: settle},
	}
}

func terminating(b Body) bool { return b.DeletionTimestamp != nil && len(b.Finalizers) == 0 }

func over(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded
}

func isTrue(pod *corev1.Pod, t corev1.PodConditionType) bool {
	c := condition(pod, t)
	return c != nil && c.Status == corev1.ConditionTrue
}

func loseNode(b Body, pod *corev1.Pod) {
	b.c.setCondition(pod, corev1.PodReady, corev1.ConditionFalse, "NodeLost", "the node does not answer")
}

func schedule(b Body, pod *corev1.Pod) {
	pod.Spec.NodeName = b.pickNode()
	b.c.setCondition(pod, corev1.PodScheduled, corev1.ConditionTrue, "", "")
}

// any says whether one of the containers is as asked.
func (b Body) any(is func(Body, *corev1.Container, *corev1.ContainerStatus) bool) bool {
	for i := range b.Status.ContainerStatuses {
		if is(b, &b.Spec.Containers[i], &b.Status.ContainerStatuses[i]) {
			return true
		}
	}
	return false
}

const (
	backOffPull  = "ImagePullBackOff"
	backOffCrash = "CrashLoopBackOff"
)

func waitsFor(s *corev1.ContainerStatus) string {
	if s.State.Waiting == nil {
		return ""
	}
	return s.State.Waiting.Reason
}

// needsRestart: the container is not the one that the spec asks for, it crashed, or it could not be pulled and now can.
func needsRestart(b Body, want *corev1.Container, is *corev1.ContainerStatus) bool {
	switch b.c.trouble(want.Image) {
	case PullFails:
		return is.Image != want.Image && !failedToPull(is, want.Image) || waitsFor(is) == backOffCrash
	case Crashes:
		return is.Image != want.Image || waitsFor(is) == backOffPull
	}
	return is.Image != want.Image || is.State.Running == nil
}

func failedToPull(s *corev1.ContainerStatus, image string) bool {
	return waitsFor(s) == backOffPull && strings.Contains(s.State.Waiting.Message, strconv.Quote(image))
}

// crashing: the image lets its container end again and again.
func crashing(b Body, want *corev1.Container, is *corev1.ContainerStatus) bool {
	return b.c.trouble(want.Image) == Crashes && is.Image == want.Image
}

func startedUnready(b Body, want *corev1.Container, is *corev1.ContainerStatus) bool {
	return is.State.Running != nil && !is.Ready && is.Image == want.Image
}

// statuses gives the pod container statuses of its own.
func statuses(pod *corev1.Pod) []corev1.ContainerStatus {
	pod.Status.ContainerStatuses = slices.Clone(pod.Status.ContainerStatuses)
	return pod.Status.ContainerStatuses
}

func start(b Body, pod *corev1.Pod) {
	pod.Status.ContainerStatuses = make([]corev1.ContainerStatus, len(pod.Spec.Containers))
	for i := range pod.Spec.Containers {
		pod.Status.ContainerStatuses[i].Name = pod.Spec.Containers[i].Name
		b.run(pod, i)
	}
	settle(b, pod)
}

func restart(b Body, pod *corev1.Pod) {
	list := statuses(pod)
	for i := range list {
		if needsRestart(b, &pod.Spec.Containers[i], &list[i]) {
			if list[i].ContainerID != "" && b.c.trouble(pod.Spec.Containers[i].Image) != PullFails {
				list[i].RestartCount++
			}
			b.run(pod, i)
		}
	}
	settle(b, pod)
}

// run tries to run the i-th container with the image of the spec.
func (b Body) run(pod *corev1.Pod, i int) {
	image, s := pod.Spec.Containers[i].Image, &pod.Status.ContainerStatuses[i]
	s.Ready = false
	trouble := b.c.trouble(image)
	if trouble == PullFails {
		// The old container is stopped, its traces stay.
		s.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: backOffPull,
			Message: "Back-off pulling image " + strconv.Quote(image) + ": not found"}}
		return
	}
	s.Image, s.ImageID = image, "sha256:"+image
	s.ContainerID = "fake://" + strconv.FormatInt(b.c.rv, 10) + "-" + strconv.Itoa(i)
	if trouble == Crashes {
		b.crashed(s)
		return
	}
	s.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: b.c.stamp()}}
}

// crashed puts a container into back-off after its end.
func (b Body) crashed(s *corev1.ContainerStatus) {
	s.Ready = false
	s.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: backOffCrash,
		Message: "back-off restarting failed container " + s.Name}}
	s.LastTerminationState = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error",
		FinishedAt: b.c.stamp(), ContainerID: s.ContainerID}}
}

func crashAgain(b Body, pod *corev1.Pod) {
	list := statuses(pod)
	for i := range list {
		if crashing(b, &pod.Spec.Containers[i], &list[i]) {
			list[i].RestartCount++
			b.run(pod, i)
		}
	}
	settle(b, pod)
}

func becomeReady(b Body, pod *corev1.Pod) {
	list := statuses(pod)
	for i := range list {
		if startedUnready(b, &pod.Spec.Containers[i], &list[i]) {
			list[i].Ready = true
		}
	}
	settle(b, pod)
}

// settle brings phase and conditions in line with containers and gates, as a kubelet does with each report.
func settle(b Body, pod *corev1.Pod) {
	pod.Status.ObservedGeneration = pod.Generation
	now := Body{pod, b.c}
	if pod.Status.Phase == corev1.PodPending && !now.any(func(_ Body, _ *corev1.Container, s *corev1.ContainerStatus) bool {
		return s.ContainerID == ""
	}) {
		pod.Status.Phase = corev1.PodRunning
	}
	ready := now.containersReady()
	set := func(t corev1.PodConditionType, yes bool, reason string) {
		if isTrue(pod, t) == yes && condition(pod, t) != nil {
			return
		}
		if yes {
			b.c.setCondition(pod, t, corev1.ConditionTrue, "", "")
		} else {
			b.c.setCondition(pod, t, corev1.ConditionFalse, reason, "")
		}
	}
	set(corev1.ContainersReady, ready, "ContainersNotReady")
	reason := "ContainersNotReady"
	if ready {
		reason = "ReadinessGatesNotReady"
	}
	set(corev1.PodReady, now.wantReady(), reason)
}

func (b Body) containersReady() bool {
	return len(b.Status.ContainerStatuses) > 0 &&
		!b.any(func(_ Body, _ *corev1.Container, s *corev1.ContainerStatus) bool { return !s.Ready })
}

// wantReady is what the Ready condition should say.
func (b Body) wantReady() bool {
	if !b.containersReady() {
		return false
	}
	for i := range b.Spec.ReadinessGates {
		if !isTrue(b.Pod, b.Spec.ReadinessGates[i].ConditionType) {
			return false
		}
	}
	return true
}

// Crash ends all containers of a running pod.
func (c *Cluster) Crash(namespace, name string) error {
	return c.harm(namespace, name, func(b Body, s *corev1.ContainerStatus) { b.crashed(s) })
}

// Unready lets the readiness probe of a pod fail for a while.
func (c *Cluster) Unready(namespace, name string) error {
	return c.harm(namespace, name, func(_ Body, s *corev1.ContainerStatus) { s.Ready = false })
}

func (c *Cluster) harm(namespace, name string, each func(Body, *corev1.ContainerStatus)) error {
	pod := c.Pod(namespace, name)
	if pod == nil || pod.Status.Phase != corev1.PodRunning {
		return &Error{NotFound, plan.Ref{Kind: plan.PodKind, Namespace: namespace, Name: name}}
	}
	after := *pod
	b := Body{pod, c}
	list := statuses(&after)
	for i := range list {
		each(b, &list[i])
	}
	settle(b, &after)
	c.change(c.tables[0], pod, &after, kubelet, nil)
	return nil
}

// Fail ends a pod for good, as an eviction by its node does.
func (c *Cluster) Fail(namespace, name string) error {
	return c.Change(kubelet, plan.PodKind, namespace, name, func(obj plan.Object) {
		pod := obj.(*corev1.Pod)
		list := statuses(pod)
		for i := range list {
			list[i].Ready = false
			list[i].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "Error"}}
		}
		pod.Status.Phase, pod.Status.Reason, pod.Status.Message = corev1.PodFailed, "Evicted", "the node was low on memory"
		c.setCondition(pod, corev1.ContainersReady, corev1.ConditionFalse, "PodFailed", "")
		c.setCondition(pod, corev1.PodReady, corev1.ConditionFalse, "PodFailed", "")
	})
}
