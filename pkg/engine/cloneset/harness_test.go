package cloneset

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/features"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/revision"
)

// stage is a CloneSet and its pods, on which plans are carried out at once and without faults.
type stage struct {
	t     *testing.T
	w     World
	seen  []plan.Event
	count int
}

var start = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)

func ptr[T any](v T) *T { return &v }

func number(n int) *intstr.IntOrString { return ptr(intstr.FromInt32(int32(n))) }

func text(s string) *intstr.IntOrString { return ptr(intstr.FromString(s)) }

// value reads a number or a percentage.
func value(s string) *intstr.IntOrString { return ptr(intstr.Parse(s)) }

type option func(*v1beta1.CloneSet)

func policy(p v1beta1.PodUpdatePolicy) option {
	return func(s *v1beta1.CloneSet) { rolling(s).PodUpdatePolicy = p }
}

func rolling(s *v1beta1.CloneSet) *v1beta1.RollingUpdateCloneSetStrategy {
	return s.Spec.UpdateStrategy.RollingUpdate
}

func partition(v string) option {
	return func(s *v1beta1.CloneSet) { rolling(s).Partition = value(v) }
}

func maxUnavailable(v string) option {
	return func(s *v1beta1.CloneSet) { rolling(s).MaxUnavailable = value(v) }
}

func maxSurge(v string) option {
	return func(s *v1beta1.CloneSet) { rolling(s).MaxSurge = value(v) }
}

func paused(s *v1beta1.CloneSet) { rolling(s).Paused = true }

func image(name string) option {
	return func(s *v1beta1.CloneSet) { s.Spec.Template.Spec.Containers[0].Image = name }
}

func replicas(n int) option {
	return func(s *v1beta1.CloneSet) { s.Spec.Replicas = ptr(int32(n)) }
}

// newStage is a set of n replicas with the image v1 and no pods.
func newStage(t *testing.T, n int, options ...option) *stage {
	t.Helper()
	set := &v1beta1.CloneSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "set-uid", Generation: 1, ResourceVersion: "1"},
		Spec: v1beta1.CloneSetSpec{
			Replicas: ptr(int32(n)),
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "v1"}}}},
			UpdateStrategy: v1beta1.CloneSetUpdateStrategy{RollingUpdate: &v1beta1.RollingUpdateCloneSetStrategy{}},
		},
	}
	s := &stage{t: t, w: World{Now: start, Gates: features.Defaults(), Set: set, OwnerAPIVersion: "apps.kruise.io/v1alpha1"}}
	s.change(options...)
	return s
}

// change edits the spec like a user.
func (s *stage) change(options ...option) {
	set := s.w.Set.DeepCopy()
	for _, o := range options {
		o(set)
	}
	set.Generation++
	s.w.Set = set
}

// plan is the plan of the present world; asking twice gives the same, with facts from before or without.
func (s *stage) plan() *Plan {
	s.t.Helper()
	p, err := Decide(s.w)
	if err != nil {
		s.t.Fatalf("Decide: %v", err)
	}
	return p
}

// pass plans and carries out everything.
func (s *stage) pass() *Plan {
	s.t.Helper()
	p := s.plan()
	s.w.Names++
	for _, a := range p.Actions() {
		s.apply(a)
	}
	return p
}

// settle makes passes, with all pods turning ready in between, until the plan is done.
func (s *stage) settle() *Plan {
	s.t.Helper()
	for range 200 {
		if p := s.pass(); p.Done {
			return p
		}
		s.ready()
	}
	s.t.Fatal("the set does not settle")
	return nil
}

// quiet makes passes without any pod changing until nothing is written any more.
func (s *stage) quiet() *Plan {
	s.t.Helper()
	for range 50 {
		if p := s.pass(); p.Empty() {
			return p
		}
	}
	s.t.Fatal("the planner does not come to rest")
	return nil
}

func (s *stage) apply(a plan.Action) {
	s.t.Helper()
	if a.Done != nil {
		s.seen = append(s.seen, *a.Done)
	}
	switch a.Verb {
	case plan.Record:
		s.seen = append(s.seen, *a.Event)
	case plan.Create:
		s.create(a.Object)
	case plan.Delete:
		s.delete(a.On)
	case plan.Patch:
		s.patch(a)
	}
}

func (s *stage) create(obj plan.Object) {
	s.count++
	uid := types.UID(fmt.Sprintf("uid-%d", s.count))
	switch o := obj.DeepCopyObject().(type) {
	case *corev1.Pod:
		o.UID, o.ResourceVersion, o.CreationTimestamp, o.Status.Phase = uid, "1", metav1.NewTime(s.w.Now), corev1.PodPending
		s.w.Pods = append(slices.Clone(s.w.Pods), Pod{Pod: o})
	case *corev1.PersistentVolumeClaim:
		if slices.ContainsFunc(s.w.Claims, func(c *corev1.PersistentVolumeClaim) bool { return c.Name == o.Name }) {
			s.t.Fatalf("claim %s is there already", o.Name)
		}
		o.UID = uid
		s.w.Claims = append(slices.Clone(s.w.Claims), o)
	case *appsv1.ControllerRevision:
		o.UID, o.CreationTimestamp = uid, metav1.NewTime(s.w.Now)
		s.w.Revisions = append(slices.Clone(s.w.Revisions), Revision{ControllerRevision: o})
	}
}

func (s *stage) delete(on plan.Ref) {
	s.w.Pods = slices.DeleteFunc(slices.Clone(s.w.Pods), func(p Pod) bool { return p.UID == on.UID })
	s.w.Revisions = slices.DeleteFunc(slices.Clone(s.w.Revisions), func(r Revision) bool { return r.UID == on.UID })
	s.w.Claims = slices.DeleteFunc(slices.Clone(s.w.Claims), func(c *corev1.PersistentVolumeClaim) bool { return c.UID == on.UID })
}

func (s *stage) patch(a plan.Action) {
	s.t.Helper()
	var err error
	switch a.On.Kind {
	case plan.CloneSetKind:
		set := s.w.Set.DeepCopy()
		err = a.Change.Apply(set)
		s.w.Set = set
	case plan.PodKind:
		s.edit(func(p *corev1.Pod) {
			if p.UID == a.On.UID {
				err = a.Change.Apply(p)
			}
		})
	case plan.ClaimKind:
		for i, c := range s.w.Claims {
			if c.UID == a.On.UID {
				s.w.Claims[i] = c.DeepCopy()
				err = a.Change.Apply(s.w.Claims[i])
			}
		}
	case plan.ControllerRevisionKind:
		for i, r := range s.w.Revisions {
			if r.UID == a.On.UID {
				c := r.ControllerRevision.DeepCopy()
				err = a.Change.Apply(c)
				s.w.Revisions[i] = Revision{ControllerRevision: c}
			}
		}
	}
	if err != nil {
		s.t.Fatalf("apply %s %s: %v", a.Verb, a.On.Name, err)
	}
}

// edit changes pods as others would.
func (s *stage) edit(f func(*corev1.Pod)) {
	pods := make([]Pod, 0, len(s.w.Pods))
	for _, p := range s.w.Pods {
		c := p.Pod.DeepCopy()
		f(c)
		pods = append(pods, Pod{Pod: c})
	}
	s.w.Pods = pods
}

// run lets a pod run what its spec says.
func run(p *corev1.Pod, now time.Time) {
	p.Spec.NodeName = "node1"
	p.Status.Phase = corev1.PodRunning
	ready := corev1.ConditionTrue
	for _, g := range p.Spec.ReadinessGates {
		if c := condition(p, g.ConditionType); c == nil || c.Status != corev1.ConditionTrue {
			ready = corev1.ConditionFalse
		}
	}
	setReady(p, ready, now)
	p.Status.ContainerStatuses = nil
	for _, c := range p.Spec.Containers {
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: c.Name, Image: c.Image, ImageID: "sha256:" + c.Image, ContainerID: "fake://" + c.Image, Ready: true,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}})
	}
}

func setReady(p *corev1.Pod, status corev1.ConditionStatus, now time.Time) {
	c := condition(p, corev1.PodReady)
	if c == nil {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady, Status: status, LastTransitionTime: metav1.NewTime(now)})
	} else if c.Status != status {
		c.Status, c.LastTransitionTime = status, metav1.NewTime(now)
	}
}

// ready lets all pods (or only the named ones) run.
func (s *stage) ready(names ...string) {
	s.edit(func(p *corev1.Pod) {
		if len(names) == 0 || slices.Contains(names, p.Name) {
			run(p, s.w.Now)
		}
	})
}

// broken makes the i-th pods not ready.
func (s *stage) broken(pods ...int) {
	for _, i := range pods {
		name := s.w.Pods[i].Name
		s.edit(func(p *corev1.Pod) {
			if p.Name == name {
				setReady(p, corev1.ConditionFalse, s.w.Now)
			}
		})
	}
}

// serve lets one pod become available, with the passes that this takes.
func (s *stage) serve(name string) {
	s.t.Helper()
	for range 3 {
		s.ready(name)
		s.edit(func(p *corev1.Pod) {
			if p.Name != name {
				return
			}
			set := func(of corev1.PodConditionType) {
				if c := condition(p, of); c != nil {
					c.Status, c.Reason = corev1.ConditionTrue, ""
				} else {
					p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: of, Status: corev1.ConditionTrue})
				}
			}
			set(keys.InPlaceUpdateReady)
			set(keys.KruisePodReady)
			p.Labels[keys.LifecycleStateLabel] = keys.StateNormal
		})
	}
}

// updated are the names of the pods at the update revision, sorted.
func (s *stage) updated() []string {
	s.t.Helper()
	var names []string
	for _, v := range s.plan().Verdicts {
		if v.Updated && v.Fate != plan.Make {
			names = append(names, v.Name)
		}
	}
	slices.Sort(names)
	return names
}

// specify marks the i-th pods for deletion.
func (s *stage) specify(pods ...int) {
	for _, i := range pods {
		name := s.w.Pods[i].Name
		s.edit(func(p *corev1.Pod) {
			if p.Name == name {
				p.Labels[keys.SpecifiedDeleteLabel] = "true"
			}
		})
	}
}

func (s *stage) tick(d time.Duration) { s.w.Now = s.w.Now.Add(d) }

// oldAndNew counts the pods at the update revision and the others.
func (s *stage) oldAndNew() (old, updated int) {
	hash := s.plan().UpdateHash
	for _, p := range s.w.Pods {
		if revision.Short(p.Labels[keys.ControllerRevisionHashLabel]) == hash {
			updated++
		} else {
			old++
		}
	}
	return old, updated
}

// did counts a plan's actions on pods by what they do, such as "create 2, delete 1".
func did(p *Plan) string {
	counts := map[string]int{}
	for _, v := range p.Verdicts {
		switch v.Fate {
		case plan.Keep, plan.Hold, plan.Refresh:
		default:
			counts[string(v.Fate)]++
		}
	}
	var parts []string
	for what, n := range counts {
		parts = append(parts, fmt.Sprintf("%s %d", what, n))
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}
