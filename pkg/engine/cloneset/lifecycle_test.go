package cloneset

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/features"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
)

const (
	hookLabel     = "example.com/hold"
	hookFinalizer = "example.com/gate"
)

// holding makes a hook of the label that every pod of the template has.
func holding(c *v1beta1.CloneSet) *v1beta1.LifecycleHook {
	c.Spec.Template.Labels[hookLabel] = "true"
	if c.Spec.Lifecycle == nil {
		c.Spec.Lifecycle = &v1beta1.Lifecycle{}
	}
	return &v1beta1.LifecycleHook{LabelsHandler: map[string]string{hookLabel: "true"}}
}

func preDelete(c *v1beta1.CloneSet) { hook := holding(c); c.Spec.Lifecycle.PreDelete = hook }

func preDeleteNotReady(c *v1beta1.CloneSet) {
	preDelete(c)
	c.Spec.Lifecycle.PreDelete.MarkPodNotReady = true
}

func inPlaceHook(c *v1beta1.CloneSet) { hook := holding(c); c.Spec.Lifecycle.InPlaceUpdate = hook }

func finalizerHook(c *v1beta1.CloneSet) {
	c.Spec.Template.Finalizers = []string{hookFinalizer}
	c.Spec.Lifecycle = &v1beta1.Lifecycle{InPlaceUpdate: &v1beta1.LifecycleHook{FinalizersHandler: []string{hookFinalizer}}}
}

func (s *stage) pod(name string) *corev1.Pod {
	s.t.Helper()
	i := slices.IndexFunc(s.w.Pods, func(p Pod) bool { return p.Name == name })
	if i < 0 {
		s.t.Fatalf("pod %s is gone", name)
	}
	return s.w.Pods[i].Pod
}

// unlabel removes a label from one pod, or from all without a name.
func (s *stage) unlabel(key string, names ...string) {
	s.edit(func(p *corev1.Pod) {
		if len(names) == 0 || slices.Contains(names, p.Name) {
			delete(p.Labels, key)
		}
	})
}

func (s *stage) podNames() []string {
	var names []string
	for _, p := range s.w.Pods {
		names = append(names, p.Name)
	}
	return names
}

// expectAmong says how many of the pods have one of the names.
func (s *stage) expectAmong(names []string, want int) {
	s.t.Helper()
	got := 0
	for _, name := range s.podNames() {
		if slices.Contains(names, name) {
			got++
		}
	}
	if got != want {
		s.t.Errorf("%d of the pods %v are among %v, want %d", got, s.podNames(), names, want)
	}
}

// expectReason is about the only condition that is expected, Progressing.
func (s *stage) expectReason(want string) {
	s.t.Helper()
	if c := s.w.Set.Status.Conditions; len(c) != 1 || c[0].Reason != want {
		s.t.Errorf("conditions %+v, want the reason %s", c, want)
	}
}

func (s *stage) expectStates(want ...string) {
	s.t.Helper()
	var got []string
	for _, p := range s.w.Pods {
		got = append(got, p.Labels[keys.LifecycleStateLabel])
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		s.t.Errorf("lifecycle states (-want +got):\n%s", diff)
	}
}

func TestPreDelete(t *testing.T) {
	t.Parallel()
	t.Run("cloneset/15", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, 3, preDelete, func(c *v1beta1.CloneSet) { c.Spec.ProgressDeadlineSeconds = ptr(int32(600)) })
		s.settle()
		s.specify(0)
		name := s.w.Pods[0].Name
		s.pass()
		s.expectStates(keys.StatePreparingDelete, keys.StateNormal, keys.StateNormal)
		p := s.quiet()
		if len(s.w.Pods) != 3 || p.Status.Conditions[0].Reason != "CloneSetUpdated" || p.Done {
			t.Errorf("%d pods, done %v, conditions %+v", len(s.w.Pods), p.Done, p.Status.Conditions)
		}
		kept := []string{s.w.Pods[1].Name, s.w.Pods[2].Name}
		s.unlabel(hookLabel, name)
		s.expect("the hook lets go", did(s.pass()), "delete 1")
		s.expect("then", did(s.pass()), "create 1")
		s.settle()
		s.expectAmong(kept, 2)
	})
	t.Run("cloneset/16", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, 3, preDelete, func(c *v1beta1.CloneSet) { c.Spec.ScaleStrategy.ExcludePreparingDelete = true })
		s.settle()
		name, original := s.w.Pods[1].Name, s.podNames()
		s.change(replicas(2), func(c *v1beta1.CloneSet) { c.Spec.ScaleStrategy.PodsToDelete = []string{name} })
		s.quiet()
		s.change(replicas(3))
		s.settleReady()
		if p := s.quiet(); p.Status.Replicas != 4 {
			t.Errorf("status.replicas %d, want 4: a new pod at once", p.Status.Replicas)
		}
		s.unlabel(hookLabel, name)
		s.settleReady()
		if p := s.quiet(); p.Status.Replicas != 3 || !p.Done {
			t.Errorf("status.replicas %d, done %v", p.Status.Replicas, p.Done)
		}
		s.expectAmong(original, 2)
	})
	t.Run("cloneset/17", func(t *testing.T) {
		t.Parallel()
		for _, o := range []option{preDelete, preDeleteNotReady} {
			s := newStage(t, 3, o)
			s.settle()
			s.change(replicas(2))
			s.quiet()
			s.expectStates(keys.StatePreparingDelete, keys.StateNormal, keys.StateNormal)
			s.change(replicas(3))
			p := s.pass()
			if s.w.Set.Spec.Lifecycle.PreDelete.MarkPodNotReady {
				s.expectStates(keys.StatePreparingDelete, keys.StateNormal, keys.StateNormal)
			} else {
				s.expect("no creation", did(p), "")
				s.expectStates(keys.StatePreparingNormal, keys.StateNormal, keys.StateNormal)
				s.settle()
			}
		}
	})
	t.Run("cloneset/18", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, 3, preDelete, func(c *v1beta1.CloneSet) {
			c.Spec.ScaleStrategy.ExcludePreparingDelete, c.Spec.ScaleStrategy.MaxUnavailable = true, number(1)
		})
		s.settle()
		s.specify(2)
		name := s.w.Pods[2].Name
		s.pass()
		s.unlabel(hookLabel, name)
		s.expect("it does not block itself", did(s.pass()), "delete 1")
		s.settle()
	})
	t.Run("inplace/53", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, 2, preDeleteNotReady)
		s.settle()
		s.specify(0)
		s.pass()
		c := condition(s.w.Pods[0].Pod, keys.KruisePodReady)
		if c == nil || c.Status != corev1.ConditionFalse || c.Message != `[{"userAgent":"Lifecycle","key":"preDeleteHook"}]` {
			t.Errorf("condition %+v", c)
		}
	})
}

func TestPreNormal(t *testing.T) {
	t.Parallel()
	t.Run("cloneset/7", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, 1, func(c *v1beta1.CloneSet) {
			c.Spec.Lifecycle = &v1beta1.Lifecycle{PreNormal: &v1beta1.LifecycleHook{FinalizersHandler: []string{hookFinalizer}}}
			c.Spec.ProgressDeadlineSeconds = ptr(int32(11))
		})
		s.settleReady()
		s.tick(12 * time.Second)
		p := s.quiet()
		s.expectStates(keys.StatePreparingNormal)
		if p.Status.ReadyReplicas != 1 || p.Status.AvailableReplicas != 0 || p.Done || p.Status.Conditions[0].Reason != "ProgressDeadlineExceeded" {
			t.Errorf("done %v, status %+v", p.Done, p.Status)
		}
		s.edit(func(p *corev1.Pod) { p.Finalizers = []string{hookFinalizer} })
		if p := s.settle(); p.Status.AvailableReplicas != 1 {
			t.Errorf("status %+v", p.Status)
		}
		s.expectStates(keys.StateNormal)
		s.edit(func(p *corev1.Pod) { p.Finalizers = nil })
		s.quiet()
		s.expectStates(keys.StateNormal)
	})
}

func TestInPlaceHook(t *testing.T) {
	t.Parallel()
	t.Run("cloneset/37 cloneset/38", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, 2, policy(inPlace), partition("99%"), inPlaceHook, func(c *v1beta1.CloneSet) { c.Spec.ProgressDeadlineSeconds = ptr(int32(8)) })
		s.w.Gates = s.w.Gates.With(features.PreparingUpdateAsUpdate, true)
		s.settle()
		s.change(image("v2"))
		s.quiet()
		s.expectStates(keys.StatePreparingUpdate, keys.StateNormal)
		s.tick(10 * time.Second)
		s.quiet()
		s.expectReason("ProgressDeadlineExceeded")
		s.w.Pods = slices.DeleteFunc(slices.Clone(s.w.Pods), func(p Pod) bool { return p.Labels[keys.LifecycleStateLabel] == keys.StateNormal })
		s.settleReady()
		s.expectCounts(2, 0)
		s.expectReason("ProgressDeadlineExceeded")
		s.change(replicas(3))
		s.settleReady()
		s.expectCounts(3, 0)
		s.expectStates(keys.StatePreparingUpdate, keys.StateNormal, keys.StateNormal)
		s.expectReason("ProgressDeadlineExceeded")

		for _, p := range s.w.Pods {
			if p.Labels[keys.LifecycleStateLabel] == keys.StatePreparingUpdate {
				s.edit(func(x *corev1.Pod) {
					if x.Name == p.Name {
						x.Labels[hookLabel] = "let go"
					}
				})
			}
		}
		s.settleReady()
		s.expectCounts(2, 1)
		s.expectStates(keys.StateUpdated, keys.StateNormal, keys.StateNormal)
		s.change(partition("0"), maxUnavailable("100%"))
		s.quiet()
		s.expectCounts(2, 1)
		s.expectStates(keys.StateUpdated, keys.StatePreparingUpdate, keys.StatePreparingUpdate)
		s.expectReason("ProgressDeadlineExceeded")
		s.unlabel(hookLabel)
		s.settleReady()
		s.expectCounts(0, 3)
		s.expectReason("ProgressDeadlineExceeded")
	})
	t.Run("a pod that prepares and keeps missing ones from being made is updated all the same", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, 3, policy(inPlace), inPlaceHook, maxUnavailable("1"))
		s.settle()
		s.change(image("v2"))
		s.quiet()
		s.expectStates(keys.StatePreparingUpdate, keys.StateNormal, keys.StateNormal)
		s.change(replicas(4), func(c *v1beta1.CloneSet) { c.Spec.ScaleStrategy.MaxUnavailable = number(1) })
		s.expect("while the hook holds it", did(s.quiet()), "")
		s.unlabel(hookLabel)
		s.expect("the pod that prepares", did(s.pass()), "in-place 1")
		s.expectStates(keys.StateUpdating, keys.StateNormal, keys.StateNormal)
	})
	t.Run("cloneset/39", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, 1, policy(inPlace), finalizerHook)
		s.settle()
		s.change(image("v2"))
		s.quiet()
		s.expectStates(keys.StatePreparingUpdate)
		if got := s.w.Pods[0].Spec.Containers[0].Image; got != "v1" {
			t.Errorf("image %s before the hook lets go", got)
		}
		s.edit(func(p *corev1.Pod) { p.Finalizers = nil })
		s.expect("then", did(s.pass()), "in-place 1")
		s.expectStates(keys.StateUpdating)
		s.settleReady()
		s.expectStates(keys.StateUpdated)
		s.edit(func(p *corev1.Pod) { p.Finalizers = []string{hookFinalizer} })
		s.settle()
		s.expectStates(keys.StateNormal)
	})
	t.Run("cloneset/40 PF-IP-5", func(t *testing.T) {
		t.Parallel()
		for _, complete := range []bool{true, false} {
			s := newStage(t, 1, policy(inPlace), inPlaceHook)
			s.settle()
			s.change(image("v2"))
			s.quiet()
			s.expectStates(keys.StatePreparingUpdate)
			if !complete {
				s.edit(func(p *corev1.Pod) { p.Labels[hookLabel] = "let go" })
			}
			s.change(image("v1"))
			s.quiet()
			if complete {
				s.expectStates(keys.StateNormal)
			} else {
				s.expectStates(keys.StateUpdated)
				s.edit(func(p *corev1.Pod) { p.Labels[hookLabel] = "true" })
				s.settle()
				s.expectStates(keys.StateNormal)
			}
			if got := s.w.Pods[0].Annotations[keys.InPlaceUpdateStateAnnotation]; got != "" {
				t.Errorf("the pod was updated: %s", got)
			}
		}
	})
	t.Run("an updated pod gets its marks back before the next update", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, 1, policy(inPlace), finalizerHook)
		s.settle()
		s.change(image("v2"))
		s.quiet()
		s.edit(func(p *corev1.Pod) { p.Finalizers = nil })
		s.settleReady()
		s.expectStates(keys.StateUpdated)
		s.change(image("v3"))
		s.quiet()
		s.expectStates(keys.StatePreparingUpdate)
		if !slices.Contains(s.w.Pods[0].Finalizers, hookFinalizer) {
			t.Errorf("finalizers %v", s.w.Pods[0].Finalizers)
		}
	})
	t.Run("markPodNotReady ends with the update", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, 1, policy(inPlace), inPlaceHook, func(c *v1beta1.CloneSet) { c.Spec.Lifecycle.InPlaceUpdate.MarkPodNotReady = true })
		s.settle()
		s.change(image("v2"))
		s.quiet()
		if c := condition(s.w.Pods[0].Pod, keys.KruisePodReady); c.Status != corev1.ConditionFalse {
			t.Errorf("while preparing: %+v", c)
		}
		s.change(image("v1"))
		s.quiet()
		if c := condition(s.w.Pods[0].Pod, keys.KruisePodReady); c.Status != corev1.ConditionTrue {
			t.Errorf("after the way back: %+v", c)
		}
	})
}

func TestGracePeriod(t *testing.T) {
	t.Parallel()
	t.Run("inplace/16 inplace/17 inplace/18 inplace/20", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, 1, policy(inPlace), func(c *v1beta1.CloneSet) {
			rolling(c).InPlaceUpdateStrategy = &v1beta1.InPlaceUpdateStrategy{GracePeriodSeconds: 30}
		})
		s.settle()
		s.change(image("v2"))
		s.expect("start", did(s.pass()), "in-place 1")
		if got := s.w.Pods[0].Spec.Containers[0].Image; got != "v1" {
			t.Errorf("image %s within the grace period", got)
		}
		p := s.quiet()
		s.expect("not chosen again", did(p), "")
		if want := start.Add(30e9); !p.Wake.Equal(want) {
			t.Errorf("wake %v, want %v", p.Wake, want)
		}
		s.change(image("v3"))
		s.expect("not for another update either", did(s.quiet()), "")
		s.tick(29e9)
		s.expect("a second too early", did(s.quiet()), "")
		s.tick(1e9)
		s.pass()
		if got := s.w.Pods[0].Spec.Containers[0].Image; got != "v2" {
			t.Errorf("image %s after the grace period", got)
		}
		for range 40 {
			s.ready()
			s.quiet()
			s.tick(30e9)
		}
		if got := s.w.Pods[0].Spec.Containers[0].Image; got != "v3" || !s.quiet().Done {
			t.Errorf("image %s at the end", got)
		}
	})
}

func TestUpdateOrder(t *testing.T) {
	t.Parallel()
	t.Run("S-CS-10 priority", func(t *testing.T) {
		t.Parallel()
		s := grown(t, 3, policy(inPlace), maxUnavailable("1"), func(c *v1beta1.CloneSet) {
			rolling(c).PriorityStrategy = &v1beta1.UpdatePriorityStrategy{OrderPriority: []v1beta1.UpdatePriorityOrderTerm{{OrderedKey: "rank"}}}
		})
		for i, rank := range []string{"a-1", "a-3", "a-2"} {
			name := s.w.Pods[i].Name
			s.edit(func(p *corev1.Pod) {
				if p.Name == name {
					p.Labels["rank"] = rank
				}
			})
		}
		var order []string
		for range 40 {
			p := s.pass()
			for _, v := range p.Verdicts {
				if v.Fate == plan.UpdateInPlace {
					order = append(order, s.pod(v.Name).Labels["rank"])
				}
			}
			s.ready()
		}
		if got := strings.Join(order, " "); got != "a-3 a-2 a-1" {
			t.Errorf("updated in the order %s", got)
		}
	})
}

func TestUnreadableState(t *testing.T) {
	t.Parallel()
	s := newStage(t, 2, policy(inPlace), maxUnavailable("1"))
	s.settle()
	s.change(image("v2"))
	s.pass()
	s.edit(func(p *corev1.Pod) { p.Annotations[keys.InPlaceUpdateStateAnnotation] = "{broken" })
	p := s.pass()
	if len(p.Status.Conditions) != 1 || p.Status.Conditions[0].Type != "FailedUpdate" {
		t.Errorf("the pod that serves is not reported: %+v", p.Status.Conditions)
	}
	if slices.ContainsFunc(p.Waits, func(w plan.Wait) bool { return w.Reason == plan.ReasonNotEligible }) {
		t.Errorf("it is reported as a change that the strategy forbids: %+v", p.Waits)
	}
	s.ready()
	s.quiet()
	for _, x := range s.w.Pods {
		if broken := x.Annotations[keys.InPlaceUpdateStateAnnotation] == "{broken"; broken != (x.Spec.Containers[0].Image == "v1") {
			t.Errorf("pod %s with image %s has the state %s", x.Name, x.Spec.Containers[0].Image, x.Annotations[keys.InPlaceUpdateStateAnnotation])
		}
	}
}

// A mistyped number of replicas is worked off in portions.
func TestPodsAtOnce(t *testing.T) {
	t.Parallel()
	if got := did(newStage(t, 2_000_000_000).plan()); got != "create 10000" {
		t.Errorf("it does %s", got)
	}
}

// cloneset.md 8 rule 4.
func TestUnknownLifecycleState(t *testing.T) {
	t.Parallel()
	s := grown(t, 1, policy(inPlace))
	s.edit(func(p *corev1.Pod) { p.Labels[keys.LifecycleStateLabel] = "Hibernating" })
	before := s.w.Pods
	p := s.quiet()
	if diff := cmp.Diff(before, s.w.Pods); diff != "" {
		t.Errorf("the pod changed:\n%s", diff)
	}
	if c := p.Status.Conditions; len(c) != 1 || c[0].Type != "FailedUpdate" || !strings.Contains(c[0].Message, "Hibernating") {
		t.Errorf("conditions %+v", c)
	}
}
