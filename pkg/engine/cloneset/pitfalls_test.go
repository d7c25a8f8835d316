package cloneset

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/features"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
)

// The examples of pitfalls.md in their own numbers.
func TestPitfallsOfCounting(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		replicas  int
		partition string
		updated   int
	}{{3, "99%", 1}, {3, "100%", 0}, {3, "0%", 3}, {3, "1%", 2}, {3, "34%", 1}, {9, "90%", 1}, {1, "50%", 0}, {3, "5", 0}} {
		t.Run(fmt.Sprintf("PF-CS-1 %d %s", row.replicas, row.partition), func(t *testing.T) {
			t.Parallel()
			s := grown(t, row.replicas, policy(inPlace), partition(row.partition))
			if p := s.settle(); int(p.Status.UpdatedReplicas) != row.updated {
				t.Errorf("status %+v", p.Status)
			}
			s.expectCounts(row.replicas-row.updated, row.updated)
		})
	}
	for _, row := range []struct {
		replicas                  int
		partition, surge          string
		created, pods, old, ended int
	}{{8, "6", "50%", 2, 10, 6, 2}, {2, "1", "2", 1, 3, 1, 1}} {
		t.Run(fmt.Sprintf("PF-CS-2 %d replicas", row.replicas), func(t *testing.T) {
			t.Parallel()
			s := grown(t, row.replicas, partition(row.partition), maxSurge(row.surge), maxUnavailable("0"))
			s.expect("surge", did(s.pass()), fmt.Sprintf("create %d", row.created))
			most := 0
			for range 60 {
				most = max(most, len(s.w.Pods))
				if s.pass().Done {
					break
				}
				s.ready()
			}
			if most != row.pods {
				t.Errorf("at most %d pods, want %d", most, row.pods)
			}
			s.expectCounts(row.old, row.ended)
		})
	}
	t.Run("PF-CS-3", func(t *testing.T) {
		t.Parallel()
		for _, gate := range []bool{true, false} {
			s := grown(t, 3, policy(inPlace), partition("1"), maxUnavailable("1"))
			s.w.Gates = s.w.Gates.With(features.CloneSetPartitionRollback, gate)
			s.settle()
			s.expectCounts(1, 2)
			s.change(partition("3"))
			if !gate {
				before := s.w.Pods
				if p := s.quiet(); len(p.Warnings) != 1 || !cmp.Equal(before, s.w.Pods) {
					t.Errorf("without the gate: warnings %q, pods %s", p.Warnings, cmp.Diff(before, s.w.Pods))
				}
				continue
			}
			s.expect("the first", did(s.pass()), "in-place 1")
			p := s.quiet()
			s.expect("while it does not serve", did(p), "")
			if p.Done {
				t.Error("done after the first")
			}
			s.ready()
			s.quiet()
			s.ready()
			s.expect("the second", did(s.quietUntil("in-place 1")), "in-place 1")
			s.settle()
			s.expectCounts(3, 0)
		}
	})
	t.Run("PF-CS-4", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, 4, maxSurge("50%"), paused)
		s.settle()
		before := s.w.Pods
		s.change(image("v2"))
		s.quiet()
		if diff := cmp.Diff(before, s.w.Pods); diff != "" {
			t.Errorf("pods changed:\n%s", diff)
		}
		s.change(replicas(5))
		s.expect("one more replica", did(s.pass()), "create 1")
		s.settleReady()
		if len(s.w.Pods) != 5 {
			t.Errorf("%d pods", len(s.w.Pods))
		}
	})
	for _, phase := range []corev1.PodPhase{corev1.PodFailed, corev1.PodSucceeded} {
		t.Run("PF-CS-6 "+string(phase), func(t *testing.T) {
			t.Parallel()
			s := grown(t, 3, policy(inPlace), partition("1"), maxUnavailable("1"))
			s.settle()
			ended := s.updated()[0]
			s.edit(func(p *corev1.Pod) {
				if p.Name == ended {
					p.Status.Phase = phase
				}
			})
			p := s.pass()
			s.expect("one replacement", did(p), "create 1")
			if st := p.Status; st.Replicas != 2 || st.ReadyReplicas != 2 || st.UpdatedReplicas != 1 || st.UpdatedAvailableReplicas != 1 {
				t.Errorf("status %+v", st)
			}
			s.expect("and no second", did(s.quiet()), "")
			if st := s.settle().Status; st.Replicas != 3 || st.UpdatedReplicas != 2 {
				t.Errorf("status at the end %+v", st)
			}
		})
	}
	t.Run("PF-CS-9", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, 2)
		s.settle()
		s.w.Pods = append(slices.Clone(s.w.Pods), Pod{Pod: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "nobodys", Namespace: "shop", UID: "x", Labels: map[string]string{"app": "web"}}}})
		s.change(func(c *v1beta1.CloneSet) { c.Spec.ScaleStrategy.PodsToDelete = []string{"nobodys"} })
		p := s.pass()
		s.expect("no pod", did(p), "")
		if len(p.Warnings) != 1 || !strings.Contains(p.Warnings[0], "nobodys") || len(s.w.Set.Spec.ScaleStrategy.PodsToDelete) != 0 {
			t.Errorf("warnings %q, podsToDelete %v", p.Warnings, s.w.Set.Spec.ScaleStrategy.PodsToDelete)
		}
		s.pod("nobodys")
	})
	t.Run("PF-CS-10 two of three", func(t *testing.T) {
		t.Parallel()
		s := grown(t, 3, partition("50%"), maxSurge("0"), maxUnavailable("1"))
		for range 60 {
			p := s.pass()
			if len(s.w.Pods) > 3 {
				t.Fatalf("%d pods", len(s.w.Pods))
			}
			if p.Done {
				break
			}
			s.ready()
		}
		s.expectCounts(2, 1)
	})
	t.Run("PF-CS-10 one replica", func(t *testing.T) {
		t.Parallel()
		s := grown(t, 1, maxSurge("0"), maxUnavailable("1"))
		s.expect("marked", did(s.pass()), "recreate 1")
		s.expect("deleted", did(s.pass()), "delete 1")
		s.expect("made", did(s.pass()), "create 1")
	})
}

// PF-IP-3: the field that forces a replacement is named, and where none is allowed no pod is touched.
func TestFieldsThatForceAReplacement(t *testing.T) {
	t.Parallel()
	base := func(c *v1beta1.CloneSet) {
		c.Spec.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "A", Value: "1"}, {Name: "B", Value: "2"}}
		c.Spec.Template.Spec.InitContainers = []corev1.Container{{Name: "init", Image: "v1"}}
	}
	for name, row := range map[string]struct {
		change option
		path   string
	}{
		"env in another order": {func(c *v1beta1.CloneSet) {
			c.Spec.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "B", Value: "2"}, {Name: "A", Value: "1"}}
		}, "spec.containers[0].env"},
		"a command": {func(c *v1beta1.CloneSet) { c.Spec.Template.Spec.Containers[0].Command = []string{"run"} }, "spec.containers[0].command"},
		"an init container": {func(c *v1beta1.CloneSet) {
			c.Spec.Template.Spec.InitContainers = []corev1.Container{{Name: "init", Image: "v2"}}
		},
			"spec.initContainers[0].image"},
		"another container": {sidecar("v1"), "spec.containers[1]"},
	} {
		t.Run("PF-IP-3 "+name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, 1, base, policy(inPlace))
			s.settle()
			s.change(row.change)
			v := s.pass().Verdicts[0]
			if v.Fate != plan.Recreate || !strings.Contains(v.Note, row.path) {
				t.Errorf("verdict %+v, want a replacement for %s", v, row.path)
			}
			s = newStage(t, 1, base, policy(v1beta1.InPlaceOnlyPodUpdatePolicy))
			s.settle()
			before := s.w.Pods
			s.change(row.change)
			p := s.quiet()
			if p.Stopped != plan.ReasonNotEligible || !strings.Contains(fmt.Sprint(p.Waits), row.path) {
				t.Errorf("stopped %q, waits %+v, want %s", p.Stopped, p.Waits, row.path)
			}
			if diff := cmp.Diff(before, s.w.Pods); diff != "" {
				t.Errorf("the pod changed:\n%s", diff)
			}
		})
	}
}
