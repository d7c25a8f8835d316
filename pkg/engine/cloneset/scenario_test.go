package cloneset

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/features"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
)

const inPlace = v1beta1.InPlaceIfPossiblePodUpdatePolicy

func (s *stage) expect(what, got, want string) {
	s.t.Helper()
	if got != want {
		s.t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

func (s *stage) expectCounts(old, updated int) {
	s.t.Helper()
	if o, u := s.oldAndNew(); o != old || u != updated {
		s.t.Errorf("got %d old and %d updated pods, want %d and %d", o, u, old, updated)
	}
}

// grown is a settled set with the given options, whose image is then changed to v2.
func grown(t *testing.T, n int, options ...option) *stage {
	t.Helper()
	s := newStage(t, n, options...)
	s.settle()
	s.change(image("v2"))
	return s
}

func TestCreate(t *testing.T) {
	t.Parallel()
	t.Run("cloneset/1", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, 5)
		s.expect("first pass", did(s.pass()), "create 5")
		rev := s.w.Revisions[0].Name
		for _, p := range s.w.Pods {
			if !regexp.MustCompile(`^web-[bcdfghjklmnpqrstvwxz2456789]{5}$`).MatchString(p.Name) {
				t.Errorf("pod name %q", p.Name)
			}
			want := map[string]string{"app": "web", keys.InstanceIDLabel: strings.TrimPrefix(p.Name, "web-"), keys.ControllerRevisionHashLabel: rev,
				keys.PodTemplateHashLabel: strings.TrimPrefix(rev, "web-"), keys.LifecycleStateLabel: keys.StatePreparingNormal}
			if diff := cmp.Diff(want, p.Labels); diff != "" {
				t.Errorf("labels (-want +got):\n%s", diff)
			}
		}
		if got := len(s.seen); got != 5 || s.seen[0].Message != "succeed to create pod "+s.w.Pods[0].Name {
			t.Errorf("events %v", s.seen)
		}
		if p := s.settle(); p.Status.UpdatedAvailableReplicas != 5 {
			t.Errorf("status %+v", p.Status)
		}
	})
	t.Run("cloneset/2", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, 5, func(c *v1beta1.CloneSet) { c.Spec.ScaleStrategy.MaxUnavailable = number(2) })
		s.expect("first pass", did(s.pass()), "create 2")
		if !slices.Contains(s.seen, plan.Event{Type: "Warning", Reason: "ScaleUpLimited", Message: "scaleUp is limited because of scaleStrategy.maxUnavailable, limit: 2"}) {
			t.Errorf("no event ScaleUpLimited in %v", s.seen)
		}
		s.expect("while they are not ready", did(s.quiet()), "")
	})
	t.Run("cloneset/3", func(t *testing.T) {
		t.Parallel()
		limited := func(c *v1beta1.CloneSet) { c.Spec.ScaleStrategy.MaxUnavailable = number(2) }
		s := grown(t, 3, policy(inPlace), maxUnavailable("6"), limited)
		s.change(replicas(6))
		s.broken(0)
		s.expect("one more may be unavailable", did(s.pass()), "create 1")

		s = grown(t, 3, policy(inPlace), maxUnavailable("6"), limited)
		s.change(replicas(6))
		s.broken(0, 1)
		p := s.pass()
		s.expect("limit 0 still updates", did(p), "in-place 3")
		if p.Numbers.ScaleUp != 3 || p.Numbers.ScaleUpLimit != 0 {
			t.Errorf("numbers %+v", p.Numbers)
		}
	})
	t.Run("cloneset/4", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, 4, func(c *v1beta1.CloneSet) {
			c.Spec.ScaleStrategy.MaxUnavailable, c.Spec.MinReadySeconds = number(1), 10
		})
		for n := 1; n <= 4; n++ {
			s.expect(fmt.Sprintf("pod %d", n), did(s.pass()), "create 1")
			s.quiet()
			s.ready()
			s.quiet()
			s.ready()
			p := s.quiet()
			if n == 4 {
				break
			}
			if want := s.w.Now.Add(10 * time.Second); !p.Wake.Equal(want) {
				t.Errorf("wakes at %v, want %v", p.Wake, want)
			}
			s.tick(9 * time.Second)
			s.expect("a second too early", did(s.pass()), "")
			s.tick(time.Second)
		}
	})
	t.Run("cloneset/5", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, 3, paused, func(c *v1beta1.CloneSet) {
			c.Spec.MinReadySeconds, c.Spec.ProgressDeadlineSeconds = 60, ptr(int32(600))
		})
		s.expect("though paused", did(s.pass()), "create 3")
		s.ready()
		s.quiet()
		s.ready()
		p := s.quiet()
		if c := p.Status.Conditions; len(c) != 1 || c[0].Status != "True" || c[0].Reason != "CloneSetPaused" || c[0].Message != "CloneSet is paused" {
			t.Errorf("conditions %+v", c)
		}
		if p.Status.ReadyReplicas != 3 || p.Status.AvailableReplicas != 0 {
			t.Errorf("status %+v", p.Status)
		}
	})
	t.Run("long names use the short hash", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, 1, func(c *v1beta1.CloneSet) { c.Name = strings.Repeat("long", 15) })
		s.pass()
		if got := s.w.Pods[0].Labels[keys.ControllerRevisionHashLabel]; len(got) > 63 || strings.Contains(got, "long") {
			t.Errorf("label %q", got)
		}
		s.settle()
	})
}

func TestSpecifiedDelete(t *testing.T) {
	t.Parallel()
	t.Run("cloneset/8", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, 5, maxUnavailable("1"))
		s.settle()
		s.specify(2)
		gone := s.w.Pods[2].Name
		s.expect("first pass", did(s.pass()), "delete 1")
		if slices.ContainsFunc(s.w.Pods, func(p Pod) bool { return p.Name == gone }) {
			t.Error("another pod was deleted")
		}
		s.expect("second pass", did(s.pass()), "create 1")
	})
	t.Run("cloneset/9", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, 5, maxUnavailable("1"))
		s.settle()
		s.specify(1, 3)
		s.expect("first pass", did(s.pass()), "delete 1")
		s.expect("second pass", did(s.pass()), "create 1")
		p := s.quiet()
		s.expect("while the new pod is not ready", did(p), "")
		s.ready()
		s.quiet()
		s.ready()
		s.expect("then", did(s.pass()), "delete 1")
	})
	t.Run("cloneset/10", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, 5, maxUnavailable("1"))
		s.settle()
		s.change(replicas(4))
		s.specify(0, 1)
		s.broken(0, 1)
		s.expect("first pass", did(s.pass()), "delete 2")
		s.expect("second pass", did(s.pass()), "create 1")
	})
	t.Run("cloneset/11", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, 5, maxUnavailable("0"), maxSurge("1"))
		s.settle()
		s.specify(0)
		s.expect("first a surge pod", did(s.pass()), "create 1")
		s.expect("which has to become available", did(s.quiet()), "")
		s.ready()
		s.quiet() // refresh answers the gates
		s.ready()
		s.expect("then the pod goes", did(s.pass()), "delete 1")
		s.settle()
	})
	t.Run("cloneset/12", func(t *testing.T) {
		t.Parallel()
		for _, row := range []struct {
			name, limit, want string
			specified         int
		}{{"a", "2", "delete 1", 1}, {"b", "1", "create 1", 1}, {"c", "1", "delete 1", 0}} {
			s := newStage(t, 5, maxUnavailable(row.limit), maxSurge("1"))
			s.settle()
			s.broken(0)
			s.specify(row.specified)
			s.expect(row.name, did(s.pass()), row.want)
		}
	})
	t.Run("cloneset/13", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, 5)
		s.settle()
		s.change(replicas(3))
		s.specify(4)
		s.expect("the specified one", did(s.pass()), "delete 1")
		s.expect("scale-in after it", did(s.pass()), "delete 1")
	})
	t.Run("cloneset/14", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, 5)
		s.settle()
		s.change(replicas(3), func(c *v1beta1.CloneSet) { c.Spec.MinReadySeconds = 9999 })
		s.tick(10 * time.Second)
		s.expect("none is available yet", did(s.pass()), "")
		s.change(func(c *v1beta1.CloneSet) { c.Spec.MinReadySeconds = 0 })
		s.expect("all are", did(s.pass()), "delete 2")
	})
	t.Run("cloneset/19", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, 3)
		s.settle()
		name := s.w.Pods[1].Name
		s.change(func(c *v1beta1.CloneSet) { c.Spec.ScaleStrategy.PodsToDelete = []string{name, "ghost"} })
		p := s.pass()
		s.expect("first", did(p), "delete 1")
		if diff := cmp.Diff([]string{name}, s.w.Set.Spec.ScaleStrategy.PodsToDelete); diff != "" {
			t.Errorf("podsToDelete after the first pass:\n%s", diff)
		}
		if len(p.Warnings) != 1 || !strings.Contains(p.Warnings[0], "ghost") {
			t.Errorf("warnings %q (PF-CS-9: it says so)", p.Warnings)
		}
		s.settle()
		if got := s.w.Set.Spec.ScaleStrategy.PodsToDelete; len(got) != 0 {
			t.Errorf("podsToDelete at the end: %q", got)
		}
	})
	t.Run("S-CS-3", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, 5)
		s.settle()
		name := s.w.Pods[3].Name
		s.change(replicas(4), func(c *v1beta1.CloneSet) { c.Spec.ScaleStrategy.PodsToDelete = []string{name} })
		s.settle()
		if len(s.w.Pods) != 4 || slices.ContainsFunc(s.w.Pods, func(p Pod) bool { return p.Name == name }) {
			t.Errorf("%d pods, %s should be gone", len(s.w.Pods), name)
		}
	})
}

func TestUpdateInPlace(t *testing.T) {
	t.Parallel()
	t.Run("cloneset/25", func(t *testing.T) {
		t.Parallel()
		s := grown(t, 5, policy(inPlace), partition("3"), maxUnavailable("1"))
		uids := map[string]bool{}
		for _, p := range s.w.Pods {
			uids[string(p.UID)] = true
		}
		for n := range 2 {
			s.expect(fmt.Sprintf("pod %d", n+1), did(s.pass()), "in-place 1")
			s.expect("while it is not ready", did(s.quiet()), "")
			s.ready()
			s.quiet()
			s.ready()
		}
		if p := s.quiet(); !p.Done || p.Numbers.Update != 0 {
			t.Errorf("done %v, numbers %+v, waits %+v", p.Done, p.Numbers, p.Waits)
		}
		s.expectCounts(3, 2)
		for _, p := range s.w.Pods {
			if !uids[string(p.UID)] {
				t.Errorf("pod %s was recreated", p.Name)
			}
		}
	})
	t.Run("cloneset/26 PF-CS-1", func(t *testing.T) {
		t.Parallel()
		s := grown(t, 4, policy(inPlace), partition("99%"), maxUnavailable("50%"), func(c *v1beta1.CloneSet) { c.Spec.ProgressDeadlineSeconds = ptr(int32(600)) })
		p := s.settle()
		s.expectCounts(3, 1)
		if p.Status.ExpectedUpdatedReplicas != 1 || p.Status.Conditions[0].Reason != "ProgressPartitionAvailable" {
			t.Errorf("status %+v", p.Status)
		}
	})
	t.Run("cloneset/30", func(t *testing.T) {
		t.Parallel()
		s := grown(t, 5, policy(inPlace), partition("3"), maxUnavailable("1"), maxSurge("1"))
		s.expect("surge", did(s.pass()), "create 1")
		p := s.pass()
		s.expect("one in place beside it", did(p), "in-place 1")
		if p.Numbers.Update != 1 || p.Numbers.UpdateMaxUnavailable != 2 {
			t.Errorf("numbers %+v", p.Numbers)
		}
		p = s.quiet()
		s.expect("one old too many, but both new ones are unavailable", did(p), "")
		if p.Numbers.ScaleDown != 1 || p.Numbers.ScaleDownOld != 1 || p.Numbers.ReadyDeleteLimit != 0 {
			t.Errorf("numbers %+v", p.Numbers)
		}
		s.serve(s.updated()[0])
		p = s.pass()
		s.expect("one new one is available", did(p), "delete 1")
		if p.Numbers.ReadyDeleteLimit != 1 {
			t.Errorf("numbers %+v", p.Numbers)
		}
		s.expectCounts(3, 2)
		s.settle()
		s.expectCounts(3, 2)
	})
	t.Run("cloneset/41", func(t *testing.T) {
		t.Parallel()
		s := grown(t, 3, policy(v1beta1.InPlaceOnlyPodUpdatePolicy))
		s.change(env("A", "1"))
		before := s.w.Pods
		p := s.quiet()
		if diff := cmp.Diff(before, s.w.Pods); diff != "" {
			t.Errorf("pods changed:\n%s", diff)
		}
		if c := p.Status.Conditions; len(c) != 1 || c[0].Type != "FailedUpdate" || !strings.Contains(c[0].Message, "env") {
			t.Errorf("conditions %+v", c)
		}
		if p.Done || p.Stopped != plan.ReasonNotEligible {
			t.Errorf("done %v, stopped %q: nothing goes on by itself", p.Done, p.Stopped)
		}
	})
	t.Run("cloneset/42", func(t *testing.T) {
		t.Parallel()
		s := grown(t, 3, policy(inPlace), maxUnavailable("1"))
		s.change(env("A", "1"))
		before := map[types.UID]bool{}
		for _, p := range s.w.Pods {
			before[p.UID] = true
		}
		s.expect("marked", did(s.pass()), "recreate 1")
		s.expect("deleted", did(s.pass()), "delete 1")
		s.settle()
		s.expectCounts(0, 3)
		for _, p := range s.w.Pods {
			if before[p.UID] {
				t.Errorf("pod %s was not replaced", p.Name)
			}
		}
	})
	t.Run("PF-IP-3", func(t *testing.T) {
		t.Parallel()
		s := grown(t, 1, policy(inPlace))
		s.change(func(c *v1beta1.CloneSet) { c.Spec.Template.Spec.Containers[0].Command = []string{"run"} })
		for _, v := range s.plan().Verdicts {
			if v.Fate != plan.Recreate || !strings.Contains(v.Note, "command") {
				t.Errorf("verdict %+v does not name the field", v)
			}
		}
	})
	t.Run("cloneset/60 PF-IP-8", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, 2, policy(inPlace))
		s.settle()
		s.change(func(c *v1beta1.CloneSet) { c.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyAlways })
		s.quiet()
		if len(s.w.Revisions) != 1 {
			t.Errorf("%d revisions after defaults were filled in", len(s.w.Revisions))
		}
	})
}

func env(name, value string) option {
	return func(c *v1beta1.CloneSet) {
		c.Spec.Template.Spec.Containers[0].Env = append(c.Spec.Template.Spec.Containers[0].Env, corev1.EnvVar{Name: name, Value: value})
	}
}

func TestUpdateLimits(t *testing.T) {
	t.Parallel()
	t.Run("cloneset/29 PF-CS-3", func(t *testing.T) {
		t.Parallel()
		for _, gate := range []bool{true, false} {
			s := grown(t, 5, policy(inPlace), partition("1"), maxUnavailable("2"))
			s.w.Gates = s.w.Gates.With(features.CloneSetPartitionRollback, gate)
			s.settle()
			s.expectCounts(1, 4)
			s.change(partition("4"))
			if p := s.pass(); gate {
				s.expect("first pass", did(p), "in-place 2")
				if p.Numbers.Update != -3 {
					t.Errorf("first pass: numbers %+v", p.Numbers)
				}
				s.ready()
				s.quietUntil("")
				s.ready()
				p = s.quietUntil("in-place 1")
				s.expect("second", did(p), "in-place 1")
				if p.Numbers.Update != -1 {
					t.Errorf("second: numbers %+v", p.Numbers)
				}
				s.settle()
				s.expectCounts(4, 1)
			} else {
				s.expect("without the gate", did(p), "")
				s.expectCounts(1, 4)
				if len(p.Warnings) != 1 || !strings.Contains(p.Warnings[0], "CloneSetPartitionRollback") {
					t.Errorf("warnings %q", p.Warnings)
				}
			}
		}
	})
	t.Run("pods that were moved back are part of the goal", func(t *testing.T) {
		t.Parallel()
		s := grown(t, 3, partition("1"), maxUnavailable("1"))
		s.w.Gates = s.w.Gates.With(features.CloneSetPartitionRollback, true)
		s.settle()
		s.change(partition("2"))
		for range 40 {
			p := s.pass()
			if p.Done && p.Status.AvailableReplicas != 3 {
				t.Fatalf("done with %d of 3 available", p.Status.AvailableReplicas)
			}
			if p.Done {
				break
			}
			s.edit(func(x *corev1.Pod) { x.Spec.NodeName = "node1" })
			if p.Empty() {
				s.ready()
			}
		}
		s.expectCounts(2, 1)
	})
	t.Run("cloneset/31", func(t *testing.T) {
		t.Parallel()
		s := grown(t, 5, partition("3"), maxUnavailable("1"), maxSurge("1"))
		s.expect("surge", did(s.pass()), "create 1")
		s.expect("mark", did(s.pass()), "recreate 1")
		s.expect("delete", did(s.pass()), "delete 1")
		s.expect("one more new", did(s.pass()), "create 1")
		s.expectCounts(4, 2)
		s.expect("one old too many, but both new ones are unavailable", did(s.quiet()), "")
		s.serve(s.updated()[0])
		s.expect("one new one is available", did(s.pass()), "delete 1")
		s.settle()
		s.expectCounts(3, 2)
	})
	t.Run("cloneset/32", func(t *testing.T) {
		t.Parallel()
		s := grown(t, 4, maxUnavailable("0"), maxSurge("25%"))
		s.expect("surge", did(s.pass()), "create 1")
		s.expect("nothing while it is unavailable", did(s.quiet()), "")
		for range 100 {
			p := s.pass()
			if p.Status.AvailableReplicas < 4 {
				t.Fatalf("only %d available", p.Status.AvailableReplicas)
			}
			if p.Done {
				break
			}
			s.ready()
		}
		s.expectCounts(0, 4)
	})
	t.Run("cloneset/33 PF-CS-5", func(t *testing.T) {
		t.Parallel()
		s := grown(t, 5, policy(inPlace), maxUnavailable("2"))
		s.broken(0, 1, 2, 3, 4)
		s.expect("two of five broken ones", did(s.pass()), "in-place 2")
		s.expect("none while both are unavailable", did(s.quiet()), "")
		moved := ""
		for _, v := range s.plan().Verdicts {
			if v.Updated {
				moved = v.Name
			}
		}
		s.ready(moved)
		s.quietUntil("")
		s.ready(moved)
		s.expect("one more when one is available", did(s.quietUntil("in-place 1")), "in-place 1")
	})
	t.Run("PF-CS-5 an unready pod is chosen before a ready one", func(t *testing.T) {
		t.Parallel()
		s := grown(t, 5, policy(inPlace), maxUnavailable("1"))
		s.broken(1, 3, 4)
		for _, v := range s.pass().Verdicts {
			if v.Fate == plan.UpdateInPlace && v.Available {
				t.Errorf("%s is available and was chosen", v.Name)
			}
		}
	})
	t.Run("cloneset/34", func(t *testing.T) {
		t.Parallel()
		s := grown(t, 8, policy(inPlace), partition("3"), maxUnavailable("8"))
		s.w.Gates = s.w.Gates.With(features.CloneSetPartitionRollback, true)
		s.settle()
		for i, v := range s.plan().Verdicts {
			if v.Updated {
				s.broken(i)
			}
		}
		s.change(partition("7"), maxUnavailable("3"))
		p := s.pass()
		if p.Numbers.Update != -4 {
			t.Errorf("numbers %+v", p.Numbers)
		}
		s.expect("three of four", did(p), "in-place 3")
	})
	t.Run("cloneset/35 PF-CS-4", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, 3, maxSurge("3"), maxUnavailable("0"))
		s.settle()
		s.change(image("v2"), replicas(5), paused)
		s.expect("scaling goes on", did(s.pass()), "create 2")
		s.settleReady()
		if len(s.w.Pods) != 5 {
			t.Errorf("%d pods", len(s.w.Pods))
		}
		p := s.quiet()
		if p.Done || p.Stopped != plan.ReasonPaused {
			t.Errorf("done %v, stopped %q", p.Done, p.Stopped)
		}
	})
	t.Run("cloneset/36", func(t *testing.T) {
		t.Parallel()
		s := grown(t, 4, policy(inPlace), partition("2"))
		s.settle()
		s.change(replicas(5), partition("3"))
		s.pass()
		s.expectCounts(3, 2)
	})
	t.Run("PF-CS-6", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, 3)
		s.settle()
		failed := s.w.Pods[0].Name
		s.edit(func(p *corev1.Pod) {
			if p.Name == failed {
				p.Status.Phase = corev1.PodFailed
			}
		})
		s.expect("one replacement", did(s.pass()), "create 1")
		s.expect("and no second", did(s.quiet()), "")
		if st := s.settle().Status; st.Replicas != 3 || st.ReadyReplicas != 3 {
			t.Errorf("status %+v", st)
		}
	})
	t.Run("PF-CS-7", func(t *testing.T) {
		t.Parallel()
		s := grown(t, 2, partition("10"), maxSurge("1"))
		s.expect("nothing", did(s.quiet()), "")
		if len(s.w.Pods) != 2 {
			t.Errorf("%d pods", len(s.w.Pods))
		}
	})
	t.Run("PF-CS-8", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, 2)
		for name, o := range map[string]option{
			"maxUnavailable":  func(c *v1beta1.CloneSet) { rolling(c).MaxUnavailable = text("5") },
			"partition":       func(c *v1beta1.CloneSet) { rolling(c).Partition = text("5x") },
			"maxSurge":        func(c *v1beta1.CloneSet) { rolling(c).MaxSurge = text("many") },
			"podUpdatePolicy": func(c *v1beta1.CloneSet) { rolling(c).PodUpdatePolicy = "InPlaceMaybe" },
			"both zero":       func(c *v1beta1.CloneSet) { rolling(c).MaxUnavailable, rolling(c).MaxSurge = number(0), number(0) },
			"InPlaceOnly with a surge": func(c *v1beta1.CloneSet) {
				rolling(c).PodUpdatePolicy, rolling(c).MaxSurge = v1beta1.InPlaceOnlyPodUpdatePolicy, number(1)
			},
		} {
			w := s.w
			w.Set = s.w.Set.DeepCopy()
			o(w.Set)
			if _, err := Decide(w); err == nil || !strings.HasPrefix(err.Error(), "spec.updateStrategy.rollingUpdate.") {
				t.Errorf("%s: error %v", name, err)
			}
		}
	})
	t.Run("PF-CS-10", func(t *testing.T) {
		t.Parallel()
		for _, n := range []int{1, 3} {
			s := grown(t, n, partition("50%"), maxUnavailable("1"))
			for range 60 {
				if p := s.pass(); p.Done {
					break
				}
				if len(s.w.Pods) > n {
					t.Fatalf("%d pods of %d", len(s.w.Pods), n)
				}
				s.ready()
			}
		}
	})
	t.Run("PF-CS-11", func(t *testing.T) {
		t.Parallel()
		s := grown(t, 10, policy(inPlace), partition("8"), maxUnavailable("2"))
		s.settle()
		s.change(partition("0"))
		for range 100 {
			p := s.pass()
			if p.Status.AvailableReplicas < 8 {
				t.Fatalf("%d available", p.Status.AvailableReplicas)
			}
			if p.Done {
				break
			}
			s.ready()
		}
		s.expectCounts(0, 10)
	})
}

// quietUntil makes passes, pods turning ready in between, until one does what is wanted.
func (s *stage) quietUntil(want string) *Plan {
	s.t.Helper()
	var p *Plan
	for range 20 {
		if p = s.pass(); did(p) == want {
			return p
		}
		if want != "" {
			s.ready()
		}
	}
	return p
}

// settleReady makes passes with pods turning ready until nothing is written any more.
func (s *stage) settleReady() {
	s.t.Helper()
	for range 20 {
		s.quiet()
		s.ready()
	}
}

func TestOnDelete(t *testing.T) {
	t.Parallel()
	t.Run("cloneset/53", func(t *testing.T) {
		t.Parallel()
		onDelete := func(c *v1beta1.CloneSet) {
			c.Spec.UpdateStrategy = v1beta1.CloneSetUpdateStrategy{Type: v1beta1.OnDeleteCloneSetUpdateStrategyType}
			c.Spec.ProgressDeadlineSeconds = ptr(int32(600))
		}
		s := grown(t, 5, onDelete)
		p := s.quiet()
		if p.Status.UpdatedReplicas != 0 || p.Stopped != plan.ReasonOnDelete || p.Status.Conditions[0].Reason != "CloneSetUpdated" {
			t.Errorf("stopped %q, status %+v", p.Stopped, p.Status)
		}
		s.w.Pods = s.w.Pods[2:]
		s.settleReady()
		s.expectCounts(3, 2)
		s.change(replicas(3))
		s.settleReady()
		s.expectCounts(1, 2)
		s.change(replicas(5))
		s.settleReady()
		s.expectCounts(1, 4)
		for i, v := range s.plan().Verdicts {
			if !v.Updated {
				s.w.Pods = slices.Delete(slices.Clone(s.w.Pods), i, i+1)
				break
			}
		}
		s.settleReady()
		s.expectCounts(0, 5)
		if p := s.quiet(); !p.Done || p.Status.Conditions[0].Reason != "CloneSetAvailable" {
			t.Errorf("done %v, status %+v", p.Done, p.Status)
		}
	})
	t.Run("cloneset/53 old ones go first", func(t *testing.T) {
		t.Parallel()
		for _, row := range []struct{ replicas, old, updated int }{{6, 1, 5}, {4, 0, 4}} {
			s := grown(t, 3, func(c *v1beta1.CloneSet) {
				c.Spec.UpdateStrategy = v1beta1.CloneSetUpdateStrategy{Type: v1beta1.OnDeleteCloneSetUpdateStrategyType}
			})
			s.change(replicas(8))
			s.settleReady()
			s.expectCounts(3, 5)
			s.change(replicas(row.replicas))
			s.settleReady()
			s.expectCounts(row.old, row.updated)
		}
	})
}

func TestConditions(t *testing.T) {
	t.Parallel()
	t.Run("cloneset/6", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, 1, func(c *v1beta1.CloneSet) {
			c.Spec.ProgressDeadlineSeconds = ptr(int32(8))
			c.Spec.Template.Spec.SchedulerName = "unschedulable"
		})
		s.pass()
		s.quiet()
		s.tick(10 * time.Second)
		p := s.quiet()
		if c := p.Status.Conditions; len(c) != 1 || c[0].Status != "False" || c[0].Reason != "ProgressDeadlineExceeded" || !strings.Contains(c[0].Message, p.Status.UpdateRevision) {
			t.Errorf("conditions %+v", c)
		}
		if got := s.w.Pods[0].Labels[keys.LifecycleStateLabel]; got != keys.StatePreparingNormal {
			t.Errorf("state %q", got)
		}
		uid := s.w.Pods[0].UID
		s.change(func(c *v1beta1.CloneSet) { c.Spec.Template.Spec.SchedulerName = "" })
		p = s.settle()
		if c := p.Status.Conditions; c[0].Reason != "CloneSetAvailable" {
			t.Errorf("conditions at the end %+v", c)
		}
		if x := s.w.Pods[0]; len(s.w.Pods) != 1 || x.UID == uid || x.Labels[keys.LifecycleStateLabel] != keys.StateNormal {
			t.Errorf("%d pods, of which one has the state %q; its UID was %s and is %s", len(s.w.Pods), x.Labels[keys.LifecycleStateLabel], uid, x.UID)
		}
	})
	t.Run("cloneset/54", func(t *testing.T) {
		t.Parallel()
		for _, none := range []*int32{nil, ptr(v1beta1.NoProgressDeadline)} {
			s := newStage(t, 1, func(c *v1beta1.CloneSet) { c.Spec.ProgressDeadlineSeconds = none })
			if p := s.settle(); len(p.Status.Conditions) != 0 {
				t.Errorf("conditions %+v", p.Status.Conditions)
			}
			s.change(func(c *v1beta1.CloneSet) { c.Spec.ProgressDeadlineSeconds = ptr(int32(600)) })
			if c := s.settle().Status.Conditions; len(c) != 1 || c[0].Type != v1beta1.CloneSetConditionProgressing {
				t.Errorf("conditions %+v", c)
			}
			s.change(func(c *v1beta1.CloneSet) { c.Spec.ProgressDeadlineSeconds = none })
			if c := s.settle().Status.Conditions; len(c) != 0 {
				t.Errorf("conditions %+v, though there is no deadline any more", c)
			}
		}
	})
	t.Run("failures come and go", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, 1)
		s.settle()
		s.w.Failures = []Failure{{StageScale, "quota exceeded"}}
		if c := s.pass().Status.Conditions; len(c) != 1 || c[0].Type != "FailedScale" || c[0].Message != "quota exceeded" {
			t.Errorf("conditions %+v", c)
		}
		s.w.Failures = nil
		if c := s.quiet().Status.Conditions; len(c) != 0 {
			t.Errorf("conditions afterwards %+v", c)
		}
	})
}

func TestRevisions(t *testing.T) {
	t.Parallel()
	t.Run("cloneset/52", func(t *testing.T) {
		t.Parallel()
		s := grown(t, 1, policy(inPlace))
		first := s.w.Revisions[0].Name
		s.settle()
		s.change(image("v1"))
		p := s.settle()
		if len(s.w.Revisions) != 2 || p.Status.UpdateRevision != first || s.w.Revisions[0].Revision != 3 {
			t.Errorf("%d revisions, update revision %s number %d", len(s.w.Revisions), p.Status.UpdateRevision, s.w.Revisions[0].Revision)
		}
	})
	t.Run("cloneset/59", func(t *testing.T) {
		t.Parallel()
		s := grown(t, 2, policy(inPlace), partition("1"), func(c *v1beta1.CloneSet) { c.Spec.RevisionHistoryLimit = ptr(int32(0)) })
		s.settle()
		for _, v := range []string{"v3", "v4", "v5"} {
			s.change(image(v))
			s.settle()
		}
		if len(s.w.Revisions) != 2 {
			t.Errorf("%d revisions are kept, want those of the two pods", len(s.w.Revisions))
		}
		s.change(func(c *v1beta1.CloneSet) { c.Spec.RevisionHistoryLimit = nil })
		for _, v := range []string{"v6", "v7", "v8"} {
			s.change(image(v))
			s.settle()
		}
		used := map[string]bool{}
		for _, p := range s.w.Pods {
			used[p.Labels[keys.ControllerRevisionHashLabel]] = true
		}
		s.change(func(c *v1beta1.CloneSet) { c.Spec.RevisionHistoryLimit = ptr(int32(0)) })
		if len(s.w.Revisions) != 5 {
			t.Fatalf("%d revisions, want 3 that nothing uses", len(s.w.Revisions))
		}
		s.settle()
		for _, r := range s.w.Revisions {
			if len(s.w.Revisions) != 2 || !used[r.Name] {
				t.Errorf("%d revisions are kept, %s among them", len(s.w.Revisions), r.Name)
			}
		}
	})
}

func TestOwnership(t *testing.T) {
	t.Parallel()
	t.Run("cloneset/55", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, 2)
		s.settle()
		lost := s.w.Pods[0].Name
		s.edit(func(p *corev1.Pod) {
			if p.Name == lost {
				p.Labels["app"] = "other"
			}
		})
		s.expect("first pass", did(s.pass()), "create 1, release 1")
		if x := s.pod(lost); len(x.OwnerReferences) != 0 || x.DeletionTimestamp != nil {
			t.Errorf("owners %v, deleted at %v", x.OwnerReferences, x.DeletionTimestamp)
		}
		s.settle()
	})
	t.Run("cloneset/56", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, 1)
		s.w.Pods = []Pod{{Pod: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web-orphan", UID: "orphan", Labels: map[string]string{"app": "web"}}}}}
		s.expect("a new pod", did(s.pass()), "create 1")
		if o := s.w.Pods[0].OwnerReferences; len(o) != 0 {
			t.Errorf("the orphan got owners %v", o)
		}
	})
	t.Run("a set that is being deleted is left alone", func(t *testing.T) {
		t.Parallel()
		s := grown(t, 3)
		s.change(func(c *v1beta1.CloneSet) { c.DeletionTimestamp = ptr(metav1.NewTime(start)) })
		for _, a := range s.plan().Actions() {
			if a.Subresource != plan.StatusSubresource {
				t.Errorf("action %s %s", a.Verb, a.On.Name)
			}
		}
	})
}

func TestGatesAreAnswered(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]option{
		"PF-IP-9 paused":   paused,
		"PF-IP-9 ReCreate": policy(v1beta1.ReCreatePodUpdatePolicy),
		"PF-IP-9 OnDelete": func(c *v1beta1.CloneSet) { c.Spec.UpdateStrategy.Type = v1beta1.OnDeleteCloneSetUpdateStrategyType },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, 1, o)
			s.pass()
			s.tick(scheduleTime)
			s.quiet()
			for _, gate := range []corev1.PodConditionType{keys.InPlaceUpdateReady, keys.KruisePodReady} {
				if c := condition(s.w.Pods[0].Pod, gate); c == nil || c.Status != corev1.ConditionTrue {
					t.Errorf("%s is %v", gate, c)
				}
			}
			s.settle()
		})
	}
}
