package e2e

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// names are the sorted names of pods.
func names(pods map[string]*corev1.Pod) []string { return slices.Sorted(maps.Keys(pods)) }

// oneOf is some pod of those.
func oneOf(pods map[string]*corev1.Pod) string { return names(pods)[0] }

// S-CS-1: what a user sees after kubectl apply.
func TestSCS1Apply(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.reconcile()
	s.apply("cs-demo")
	s.settle("cs-demo")

	var table []string
	for _, line := range strings.Split(strings.TrimSpace(s.kubectl("get", "cloneset", "cs-demo")), "\n") {
		fields := strings.Fields(line)
		if table = append(table, strings.Join(fields[:len(fields)-1], " ")); len(table) == 1 && fields[len(fields)-1] != "AGE" {
			t.Errorf("the last column is %s, want AGE", fields[len(fields)-1])
		}
	}
	if diff := cmp.Diff([]string{"NAME DESIRED UPDATED UPDATED_READY UPDATED_AVAILABLE READY TOTAL", "cs-demo 3 3 3 3 3 3"}, table); diff != "" {
		t.Errorf("kubectl get cloneset: -want +got\n%s", diff)
	}

	pods := s.pods()
	want := map[string]int{}
	for name, pod := range pods {
		want["Normal SuccessfulCreate from cloneset-controller: succeed to create pod "+name] = 1
		if !regexp.MustCompile(`^cs-demo-[bcdfghjklmnpqrstvwxz2456789]{5}$`).MatchString(name) {
			t.Errorf("a pod is named %s", name)
		}
		owner := metav1.GetControllerOf(pod)
		if owner == nil || owner.Kind != "CloneSet" || owner.Name != "cs-demo" || owner.APIVersion != "apps.kruise.io/v1alpha1" {
			t.Errorf("%s is owned by %v, want the CloneSet in the served version", name, owner)
		}
	}
	if len(pods) != 3 {
		t.Errorf("%d pods, want 3", len(pods))
	}
	s.until("there are events", func() (bool, string) {
		got := s.events("CloneSet", "cs-demo")
		return maps.Equal(want, got), cmp.Diff(want, got)
	})
	if sets, err := lab.client.AppsV1().ReplicaSets(s.name).List(t.Context(), metav1.ListOptions{}); err != nil || len(sets.Items) != 0 {
		t.Errorf("ReplicaSets between: %v, %v", sets, err)
	}
}

// S-CS-2, with seconds instead of a minute: while scaling up, one pod at a time may be unavailable.
func TestSCS2ScaleUpIsLimited(t *testing.T) {
	t.Parallel()
	const minReady = 4 * time.Second
	s := newSpace(t)
	s.reconcile()
	s.apply("cs-demo")
	s.settle("cs-demo")
	s.patch("cs-demo", fmt.Sprintf(`{"spec":{"minReadySeconds":%d,"scaleStrategy":{"maxUnavailable":1}}}`, int(minReady.Seconds())))
	s.settle("cs-demo")

	one, two, available := s.addTwo(5, minReady)
	if two.CreationTimestamp.Time.Before(available) {
		t.Errorf("%s was created at %s, want not before %s, when %s became available", two.Name, two.CreationTimestamp, available, one.Name)
	}
	s.until("the limit was told", func() (bool, string) {
		got := s.events("CloneSet", "cs-demo")
		return got["Warning ScaleUpLimited from cloneset-controller: scaleUp is limited because of scaleStrategy.maxUnavailable, limit: 1"] > 0, fmt.Sprint(got)
	})

	// Seven pods and 20 percent, rounded up, are two; unset is no limit. Either way two pods come together.
	for _, limit := range []string{`"20%"`, `null`} {
		s.patch("cs-demo", `{"spec":{"scaleStrategy":{"maxUnavailable":`+limit+`}}}`)
		one, two, available := s.addTwo(len(s.pods())+2, minReady)
		if !two.CreationTimestamp.Time.Before(available) {
			t.Errorf("maxUnavailable %s: %s was created at %s, want before %s became available at %s", limit, two.Name, two.CreationTimestamp, one.Name, available)
		}
	}
}

// addTwo scales cs-demo up to a number that is two more than now. It returns the new pods in the order of their creation,
// and when the first of them had been ready for so long.
func (s *space) addTwo(replicas int, minReady time.Duration) (one, two *corev1.Pod, available time.Time) {
	s.Helper()
	before := s.pods()
	s.kubectl("scale", "cloneset", "cs-demo", fmt.Sprintf("--replicas=%d", replicas))
	s.settle("cs-demo")
	var added []*corev1.Pod
	for name, pod := range s.pods() {
		if before[name] == nil {
			added = append(added, pod)
		}
	}
	if len(added) != 2 {
		s.Fatalf("%d pods were added, want 2", len(added))
	}
	slices.SortFunc(added, func(a, b *corev1.Pod) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	return added[0], added[1], readySince(added[0]).Add(minReady)
}

// S-CS-3: fewer replicas, with the name of the pod that shall go.
func TestSCS3ScaleDownANamedPod(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.reconcile()
	s.apply("cs-demo")
	s.kubectl("scale", "cloneset", "cs-demo", "--replicas=5")
	s.settle("cs-demo")
	before := s.pods()
	victim := oneOf(before)

	s.patch("cs-demo", `{"spec":{"replicas":4,"scaleStrategy":{"podsToDelete":["`+victim+`"]}}}`)
	s.until("podsToDelete is empty", func() (bool, string) {
		got := s.cloneset("cs-demo").Spec.ScaleStrategy.PodsToDelete
		return len(got) == 0, fmt.Sprint(got)
	})
	s.settle("cs-demo")
	delete(before, victim)
	if diff := cmp.Diff(names(before), names(s.pods())); diff != "" {
		t.Errorf("pods after the deletion of %s: -want +got\n%s", victim, diff)
	}
}

// S-CS-4 and S-CS-5: a pod is named, or labelled, with the replicas unchanged.
func TestSCS4And5ReplaceAChosenPod(t *testing.T) {
	t.Parallel()
	choices := map[string]func(*space, string){
		"S-CS-4 podsToDelete": func(s *space, pod string) {
			s.patch("cs-demo", `{"spec":{"scaleStrategy":{"podsToDelete":["`+pod+`"]}}}`)
		},
		"S-CS-5 label": func(s *space, pod string) {
			s.kubectl("label", "pod", pod, "apps.kruise.io/specified-delete=true")
		},
	}
	for name, choose := range choices {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSpace(t)
			s.reconcile()
			s.apply("cs-demo")
			s.settle("cs-demo")
			known, h := s.pods(), s.record()
			victim := oneOf(known)

			choose(s, victim)
			s.until("a new pod has taken the place of "+victim, func() (bool, string) {
				pods := s.pods()
				return len(pods) == 3 && pods[victim] == nil, fmt.Sprint(names(pods))
			})
			s.settle("cs-demo")
			moments := h.moments()
			gone, made := first(moments, leaving(victim)), first(moments, created(known))
			if gone < 0 || made < gone {
				t.Errorf("the new pod came at moment %d, the deletion of the old one at %d; want the deletion first", made, gone)
			}
			for name := range known {
				if name != victim && first(moments, leaving(name)) >= 0 {
					t.Errorf("%s was deleted too", name)
				}
			}
			if got := s.cloneset("cs-demo").Spec.ScaleStrategy.PodsToDelete; len(got) != 0 {
				t.Errorf("podsToDelete still has %v", got)
			}
		})
	}
}

// S-CS-5: labelled pods go one by one under maxUnavailable 1, and one more comes first with maxSurge 1.
func TestSCS5RespectsTheLimits(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		strategy           string
		atLeast, firstMore int
	}{
		"maxUnavailable 1":                {`{"maxUnavailable":1}`, 2, 0},
		"maxUnavailable 0 and maxSurge 1": {`{"maxUnavailable":0,"maxSurge":1}`, 3, 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSpace(t)
			s.reconcile()
			s.apply("cs-demo")
			s.patch("cs-demo", `{"spec":{"updateStrategy":`+test.strategy+`}}`)
			s.settle("cs-demo")
			known, h := s.pods(), s.record()
			s.until("the history has begun", func() (bool, string) { n := len(h.moments()); return n >= 3, fmt.Sprint(n, " moments") })
			victims := names(known)[:2]

			s.kubectl("label", "pod", victims[0], victims[1], "apps.kruise.io/specified-delete=true")
			s.until("both pods are replaced", func() (bool, string) {
				pods := s.pods()
				return len(pods) == 3 && pods[victims[0]] == nil && pods[victims[1]] == nil, fmt.Sprint(names(pods))
			})
			s.settle("cs-demo")
			moments := h.moments()
			for i, m := range moments[3:] {
				if m.ready() < test.atLeast {
					t.Errorf("moment %d: %d pods ready, want at least %d", i+3, m.ready(), test.atLeast)
				}
			}
			gone, made := first(moments, func(m moment) bool { return leaving(victims[0])(m) || leaving(victims[1])(m) }), first(moments, created(known))
			if (made < gone) != (test.firstMore == 1) {
				t.Errorf("the first deletion came at moment %d, the first new pod at %d", gone, made)
			}
		})
	}
}
