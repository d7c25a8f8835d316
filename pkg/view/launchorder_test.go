package view_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/launchorder"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/view"
)

func TestLaunchOrder(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	pod := func(statuses ...corev1.ContainerStatus) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "1", Annotations: map[string]string{keys.LaunchPriorityAnnotation: "Ordered"}}}
		p.Spec.Containers = []corev1.Container{{Name: "proxy"}, {Name: "app"}}
		if _, _, err := launchorder.Mutate(p, launchorder.Options{}); err != nil {
			t.Fatal(err)
		}
		p.Status.ContainerStatuses = statuses
		return p
	}
	barrier := func(keys ...string) *corev1.ConfigMap {
		c := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "web-barrier", OwnerReferences: []metav1.OwnerReference{{UID: "1"}}}, Data: map[string]string{}}
		for _, k := range keys {
			c.Data[k] = "true"
		}
		return c
	}
	crashing := corev1.ContainerStatus{Name: "proxy", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
		LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Message: "address in use", FinishedAt: metav1.NewTime(now.Add(-28 * time.Second))}}}
	ready := func(name string) corev1.ContainerStatus {
		return corev1.ContainerStatus{Name: name, Ready: true, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(now.Add(-time.Minute))}}}
	}
	held := corev1.ContainerStatus{Name: "app", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CreateContainerConfigError", Message: "no key in ConfigMap shop/web-barrier"}}}
	completed := pod(ready("proxy"), held)
	completed.Annotations[keys.LaunchCompletedAnnotation] = "true"
	missed := pod()
	missed.Spec.Containers[0].Env, missed.Spec.Containers[1].Env = nil, nil
	for _, tt := range []struct {
		name   string
		world  launchorder.World
		driver view.DriverKind
		state  view.LaunchState
		want   string
	}{
		{"a crash holds the later level", launchorder.World{Pod: pod(crashing, held), Barrier: barrier("p_0")}, view.DriverNone, view.LaunchWaits, `
pod/web: priority -1 (app) waits for proxy: CrashLoopBackOff: ended with exit code 1: address in use, for 28s
priority  level   container  state                                                         since
0         open    proxy      CrashLoopBackOff: ended with exit code 1: address in use      28s ago
-1        closed  app        waits for proxy                                               28s ago
nobody drives: no level is opened until somebody does; next: kubectl kruise reconcile -n shop`},
		{"about to be opened", launchorder.World{Pod: pod(ready("proxy"), held), Barrier: barrier("p_0")}, view.DriverSelf, view.LaunchOpens, `
pod/web: the next level is about to be opened
priority  level   container  state                       since
0         open    proxy      ready                       1m0s ago
-1        closed  app        waits for its level to open
driving here (nobody else does)`},
		{"completed", launchorder.World{Pod: completed, Barrier: barrier("p_0", "p_-1")}, view.DriverNone, view.LaunchCompleted, `
pod/web: all 2 levels are open
priority  level  container  state                                                   since
0         open   proxy      ready                                                   1m0s ago
-1        open   app        its level is open; the kubelet has not tried again yet`},
		{"past the webhook", launchorder.World{Pod: missed}, view.DriverNone, view.LaunchNone, `
pod/web: no launch order: all containers start together
warning: the pod was created without KRUISE_CONTAINER_BARRIER, past the webhook: its containers start together, not in the order that it asks for`},
		{"somebody else's ConfigMap", launchorder.World{Pod: pod(), Barrier: &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "web-barrier"}, Data: map[string]string{"x": "y"}}},
			view.DriverNone, view.LaunchBlocked, `
pod/web: ConfigMap web-barrier is not a barrier of this pod; delete it, or create the pod under another name
priority  level   container  state            since
0         closed  proxy      not created yet
-1        closed  app        not created yet`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.world.Now = now
			got := view.NewLaunchOrder(view.Subject{Kind: "Pod", Namespace: "shop", Name: "web"}, launchorder.Decide(tt.world), view.Driver{Kind: tt.driver}, now)
			var text []string
			for _, l := range got.Text() {
				text = append(text, strings.Join(strings.Fields(l.Text), " "))
			}
			var want []string
			for l := range strings.SplitSeq(strings.TrimPrefix(tt.want, "\n"), "\n") {
				want = append(want, strings.Join(strings.Fields(l), " "))
			}
			if diff := cmp.Diff(want, text); diff != "" || got.State != tt.state {
				t.Errorf("state %s (-want +got):\n%s", got.State, diff)
			}
		})
	}
}
