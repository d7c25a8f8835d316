package e2e

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/launchorder"
)

// startOrder are the names of a pod's containers by the time at which they were started; those of the same second are
// joined by a plus. It is empty while one has not started.
func startOrder(p *corev1.Pod) string {
	started := map[int64][]string{}
	for _, s := range p.Status.ContainerStatuses {
		if s.State.Running == nil {
			return ""
		}
		at := s.State.Running.StartedAt.Unix()
		started[at] = append(started[at], s.Name)
	}
	if len(p.Status.ContainerStatuses) < len(p.Spec.Containers) {
		return ""
	}
	var times []int64
	for at := range started {
		times = append(times, at)
	}
	slices.Sort(times)
	var groups []string
	for _, at := range times {
		slices.Sort(started[at])
		groups = append(groups, strings.Join(started[at], "+"))
	}
	return strings.Join(groups, ", ")
}

// orders waits until all containers of n pods run, and counts the orders in which they were started.
func (s *space) orders(n int) map[string]int {
	s.Helper()
	count := map[string]int{}
	s.until("all containers run", func() (bool, string) {
		clear(count)
		for _, p := range s.pods() {
			if order := startOrder(p); order != "" {
				count[order]++
			}
		}
		total := 0
		for _, k := range count {
			total += k
		}
		return total == n, fmt.Sprint(count)
	})
	return count
}

// container is one that sleeps; slow ones need a second until they are ready.
func container(name string, slow bool) corev1.Container {
	c := corev1.Container{Name: name, Image: "busybox:1.36", Command: []string{"sh", "-c", "while [ ! -f /stop ]; do sleep 0.1; done"}}
	if slow {
		c.Lifecycle = &corev1.Lifecycle{PostStart: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"sleep", "1"}}}}
	}
	return c
}

// bare creates a pod without an owner whose containers start in the order of the list, as the webhook would prepare it.
func (s *space) bare(name string, containers ...corev1.Container) *corev1.Pod {
	s.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{keys.LaunchPriorityAnnotation: keys.LaunchPriorityOrdered}},
		Spec:       corev1.PodSpec{Containers: containers, TerminationGracePeriodSeconds: ptr.To[int64](1)},
	}
	if _, _, err := launchorder.Mutate(pod, launchorder.Options{}); err != nil {
		s.Fatal(err)
	}
	made, err := lab.client.CoreV1().Pods(s.name).Create(s.Context(), pod, metav1.CreateOptions{})
	if err != nil {
		s.Fatal(err)
	}
	return made
}

// keysOf are the keys of a pod's barrier; nil when there is none.
func (s *space) keysOf(pod string) (keys []string, uid string) {
	s.Helper()
	barrier, err := lab.client.CoreV1().ConfigMaps(s.name).Get(s.Context(), launchorder.BarrierName(pod), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, ""
	}
	if err != nil {
		s.Fatal(err)
	}
	for key := range barrier.Data {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys, string(barrier.UID)
}

// touch makes a file in a container. What the shell gets after its script is the namespace once more.
func (s *space) touch(pod, container, file string) {
	s.Helper()
	s.kubectl("exec", pod, "-n", s.name, "-c", container, "--", "sh", "-c", "touch "+file, "sh")
}

// S-LP-1 and S-LP-2 with pods of a CloneSet, which the verb looks after.
func TestLaunchOrderOfACloneSet(t *testing.T) {
	t.Parallel()
	t.Run("S-LP-1", func(t *testing.T) {
		t.Parallel()
		s := newSpace(t)
		s.apply("launch")
		s.kubectl("kruise", "rollout", "cloneset/ordered")
		if diff := cmp.Diff(map[string]int{"proxy, app": 2}, s.orders(2)); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
		for name := range s.pods() {
			if got := s.events("Pod", name)["Normal LaunchPriorityReleased from container-launch-priority-controller: Launch priority 0 released: proxy"]; got != 1 {
				t.Errorf("%s: %d events for its first level", name, got)
			}
		}
	})
	t.Run("S-LP-2", func(t *testing.T) {
		t.Parallel()
		s := newSpace(t)
		s.apply("launch")
		s.kubectl("kruise", "rollout", "cloneset/weighted")
		if diff := cmp.Diff(map[string]int{"first, middle, last": 2}, s.orders(2)); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}

		// launchorder/22: the batches of an in-place update keep the order.
		s.kubectl("kruise", "rollout", "cloneset/weighted", "--image", "last=busybox:1.35", "--image", "first=busybox:1.35")
		for name, p := range s.pods() {
			if diff := cmp.Diff(map[string]int32{"first": 1, "middle": 0, "last": 1}, restarts(p)); diff != "" {
				t.Errorf("launchorder/22: restarts of %s: -want +got\n%s", name, diff)
			}
			if order := startOrder(p); !strings.HasSuffix(order, "first, last") {
				t.Errorf("launchorder/22: %s was started in the order %s", name, order)
			}
		}
	})
}

// S-LP-1 with pods of nobody, which the foreground loop looks after.
func TestSLP1OfBarePods(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.reconcile()
	s.bare("db", container("first", true), container("second", true), container("third", false))
	if diff := cmp.Diff(map[string]int{"first, second, third": 1}, s.orders(1)); diff != "" {
		t.Errorf("S-LP-1: -want +got\n%s", diff)
	}
	s.until("all levels are told to be open", func() (bool, string) {
		out := s.kubectl("kruise", "launch-order", "why", "db")
		return strings.HasPrefix(out, "pod/db: all 3 levels are open"), out
	})

	// launchorder/19: the pod comes again under its name.
	_, old := s.keysOf("db")
	s.kubectl("delete", "pod", "db")
	s.bare("db", container("first", true), container("second", true), container("third", false))
	if diff := cmp.Diff(map[string]int{"first, second, third": 1}, s.orders(1)); diff != "" {
		t.Errorf("launchorder/19: -want +got\n%s", diff)
	}
	if _, now := s.keysOf("db"); now == old {
		t.Error("launchorder/19: the barrier of the earlier pod is used")
	}

	// launchorder/20, PF-LP-1: the barrier is deleted, then a container restarts.
	s.until("the pod is marked", func() (bool, string) {
		annotations := s.pods()["db"].Annotations
		return annotations[keys.LaunchCompletedAnnotation] == "true", fmt.Sprint(annotations)
	})
	s.kubectl("delete", "configmap", "db-barrier")
	s.touch("db", "second", "/stop")
	s.until("the container runs again", func() (bool, string) {
		p := s.pods()["db"]
		return restarts(p)["second"] == 1 && isReady(p), fmt.Sprint(p.Status.ContainerStatuses)
	})
	if got, _ := s.keysOf("db"); !slices.Equal(got, []string{"p_-1", "p_-2", "p_0"}) {
		t.Errorf("launchorder/20: keys %v", got)
	}
}

// A container that crashes at its start holds those after it, and the verb says so. Who leaves opens the rest.
func TestACrashHoldsLaterContainers(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.reconcile()
	crash := container("proxy", false)
	crash.Command = []string{"sh", "-c", "echo address in use > /dev/termination-log; exit 1"}
	crash.ReadinessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"true"}}}, InitialDelaySeconds: 5}
	s.bare("web", crash, container("app", false))
	s.until("the crash is told", func() (bool, string) {
		out := s.kubectl("kruise", "launch-order", "why", "web")
		return strings.HasPrefix(out, "pod/web: priority -1 (app) waits for proxy: CrashLoopBackOff: ended with exit code 1: address in use, for "), out
	})
	s.until("it has crashed often", func() (bool, string) {
		p := s.pods()["web"]
		return restarts(p)["proxy"] >= 2, fmt.Sprint(restarts(p))
	})
	for _, c := range s.pods()["web"].Status.ContainerStatuses {
		if c.Name == "app" && (c.ContainerID != "" || c.State.Waiting == nil) {
			t.Errorf("app was started: %+v", c)
		}
	}
	if got, _ := s.keysOf("web"); !slices.Equal(got, []string{"p_0"}) {
		t.Errorf("keys %v", got)
	}
}

// A loop that is killed between two levels loses nothing: another goes on. One that is asked to end leaves no pod hanging.
func TestALoopEndsBetweenTwoLevels(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	never := container("proxy", false)
	never.ReadinessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"test", "-f", "/ready"}}}, PeriodSeconds: 1}
	killed := s.start("kruise", "reconcile")
	s.bare("web", never, container("app", false), container("log", false))
	proxyRuns := func() (bool, string) {
		p := s.pods()["web"]
		for _, c := range p.Status.ContainerStatuses {
			if c.Name == "proxy" && c.State.Running != nil {
				return true, ""
			}
		}
		return false, fmt.Sprint(p.Status.ContainerStatuses)
	}
	s.until("the first container runs", proxyRuns)
	killed.signal(s, syscall.SIGKILL)
	killed.code(s)
	s.touch("web", "proxy", "/ready")
	s.until("the lease of the killed loop has run out", func() (bool, string) {
		lease, err := lab.client.CoordinationV1().Leases(s.name).Get(s.Context(), keys.ReconcileLease, metav1.GetOptions{})
		if err != nil {
			return false, err.Error()
		}
		until := lease.Spec.RenewTime.Add(time.Duration(*lease.Spec.LeaseDurationSeconds) * time.Second)
		return time.Now().After(until), fmt.Sprint(until)
	})
	if got, _ := s.keysOf("web"); !slices.Equal(got, []string{"p_0"}) {
		t.Errorf("somebody went on: %v", got)
	}
	next := s.start("kruise", "reconcile")
	if order := s.orders(1); order["proxy, app, log"]+order["proxy, app+log"] != 1 {
		t.Errorf("started in the order %v", order)
	}

	s.bare("stuck", never, container("app", false))
	s.until("the first container of the second pod runs", func() (bool, string) {
		p := s.pods()["stuck"]
		for _, c := range p.Status.ContainerStatuses {
			if c.Name == "proxy" && c.State.Running != nil {
				return true, ""
			}
		}
		return false, fmt.Sprint(p.Status.ContainerStatuses)
	})
	next.signal(s, syscall.SIGINT)
	if code := next.code(s); code != 130 {
		t.Errorf("exit code %d, want 130", code)
	}
	s.until("all containers run though nobody drives", func() (bool, string) {
		p := s.pods()["stuck"]
		return startOrder(p) != "", fmt.Sprint(p.Status.ContainerStatuses)
	})
}

// Many pods at once: a hundred in the long form, which is a lot for the machine that plays both nodes.
func TestManyPodsStartInOrder(t *testing.T) {
	t.Parallel()
	n := 20
	if os.Getenv("KRUISE_TEST_LONG") != "" {
		n = 100
	}
	s := newSpace(t)
	s.reconcile()
	for i := range n {
		s.bare(fmt.Sprintf("p%d", i), container("first", true), container("second", false))
	}
	if diff := cmp.Diff(map[string]int{"first, second": n}, s.orders(n)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	t.Logf("%d pods: all containers ran %s after the first pod was created", n, s.lastStart().Sub(s.firstCreation()))
}

// firstCreation is when the oldest pod was created, in the API server's time.
func (s *space) firstCreation() time.Time {
	s.Helper()
	return slices.MinFunc(slices.Collect(maps.Values(s.pods())), func(a, b *corev1.Pod) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) }).CreationTimestamp.Time
}

// lastStart is when the last container of all pods was started.
func (s *space) lastStart() (last time.Time) {
	s.Helper()
	for _, p := range s.pods() {
		for _, c := range p.Status.ContainerStatuses {
			if c.State.Running != nil && c.State.Running.StartedAt.After(last) {
				last = c.State.Running.StartedAt.Time
			}
		}
	}
	return last
}
