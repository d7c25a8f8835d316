package batch_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/batch"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/launchorder"
)

// patient is a pod that came up in time and whose container waits for a reason since start.
func patient(name, reason, message string, change func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(start.Add(-time.Hour))},
		Status: corev1.PodStatus{
			Conditions: []corev1.PodCondition{
				{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(start.Add(-time.Hour))},
				{Type: corev1.ContainersReady, Status: corev1.ConditionFalse, LastTransitionTime: metav1.NewTime(start)},
				{Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: metav1.NewTime(start)},
			},
			ContainerStatuses: []corev1.ContainerStatus{
				{Name: "log-agent", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}},
				{Name: "nginx", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}},
			},
		},
	}
	if change != nil {
		change(pod)
	}
	return pod
}

// ordered gives a pod its launch order.
func ordered(p *corev1.Pod) {
	p.Annotations = map[string]string{keys.LaunchPriorityAnnotation: keys.LaunchPriorityOrdered}
	p.Spec.Containers = []corev1.Container{{Name: "log-agent"}, {Name: "nginx"}}
	if _, _, err := launchorder.Mutate(p, launchorder.Options{}); err != nil {
		panic(err)
	}
}

func TestJudge(t *testing.T) {
	t.Parallel()
	pull := func(name string, change func(*corev1.Pod)) *corev1.Pod {
		return patient(name, "ImagePullBackOff", "not found", change)
	}
	for _, c := range []struct {
		rule  string
		after time.Duration
		pods  []*corev1.Pod
		want  string
		wake  time.Duration
	}{
		{"no pods", time.Hour, nil, "", 0},
		{"a pull may be tried again", 29 * time.Second, []*corev1.Pod{pull("a", nil)}, "", 30 * time.Second},
		{"but not for ever", 30 * time.Second, []*corev1.Pod{pull("a", nil)}, `image cannot be pulled: nginx: ImagePullBackOff: "not found" (a)`, 0},
		{"a name that is wrong stays wrong", 0, []*corev1.Pod{patient("a", "InvalidImageName", "x", nil)}, `image cannot be pulled: nginx: InvalidImageName: "x" (a)`, 0},
		{"pods with the same cause are named together", time.Hour, []*corev1.Pod{pull("c", nil), pull("a", nil), pull("d", nil), pull("b", nil)},
			`image cannot be pulled: nginx: ImagePullBackOff: "not found" (a, b, c and 1 more)`, 0},
		{"the longest illness is told", time.Hour, []*corev1.Pod{pull("a", nil), patient("b", "CrashLoopBackOff", "back-off", func(p *corev1.Pod) {
			p.Status.Conditions[1].LastTransitionTime = metav1.NewTime(start.Add(-time.Minute))
		})}, `container ends again and again: nginx: CrashLoopBackOff: "back-off" (b)`, 0},
		{"a crash tells what the container said", time.Hour, []*corev1.Pod{patient("a", "CrashLoopBackOff", "back-off", func(p *corev1.Pod) {
			p.Status.ContainerStatuses[1].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 1, Message: "bind: address in use\n"}
		})}, `container ends again and again: nginx: CrashLoopBackOff: "exit 1: bind: address in use" (a)`, 0},
		{"a container that is ready each time for a moment before it ends", 25 * time.Second, []*corev1.Pod{lived("a", time.Second)},
			`container ends again and again: nginx: CrashLoopBackOff: "exit 1" (a)`, 0},
		{"but not before its update is as old as a crash is borne", 15 * time.Second, []*corev1.Pod{lived("a", time.Second)}, "", 20 * time.Second},
		{"a container that ends after a long life", 25 * time.Second, []*corev1.Pod{lived("a", time.Minute)}, "", 30 * time.Second},
		{"launchorder.md 1: a container that waits for its turn is no failure", time.Hour, []*corev1.Pod{patient("a", "CreateContainerConfigError", `configmap "a-barrier" not found`, ordered)}, "", 0},
		{"launchorder.md 1: another ConfigMap is", time.Hour, []*corev1.Pod{patient("a", "CreateContainerConfigError", `configmap "b" not found`, ordered)},
			`container cannot be created: nginx: CreateContainerConfigError: "configmap \"b\" not found" (a)`, 0},
		{"or how it ended", time.Hour, []*corev1.Pod{patient("a", "CrashLoopBackOff", "back-off", func(p *corev1.Pod) {
			p.Status.ContainerStatuses[1].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled"}
		})}, `container ends again and again: nginx: CrashLoopBackOff: "exit 137: OOMKilled" (a)`, 0},
		{"a missing secret", time.Hour, []*corev1.Pod{patient("a", "CreateContainerConfigError", "secret not found", nil)},
			`container cannot be created: nginx: CreateContainerConfigError: "secret not found" (a)`, 0},
		{"a container that starts is no failure", time.Hour, []*corev1.Pod{patient("a", "ContainerCreating", "", nil)}, "", 0},
		{"a pod that is ready is none", time.Hour, []*corev1.Pod{pull("a", func(p *corev1.Pod) { p.Status.Conditions[2].Status = corev1.ConditionTrue })}, "", 0},
		{"a pod that goes is none", time.Hour, []*corev1.Pod{pull("a", func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: start} })}, "", 0},
		{"a node may turn up", time.Minute, []*corev1.Pod{unschedulable("a")}, "", 2 * time.Minute},
		{"or not", 2 * time.Minute, []*corev1.Pod{unschedulable("a")}, `no node takes the pod: Unschedulable: "0/3 nodes are available" (a)`, 0},
		{"init containers count", time.Hour, []*corev1.Pod{pull("a", func(p *corev1.Pod) {
			p.Status.InitContainerStatuses, p.Status.ContainerStatuses = p.Status.ContainerStatuses, nil
		})}, `image cannot be pulled: nginx: ImagePullBackOff: "not found" (a)`, 0},
	} {
		now := start.Add(c.after)
		got, wake := batch.Judge(c.pods, now)
		text := ""
		if got != nil {
			text = got.String()
		}
		if diff := cmp.Diff(c.want, text); diff != "" {
			t.Errorf("%s: %s", c.rule, diff)
		}
		var want time.Time
		if c.wake > 0 {
			want = start.Add(c.wake)
		}
		if diff := cmp.Diff(want, wake); diff != "" {
			t.Errorf("%s: wake %s", c.rule, diff)
		}
	}
}

// lived is a pod that was updated in place ten seconds before start, and whose container has ended for the second time
// after so long a life.
func lived(name string, life time.Duration) *corev1.Pod {
	return patient(name, "CrashLoopBackOff", "", func(p *corev1.Pod) {
		p.Annotations = map[string]string{keys.InPlaceUpdateStateAnnotation: `{"revision":"web-2","updateTimestamp":"` + start.Add(-10*time.Second).UTC().Format(time.RFC3339) + `"}`}
		p.Status.ContainerStatuses[1].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{
			ExitCode: 1, StartedAt: metav1.NewTime(start.Add(-life)), FinishedAt: metav1.NewTime(start)}
	})
}

func unschedulable(name string) *corev1.Pod {
	return patient(name, "", "", func(p *corev1.Pod) {
		p.Status.ContainerStatuses = nil
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable",
			Message: "0/3 nodes are available", LastTransitionTime: metav1.NewTime(start)}}
	})
}
