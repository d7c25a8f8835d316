package estimate_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/features"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/sim"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/sim/clonesetsim"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/sim/estimate"
)

func set(replicas int32, policy v1beta1.PodUpdatePolicy) *v1beta1.CloneSet {
	limit := intstr.FromInt32(2)
	labels := map[string]string{"app": "web"}
	return &v1beta1.CloneSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"},
		Spec: v1beta1.CloneSetSpec{Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			UpdateStrategy: v1beta1.CloneSetUpdateStrategy{RollingUpdate: &v1beta1.RollingUpdateCloneSetStrategy{PodUpdatePolicy: policy, MaxUnavailable: &limit}},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "nginx", Image: "nginx:1.26"}}}}},
	}
}

// settled is the set with its objects after its first rollout, and what they need to be played.
func settled(t *testing.T, s *v1beta1.CloneSet, pace sim.Pace) (*v1beta1.CloneSet, []plan.Object) {
	t.Helper()
	world := sim.New(sim.Config{Kinds: []sim.Kind{clonesetsim.Kind()}, Stages: sim.PodStages(pace), Nodes: []sim.Node{{Name: "n1"}}})
	planner := &clonesetsim.Planner{Namespace: "default", Name: "web", Gates: features.Defaults()}
	run := &sim.Run{Cluster: world, Drivers: []*sim.Driver{clonesetsim.NewDriver("a", planner, sim.NewView(world, 0))},
		Interval: 10 * time.Millisecond, WriteTime: time.Millisecond}
	if _, err := world.Create("user", plan.CloneSetKind, s); err != nil {
		t.Fatal(err)
	}
	run.Start()
	if err := run.Settle(1000); err != nil {
		t.Fatal(err)
	}
	var parts []plan.Object
	parts = append(parts, world.List(plan.PodKind)...)
	parts = append(parts, world.List(plan.ControllerRevisionKind)...)
	stored, ok := world.Get(plan.CloneSetKind, "default", "web").(*v1beta1.CloneSet)
	if !ok {
		t.Fatal("the set is gone")
	}
	return stored.DeepCopy(), parts
}

func pods(parts []plan.Object) []*corev1.Pod {
	var list []*corev1.Pod
	for _, p := range parts {
		if pod, ok := p.(*corev1.Pod); ok {
			list = append(list, pod)
		}
	}
	return list
}

// pace has whole seconds, as the status tells no others.
func pace() sim.Pace {
	p := sim.DefaultPace()
	p.Schedule, p.Start, p.Ready, p.Restart = sim.Fixed(time.Second), sim.Fixed(5*time.Second), sim.Fixed(4*time.Second), sim.Fixed(5*time.Second)
	return p
}

func TestThePastTellsThePace(t *testing.T) {
	t.Parallel()
	_, parts := settled(t, set(5, v1beta1.InPlaceIfPossiblePodUpdatePolicy), pace())
	got := estimate.PaceOf(pods(parts))
	near := func(what string, got, want sim.Range) {
		if d := got.Min - want.Min; d < -time.Second || d > time.Second {
			t.Errorf("%s: got %s, want about %s", what, got.Min, want.Min)
		}
	}
	near("schedule", got.Schedule, pace().Schedule)
	near("start", got.Start, pace().Start)
	near("ready", got.Ready, pace().Ready)
	near("restart", got.Restart, pace().Restart)
	if diff := cmp.Diff(sim.DefaultPace(), estimate.PaceOf(nil)); diff != "" {
		t.Errorf("without pods: %s", diff)
	}
}

func TestPlay(t *testing.T) {
	t.Parallel()
	image := func(s *v1beta1.CloneSet) { s.Spec.Template.Spec.Containers[0].Image = "nginx:1.27" }
	env := func(s *v1beta1.CloneSet) {
		s.Spec.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "A", Value: "B"}}
	}
	for _, c := range []struct {
		rule      string
		policy    v1beta1.PodUpdatePolicy
		change    func(*v1beta1.CloneSet)
		goals     []int32
		want      []string // moved pods by batch
		worst     []int32
		obstacles string
		stuck     string
		least     time.Duration
	}{
		{"in place, two at a time", v1beta1.InPlaceIfPossiblePodUpdatePolicy, image, []int32{1, 3, 10},
			[]string{"1+0+0", "2+0+0", "7+0+0"}, []int32{1, 2, 2}, "", "", 50 * time.Second},
		{"a field that forces a replacement is named", v1beta1.InPlaceIfPossiblePodUpdatePolicy, env, []int32{2, 10},
			[]string{"0+2+0", "0+8+0"}, []int32{2, 2}, "spec.containers[0].env: added in container nginx", "", 50 * time.Second},
		{"the policy replaces", v1beta1.ReCreatePodUpdatePolicy, image, []int32{10}, []string{"0+10+0"}, []int32{2}, "", "", 50 * time.Second},
		{"missing pods are created", v1beta1.InPlaceIfPossiblePodUpdatePolicy, func(s *v1beta1.CloneSet) { n := int32(12); s.Spec.Replicas = &n }, nil,
			[]string{"0+0+2"}, []int32{2}, "", "", 10 * time.Second},
		{"nothing to do takes no time", v1beta1.InPlaceIfPossiblePodUpdatePolicy, func(*v1beta1.CloneSet) {}, nil, []string{"0+0+0"}, []int32{0}, "", "", 0},
		{"a pause is an end", v1beta1.InPlaceIfPossiblePodUpdatePolicy, func(s *v1beta1.CloneSet) { image(s); s.Spec.UpdateStrategy.RollingUpdate.Paused = true }, nil,
			[]string{"0+0+0"}, []int32{0}, "", "updates are paused", 0},
	} {
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			before, parts := settled(t, set(10, c.policy), pace())
			after := before.DeepCopy()
			c.change(after)
			play := clonesetsim.Case(after, parts, features.Defaults())
			play.Pace, play.Goals = estimate.PaceOf(pods(parts)), c.goals
			if c.goals != nil {
				play.Limit = clonesetsim.KeepBack
			}
			got, err := estimate.Play(play)
			if err != nil {
				t.Fatal(err)
			}
			var moved []string
			var worst []int32
			for _, b := range got.Batches {
				moved, worst = append(moved, fmt.Sprintf("%d+%d+%d", len(b.InPlace), len(b.Recreated), len(b.Created))), append(worst, b.Worst)
			}
			if diff := cmp.Diff(c.want, moved); diff != "" {
				t.Errorf("moved: %s\n%v", diff, got.Batches)
			}
			if diff := cmp.Diff(c.worst, worst); diff != "" {
				t.Errorf("worst: %s\n%v", diff, got.Batches)
			}
			if text := strings.Join(got.Obstacles, "; "); !strings.Contains(text, c.obstacles) || c.obstacles == "" && text != "" {
				t.Errorf("obstacles %q, want %q", text, c.obstacles)
			}
			if got.Stuck != c.stuck {
				t.Errorf("stuck %q, want %q", got.Stuck, c.stuck)
			}
			if got.Total < c.least || got.Total > c.least+2*time.Minute {
				t.Errorf("takes %s, want about %s", got.Total, c.least)
			}
			again, err := estimate.Play(play)
			if diff := cmp.Diff(got.Total, again.Total); err != nil || diff != "" {
				t.Errorf("played twice: error %v, diff %s", err, diff)
			}
		})
	}
}

func TestWhatIsPlayedSpeaksForTheRest(t *testing.T) {
	t.Parallel()
	before, parts := settled(t, set(120, v1beta1.InPlaceIfPossiblePodUpdatePolicy), pace())
	before.Spec.Template.Spec.Containers[0].Image = "nginx:1.27"
	// Many strangers make each round dear, so that only some of the pods are played.
	for i := range 2500 {
		parts = append(parts, &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("c%d", i)}})
	}
	c := clonesetsim.Case(before, parts, features.Defaults())
	c.Pace, c.Goals, c.Limit = estimate.PaceOf(pods(parts)), []int32{20, 120}, clonesetsim.KeepBack
	got, err := estimate.Play(c)
	if err != nil {
		t.Fatal(err)
	}
	last := got.Batches[len(got.Batches)-1]
	if len(got.Batches) != 2 || last.Moved() != 100 || last.Guessed == 0 || got.Stuck != "" {
		t.Fatalf("%v, %d guessed, stuck %q", got.Batches, last.Guessed, got.Stuck)
	}
	// 50 pairs of 9 seconds each, and what the rounds add.
	if last.Took < 400*time.Second || last.Took > 600*time.Second {
		t.Errorf("took %s, want about 450s", last.Took)
	}
}
