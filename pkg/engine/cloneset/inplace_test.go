package cloneset

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/features"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/inplace"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
)

func deadlineOf(seconds int32) option {
	return func(c *v1beta1.CloneSet) { c.Spec.ProgressDeadlineSeconds = &seconds }
}

// cpu asks for a number of processors.
func cpu(n string) option {
	return func(c *v1beta1.CloneSet) {
		c.Spec.Template.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(n)}
	}
}

// barrier gives every container a launch priority, the first one the highest.
func barriers(c *v1beta1.CloneSet) {
	for i := range c.Spec.Template.Spec.Containers {
		x := &c.Spec.Template.Spec.Containers[i]
		x.Env = []corev1.EnvVar{{Name: keys.BarrierEnv, ValueFrom: &corev1.EnvVarSource{
			ConfigMapKeyRef: &corev1.ConfigMapKeySelector{Key: "p_" + string(rune('9'-i))}}}}
	}
}

// sidecar adds a second container.
func sidecar(image string) option {
	return func(c *v1beta1.CloneSet) {
		c.Spec.Template.Spec.Containers = append(c.Spec.Template.Spec.Containers[:1:1], corev1.Container{Name: "side", Image: image})
	}
}

// The rows of inplace.md that need a whole set.
func TestInPlaceOfASet(t *testing.T) {
	t.Parallel()
	t.Run("inplace/13", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, 1, policy(inPlace), maxUnavailable("1"))
		s.w.Gates, s.w.Resize = s.w.Gates.With(features.InPlaceWorkloadVerticalScaling, true), inplace.ResizeSubresource
		s.settle()
		uid := s.w.Pods[0].UID
		s.change(func(c *v1beta1.CloneSet) {
			list := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourceMemory: resource.MustParse("1Gi")}
			c.Spec.Template.Spec.Containers[0].Resources = corev1.ResourceRequirements{Requests: list, Limits: list}
		})
		s.settle()
		if len(s.w.Pods) != 1 || s.w.Pods[0].UID == uid {
			t.Errorf("%d pods, the first with the UID %s, before %s", len(s.w.Pods), s.w.Pods[0].UID, uid)
		}
	})
	t.Run("inplace/32", func(t *testing.T) {
		t.Parallel()
		s := grown(t, 1, policy(inPlace), maxUnavailable("1"))
		s.pass()
		s.ready()
		s.edit(func(p *corev1.Pod) { p.ResourceVersion = "10" })
		actions := s.plan().Actions()
		i := slices.IndexFunc(actions, func(a plan.Action) bool { return a.On.Kind == plan.PodKind })
		if i < 0 {
			t.Fatalf("nothing is done to the pod: %+v", actions)
		}
		a := actions[i]
		if a.ResourceVersion != "10" || a.Subresource != plan.StatusSubresource || a.Failed != nil {
			t.Errorf("written to %q at version %q, with the event %v; want the status, the version that was judged and no event", a.Subresource, a.ResourceVersion, a.Failed)
		}
		change := a.Change.(*plan.PodChange)
		if len(change.Conditions) != 1 || change.Conditions[0].Type != keys.InPlaceUpdateReady || change.Conditions[0].Status != corev1.ConditionTrue {
			t.Errorf("conditions %+v", change.Conditions)
		}
		// The conflict: nothing was written and no failure is told. The pod, which has moved on, is judged anew.
		s.edit(func(p *corev1.Pod) { p.ResourceVersion = "11" })
		p := s.pass()
		if got := s.w.Set.Status.Conditions; len(got) != 0 {
			t.Errorf("conditions of the set %+v", got)
		}
		if a := p.Stages[0].Actions[0]; a.ResourceVersion != "11" {
			t.Errorf("the next try is at version %q", a.ResourceVersion)
		}
		s.settle()
	})
	t.Run("inplace/39", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, 2, policy(inPlace), sidecar("side1"), barriers, maxUnavailable("1"), deadlineOf(600))
		s.settle()
		s.change(image("v2"), func(c *v1beta1.CloneSet) { c.Spec.Template.Spec.Containers[1].Image = "side2" })
		s.expect("the first batch", did(s.pass()), "in-place 1")
		s.edit(func(p *corev1.Pod) {
			if p.Spec.Containers[0].Image == "v2" {
				c := &p.Status.ContainerStatuses[0]
				c.Image, c.ImageID, c.ContainerID, c.Ready = "v2", "sha256:v2", "fake://v2", false
				c.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
				setReady(p, corev1.ConditionFalse, s.w.Now)
			}
		})
		s.expect("while it crashes", did(s.quiet()), "")
		s.expectReason("CloneSetUpdated")
		for _, p := range s.w.Pods {
			if p.Spec.Containers[1].Image != "side1" {
				t.Errorf("pod %s: the second container was changed", p.Name)
			}
			if text := p.Annotations[keys.InPlaceUpdateStateAnnotation]; text != "" && strings.Count(text, `"timestamp"`) != 1 {
				t.Errorf("state %s, want one batch", text)
			}
		}
	})
	t.Run("inplace/43", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, 2, policy(inPlace), cpu("1"), maxUnavailable("1"))
		s.w.Gates, s.w.Resize = s.w.Gates.With(features.InPlaceWorkloadVerticalScaling, true), inplace.ResizeSubresource
		s.settle()
		s.edit(func(p *corev1.Pod) {
			p.Status.ContainerStatuses[0].Resources = p.Spec.Containers[0].Resources.DeepCopy()
		})
		s.change(cpu("2"))
		s.expect("one at a time", did(s.pass()), "in-place 1")
		p := s.quiet()
		s.expect("until it has its processors", did(p), "")
		if got := p.Status; got.ReadyReplicas != 2 || got.AvailableReplicas != 1 || got.UpdatedReplicas != 1 || got.UpdatedAvailableReplicas != 0 {
			t.Errorf("status %+v", got)
		}
		for _, x := range s.w.Pods {
			if c := condition(x.Pod, keys.InPlaceUpdateReady); c.Status != corev1.ConditionTrue {
				t.Errorf("pod %s is %+v", x.Name, c)
			}
		}
		s.edit(func(p *corev1.Pod) {
			p.Status.ContainerStatuses[0].Resources = p.Spec.Containers[0].Resources.DeepCopy()
		})
		s.expect("then the next", did(s.quietUntil("in-place 1")), "in-place 1")
	})
	for way, replaced := range map[v1beta1.PodUpdatePolicy]bool{inPlace: true, v1beta1.InPlaceOnlyPodUpdatePolicy: false} {
		t.Run("inplace/48 "+string(way), func(t *testing.T) {
			t.Parallel()
			s := newStage(t, 2, policy(way), cpu("1"), maxUnavailable("1"))
			s.w.Gates, s.w.Resize = s.w.Gates.With(features.InPlaceWorkloadVerticalScaling, true), inplace.ResizeSubresource
			s.settle()
			s.change(cpu("2"), image("v2"))
			// The server refuses after the pod was taken out of service.
			stages := s.plan().Stages
			i := slices.IndexFunc(stages, func(x plan.Stage) bool { return x.Name == StageUpdate })
			if i < 0 {
				t.Fatal("nothing is updated")
			}
			chain := stages[i].Actions[0]
			if chain.Subresource != plan.StatusSubresource || chain.Then.Subresource != plan.ResizeSubresource || chain.Then.Then == nil {
				t.Fatalf("%s, then %s", chain.Subresource, chain.Then.Subresource)
			}
			s.patch(chain)
			s.w.Refused = map[types.UID]string{chain.On.UID: "exceeded quota: cpu"}
			s.pass()
			if c := condition(s.pod(chain.On.Name), keys.InPlaceUpdateReady); c.Status != corev1.ConditionTrue {
				t.Errorf("the pod stays out of service: %+v", c)
			}
			s.ready()
			if replaced {
				s.expect("then", did(s.pass()), "recreate 1")
				s.expect("and", did(s.pass()), "delete 1")
				return
			}
			before := s.pod(chain.On.Name)
			p := s.quiet()
			if p.Done || p.Stopped == "" || !strings.Contains(fmt.Sprint(p.Waits), "exceeded quota: cpu") {
				t.Errorf("done %v, stopped %q, waits %+v", p.Done, p.Stopped, p.Waits)
			}
			if c := p.Status.Conditions; len(c) != 1 || c[0].Type != v1beta1.CloneSetConditionFailedUpdate || !strings.Contains(c[0].Message, "exceeded quota: cpu") {
				t.Errorf("conditions %+v", c)
			}
			if diff := cmp.Diff(before, s.pod(chain.On.Name)); diff != "" {
				t.Errorf("the pod changed:\n%s", diff)
			}
		})
	}
	t.Run("inplace/52", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, 1, policy(inPlace), func(c *v1beta1.CloneSet) {
			c.Spec.Template.Labels["mode"] = "one"
			c.Spec.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "MODE", ValueFrom: &corev1.EnvVarSource{
				FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.labels['mode']"}}}}
		})
		s.settle()
		s.change(image("v2"), func(c *v1beta1.CloneSet) {
			c.Spec.Template.Labels = map[string]string{"app": "web", "mode": "two"}
		})
		var changes []*plan.PodChange
		for _, a := range s.pass().Actions() {
			if c, ok := a.Change.(*plan.PodChange); ok && a.Subresource == "" {
				changes = append(changes, c)
			}
		}
		// One write changes both, so the kubelet restarts the container once, with the new image and the new value.
		if len(changes) != 1 || changes[0].Images["main"] != "v2" || *changes[0].Meta.Labels["mode"] != "two" {
			t.Errorf("%d writes: %+v", len(changes), changes)
		}
		if text := s.w.Pods[0].Annotations[keys.InPlaceUpdateStateAnnotation]; strings.Count(text, `"timestamp"`) != 1 || !strings.Contains(text, `"updateEnvFromMetadata":true`) {
			t.Errorf("state %s", text)
		}
	})
	for name, o := range map[string]option{
		"inplace/60 paused": paused,
		"inplace/60 OnDelete": func(c *v1beta1.CloneSet) {
			c.Spec.UpdateStrategy = v1beta1.CloneSetUpdateStrategy{Type: v1beta1.OnDeleteCloneSetUpdateStrategyType}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := grown(t, 2, policy(inPlace), maxUnavailable("1"))
			s.expect("begun", did(s.pass()), "in-place 1")
			s.change(o)
			s.settleReady()
			s.expectCounts(1, 1)
			for _, p := range s.w.Pods {
				if c := condition(p.Pod, keys.InPlaceUpdateReady); c.Status != corev1.ConditionTrue {
					t.Errorf("pod %s: condition %+v", p.Name, c)
				}
			}
			s.expectStates(keys.StateNormal, keys.StateNormal)
		})
	}
}

// The counters in the middle of an update (cloneset.md 4): a pod counts as updated from its label on, whether it serves or
// not.
func TestCountersInTheMiddle(t *testing.T) {
	t.Parallel()
	type counters struct{ replicas, ready, available, updated, updatedReady, updatedAvailable int32 }
	s := grown(t, 3, policy(inPlace), maxUnavailable("2"))
	s.tick(time.Minute)
	s.change(func(c *v1beta1.CloneSet) { c.Spec.MinReadySeconds = 10 })
	expect := func(when string, want counters) {
		t.Helper()
		p := s.quiet()
		st := p.Status
		got := counters{st.Replicas, st.ReadyReplicas, st.AvailableReplicas, st.UpdatedReplicas, st.UpdatedReadyReplicas, st.UpdatedAvailableReplicas}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(counters{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
		if st.CurrentRevision == st.UpdateRevision {
			t.Errorf("%s: the current revision is the update revision already", when)
		}
	}
	expect("two are updated and do not serve", counters{3, 1, 1, 2, 0, 0})
	s.ready(s.updated()[0])
	s.quiet()
	s.ready(s.updated()[0])
	expect("one of them is ready", counters{3, 2, 1, 2, 1, 0})
	s.tick(11 * time.Second)
	p := s.pass()
	if p.Status.UpdatedAvailableReplicas != 1 || p.Status.UpdatedReplicas != 2 {
		t.Errorf("one of them is available: %+v", p.Status)
	}
}

// Something begun on an old pod keeps the goal from holding, though all updated pods serve and none is left to move.
func TestNotDoneWhileAnOldPodIsBegun(t *testing.T) {
	t.Parallel()
	s := newStage(t, 3, policy(inPlace), partition("2"), maxUnavailable("1"), func(c *v1beta1.CloneSet) {
		c.Spec.Lifecycle = &v1beta1.Lifecycle{PreNormal: &v1beta1.LifecycleHook{FinalizersHandler: []string{hookFinalizer}}}
		c.Spec.Template.Finalizers = []string{hookFinalizer}
	})
	s.settle()
	s.change(image("v2"))
	s.settle()
	s.expectCounts(2, 1)
	// One of the old pods was replaced, and the new one waits for its hook.
	for i, v := range s.plan().Verdicts {
		if !v.Updated {
			s.w.Pods = slices.Delete(slices.Clone(s.w.Pods), i, i+1)
			break
		}
	}
	s.pass()
	s.edit(func(p *corev1.Pod) {
		if p.Labels[keys.LifecycleStateLabel] == keys.StatePreparingNormal {
			p.Finalizers = nil
		}
	})
	s.settleReady()
	s.expectCounts(2, 1)
	s.expectStates(keys.StateNormal, keys.StateNormal, keys.StatePreparingNormal)
	if p := s.quiet(); p.Done {
		t.Error("done, though a pod waits for its hook")
	}
	s.edit(func(p *corev1.Pod) { p.Finalizers = []string{hookFinalizer} })
	s.settle()
}

// What a hook is asked rests on the pod as it was judged: a pod that was unavailable then costs nothing, one that has become
// available since would.
func TestAskingAHookIsBoundToWhatWasJudged(t *testing.T) {
	t.Parallel()
	for _, notReady := range []bool{false, true} {
		s := newStage(t, 2, policy(inPlace), inPlaceHook, maxUnavailable("1"), func(c *v1beta1.CloneSet) { c.Spec.Lifecycle.InPlaceUpdate.MarkPodNotReady = notReady })
		s.settle()
		s.broken(0)
		s.edit(func(p *corev1.Pod) { p.ResourceVersion = "judged-" + p.Name })
		s.change(image("v2"))
		asked := 0
		for _, a := range s.plan().Actions() {
			if a.On.Kind != plan.PodKind {
				continue
			}
			asked++
			if want := "judged-" + a.On.Name; a.ResourceVersion != want {
				t.Errorf("markPodNotReady %v: %s %s at version %q, want %q", notReady, a.Verb, a.Subresource, a.ResourceVersion, want)
			}
		}
		if want := map[bool]int{false: 1, true: 2}[notReady]; asked != want {
			t.Errorf("markPodNotReady %v: %d writes, want %d", notReady, asked, want)
		}
	}
}
