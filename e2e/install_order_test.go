package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
)

const launchManifest = "testdata/scenarios/launch-installed.yaml"

// startsInOrder creates pods of several owners that ask for a launch order, all at once and with nothing but kubectl: the
// webhook prepares them and the leader opens their levels. Then it kills the leader between two levels.
func (s *site) startsInOrder() {
	s.Helper()
	s.kubectl("create", "-n", shop, "-f", launchManifest)
	s.Run("launch order", func(t *testing.T) {
		t.Run("S-LP-1 by the list, whatever owns the pod", func(t *testing.T) {
			t.Parallel()
			on := s.on(t)
			want := map[string]int{"ReplicaSet: proxy, app": 1, "CloneSet: proxy, app": 1, "nobody: proxy, app": 1}
			if diff := cmp.Diff(want, on.startOrders("listed", 3)); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
		t.Run("S-LP-2 by weight, whatever owns the pod", func(t *testing.T) {
			t.Parallel()
			on := s.on(t)
			want := map[string]int{"ReplicaSet: first, middle, last": 1, "CloneSet: first, middle, last": 1, "nobody: first, middle, last": 1}
			if diff := cmp.Diff(want, on.startOrders("weighted", 3)); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
		t.Run("launchorder/19 a pod that comes again under its name", func(t *testing.T) { t.Parallel(); s.on(t).comesAgain() })
		t.Run("a crash holds later containers", func(t *testing.T) { t.Parallel(); s.on(t).crashHolds() })
		t.Run("launchorder/8 a weight that is none", func(t *testing.T) { t.Parallel(); s.on(t).refusesWeight() })
	})
	s.Run("S-LP-1 the leader is killed between two levels", func(t *testing.T) { s.on(t).leaderKilledBetweenLevels() })
	s.kubectl("delete", "pods,deployments,clonesets.v1beta1.apps.kruise.io", "-n", shop, "-l", "part=launch", "--wait=false")
	s.until("the barriers are gone with their pods", func() (bool, string) {
		left := s.kubectl("get", "configmaps", "-n", shop, "-o", "name")
		return !strings.Contains(left, keys.BarrierConfigMapSuffix), left
	})
	s.kubectl("rollout", "status", "deployment/kruise-controller-manager", "-n", "kruise-system", "--timeout=90s")
}

// on is the site in the hands of a test below the one that made it. What it says when it fails is about the shop.
func (s *site) on(t *testing.T) *site {
	t.Helper()
	on := *s
	on.T = t
	t.Cleanup(func() {
		if t.Failed() {
			out, _ := s.try("", "describe", "pods,configmaps", "-n", shop) // what a failed test prints may be incomplete
			t.Log(out)
		}
	})
	return &on
}

// startOrders waits until all containers of n pods run and counts the orders in which they were started, by the owner.
// Those of equal weight have none between them.
func (s *site) startOrders(label string, n int) map[string]int {
	s.Helper()
	together := strings.NewReplacer("m1+m2", "middle", "m1, m2", "middle", "m2, m1", "middle")
	count := map[string]int{}
	s.until("all containers of "+label+" run", func() (bool, string) {
		clear(count)
		total := 0
		for _, p := range s.labelled("order=" + label) {
			order, owner := startOrder(&p), "nobody"
			if order == "" {
				continue
			}
			if by := metav1.GetControllerOf(&p); by != nil {
				owner = by.Kind
			}
			count[owner+": "+together.Replace(order)]++
			total++
		}
		return total == n, fmt.Sprint(count)
	})
	return count
}

func (s *site) labelled(selector string) []corev1.Pod {
	s.Helper()
	list, err := s.client.CoreV1().Pods(shop).List(s.Context(), metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		s.Fatal(err)
	}
	return list.Items
}

// container is the status of a container of a pod in the shop; empty while it has none.
func (s *site) container(pod, name string) corev1.ContainerStatus {
	s.Helper()
	p, err := s.client.CoreV1().Pods(shop).Get(s.Context(), pod, metav1.GetOptions{})
	if err != nil {
		s.Fatal(err)
	}
	at := slices.IndexFunc(p.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool { return c.Name == name })
	if at < 0 {
		return corev1.ContainerStatus{}
	}
	return p.Status.ContainerStatuses[at]
}

// barrierOf is the UID and the keys of a pod's barrier.
func (s *site) barrierOf(pod string) string {
	s.Helper()
	return s.kubectl("get", "configmap", pod+keys.BarrierConfigMapSuffix, "-n", shop, "-o", "jsonpath={.metadata.uid} {.data}")
}

// comesAgain deletes a pod that has started and creates it again at once: its order does not come from what is left.
func (s *site) comesAgain() {
	s.Helper()
	const label = "again"
	once := map[string]int{"nobody: proxy, app": 1}
	if diff := cmp.Diff(once, s.startOrders(label, 1)); diff != "" {
		s.Errorf("-want +got\n%s", diff)
	}
	before := s.barrierOf("again")
	s.kubectl("delete", "pod", "again", "-n", shop)
	s.kubectl("create", "-n", shop, "-f", launchManifest, "-l", "order=again")
	if diff := cmp.Diff(once, s.startOrders(label, 1)); diff != "" {
		s.Errorf("the second time: -want +got\n%s", diff)
	}
	if now := s.barrierOf("again"); now == before {
		s.Errorf("the barrier of the earlier pod is used: %s", now)
	}
}

// crashHolds looks at a pod whose first container ends at each start.
func (s *site) crashHolds() {
	s.Helper()
	s.until("the crash is told", func() (bool, string) {
		out := s.kubectl("kruise", "launch-order", "why", "crashing", "-n", shop)
		told := strings.HasPrefix(out, "pod/crashing: priority -1 (app) waits for proxy: CrashLoopBackOff: ended with exit code 1: address in use, for ")
		return told && strings.Contains(out, "the loop in the cluster drives"), out
	})
	s.until("it has crashed often", func() (bool, string) {
		is := s.container("crashing", "proxy")
		return is.RestartCount >= 2, fmt.Sprint(is)
	})
	if is := s.container("crashing", "app"); is.ContainerID != "" || is.State.Waiting == nil {
		s.Errorf("app was started: %+v", is)
	}
	if got := s.barrierOf("crashing"); !strings.HasSuffix(got, ` {"p_0":"true"}`) {
		s.Errorf("barrier %s", got)
	}
}

// refusesWeight wants a bad request, not a lack of rights.
func (s *site) refusesWeight() {
	s.Helper()
	const pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: wrong}\nspec: {containers: [{name: app, image: x}, {name: proxy, image: x, env: [{name: KRUISE_CONTAINER_PRIORITY, value: high}]}]}"
	out, code := s.try(pod, "create", "-n", shop, "-f", "-")
	if code != 1 || !strings.HasPrefix(out, "Error from server (BadRequest): ") ||
		!strings.Contains(out, `container "proxy": KRUISE_CONTAINER_PRIORITY "high": want an integer from -2147483647 to 2147483647`) {
		s.Errorf("exit code %d\n%s", code, out)
	}
}

// leaderKilledBetweenLevels kills the leader while the first container of a pod is not ready yet. Another process finds in
// the cluster all that it needs to go on.
func (s *site) leaderKilledBetweenLevels() {
	s.Helper()
	s.until("the first container runs", func() (bool, string) {
		is := s.container("waiting", "proxy")
		return is.State.Running != nil, fmt.Sprint(is)
	})
	if got := s.barrierOf("waiting"); !strings.HasSuffix(got, ` {"p_0":"true"}`) {
		s.Fatalf("barrier %s", got)
	}
	holder := func() string {
		return s.kubectl("get", "lease", "kruise-manager", "-n", "kruise-system", "-o", "jsonpath={.spec.holderIdentity}")
	}
	killed := holder()
	s.kill(s.leader())
	s.kubectl("exec", "waiting", "-n", shop, "-c", "proxy", "--", "touch", "/ready")
	if diff := cmp.Diff(map[string]int{"nobody: proxy, app, log": 1}, s.startOrders("waiting", 1)); diff != "" {
		s.Errorf("-want +got\n%s", diff)
	}
	if now := holder(); now == killed {
		s.Errorf("%s still leads", now)
	}
	s.until("the pod is marked", func() (bool, string) {
		all := s.kubectl("get", "pod", "waiting", "-n", shop, "-o", "jsonpath={.metadata.annotations}")
		return strings.Contains(all, `"`+keys.LaunchCompletedAnnotation+`":"true"`), all
	})
}

// kill ends the manager in a pod without a word to it. The nodes are this machine, so its process is one of ours; the group
// that it is in tells its pod.
func (s *site) kill(pod string) {
	s.Helper()
	p, err := s.client.CoreV1().Pods("kruise-system").Get(s.Context(), pod, metav1.GetOptions{})
	if err != nil {
		s.Fatal(err)
	}
	groups, err := filepath.Glob("/proc/[0-9]*/cgroup")
	if err != nil {
		s.Fatal(err)
	}
	for _, name := range groups {
		group, _ := os.ReadFile(name) // processes come and go
		program, _ := os.ReadFile(filepath.Join(filepath.Dir(name), "comm"))
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		if bytes.Contains(group, []byte("pod"+string(p.UID))) && strings.TrimSpace(string(program)) == "kruise-agent" {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				s.Fatal(err)
			}
			return
		}
	}
	s.Fatalf("no process of pod %s found among %d", pod, len(groups))
}
