package launchorder

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
)

// does shows what a plan writes, each action in a few words.
func does(t *testing.T, p *plan.Plan) []string {
	t.Helper()
	var list []string
	for _, a := range p.Actions() {
		text := fmt.Sprintf("%s %s %s", a.Verb, a.On.Kind.Kind, a.On.Name)
		if a.On.UID != "" {
			text += " " + string(a.On.UID)
		}
		if made, ok := a.Object.(*corev1.ConfigMap); ok {
			text += " " + strings.Join(slices.Sorted(maps.Keys(made.Data)), " ")
		}
		if a.Change != nil {
			body, err := a.Change.Body()
			if err != nil {
				t.Fatal(err)
			}
			text += " " + string(body)
		}
		list = append(list, strings.TrimSpace(text))
	}
	return list
}

const (
	open     = `patch ConfigMap web-barrier barrier-uid {"data":{%s}}`
	mark     = `patch Pod web web-uid {"metadata":{"annotations":{"apps.kruise.io/container-launch-priority-completed":"true"}}}`
	wake     = `patch Pod web web-uid {"metadata":{"annotations":{"kubectl-kruise.github.io/launch-priority-released":"%d"}}}`
	makeIt   = `create ConfigMap web-barrier`
	removeIt = `delete ConfigMap web-barrier barrier-uid`
)

func opens(keys ...string) string {
	for i, key := range keys {
		keys[i] = fmt.Sprintf(`"%s":"true"`, key)
	}
	return fmt.Sprintf(open, strings.Join(keys, ","))
}

// six is the pod of rows 11 to 14: which of its containers are ready.
func six(up string) *corev1.Pod {
	edits := []func(*corev1.Pod){}
	for _, c := range []struct {
		name string
		n    int
	}{{"a", 3}, {"b", 5}, {"c", 0}, {"e", -1}, {"f", 3}} {
		if strings.Contains(up, c.name) {
			edits = append(edits, at(c.name, c.n, ready))
		} else {
			edits = append(edits, at(c.name, c.n, running))
		}
	}
	return pod(append(edits, ctr("d"))...)
}

func TestDecide(t *testing.T) {
	t.Parallel()
	two := func(edits ...func(*corev1.Pod)) *corev1.Pod {
		return pod(append([]func(*corev1.Pod){at("first", 0), at("second", -1)}, edits...)...)
	}
	three := func(first, second, third func(*corev1.ContainerStatus), edits ...func(*corev1.Pod)) *corev1.Pod {
		return pod(append(edits, at("a", 0, first), at("b", -1, second), at("c", -2, third))...)
	}
	released := func(priority string) func(*corev1.Pod) {
		return annotation(keys.LaunchLevelAnnotation, priority)
	}
	foreign := configMap("")
	foreign.Data = map[string]string{"app.conf": "x", "p_0": "true"}
	deleted := func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: start} }
	finished := func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }
	for _, tt := range []struct {
		name    string
		pod     *corev1.Pod
		barrier *corev1.ConfigMap
		release bool
		want    []string
		done    bool
	}{
		{"launchorder/11 nothing ready", six(""), configMap("web-uid"), false, []string{opens("p_5")}, false},
		{"launchorder/12 one of a level is not ready", six("bf"), configMap("web-uid", "p_5", "p_3"), false, nil, false},
		{"launchorder/13 the next level", six("abf"), configMap("web-uid", "p_5", "p_3"), false, []string{opens("p_0")}, false},
		{"launchorder/14 the last level", six("abcf"), configMap("web-uid", "p_5", "p_3", "p_0"), false, []string{opens("p_-1"), mark}, false},
		{"launchorder/16 no barrier yet", two(), nil, false, []string{makeIt}, false},
		{"launchorder/16 an empty one", two(), configMap("web-uid"), false, []string{opens("p_0")}, false},
		{"launchorder/17 completed, a container crashes", pod(completes, at("a", 0, ready), at("b", -1, crashing)), configMap("web-uid", "p_0", "p_-1"), false, nil, true},
		{"launchorder/18 all containers are ready", pod(containersReady, at("a", 0, ready), at("b", -1, ready)), configMap("web-uid", "p_0", "p_-1"), false, nil, true},
		{"launchorder/19 the barrier of an earlier pod", two(), configMap("old-uid", "p_0", "p_-1"), false, []string{removeIt, makeIt}, false},
		{"launchorder/19 what is left of one without an owner", two(), configMap("", "p_0", "p_-1"), false, []string{removeIt, makeIt}, false},
		{"launchorder/20 PF-LP-1 a completed pod's barrier was deleted", pod(completes, at("a", 0, waiting("CreateContainerConfigError", "")), at("b", -1, ready)), nil, false,
			[]string{makeIt + " p_-1 p_0"}, false},
		{"launchorder/20 all containers are ready, not marked", pod(containersReady, at("a", 0, ready), at("b", -1, ready)), nil, false, []string{makeIt + " p_-1 p_0"}, false},
		{"1.6 a key of a completed pod was taken away", pod(completes, at("a", 0, ready), at("b", -1, ready)), configMap("web-uid", "p_-1"), false, []string{opens("p_0")}, false},
		{"1.6 a key above the open level was taken away", six("abf"), configMap("web-uid", "p_3"), false, []string{opens("p_0", "p_5")}, false},
		{"launchorder/21 OnFailure, ended well", pod(restarts("OnFailure"), at("a", 0, ended(0)), at("b", -1)), configMap("web-uid", "p_0"), false, []string{opens("p_-1"), mark}, false},
		{"launchorder/21 Never, ended well", pod(restarts("Never"), at("a", 0, ended(0)), at("b", -1), at("c", -2)), configMap("web-uid", "p_0"), false, []string{opens("p_-1")}, false},
		{"launchorder/21 Always, ended well", pod(at("a", 0, ended(0)), at("b", -1)), configMap("web-uid", "p_0"), false, nil, false},
		{"1.6 ended badly", pod(restarts("Never"), at("a", 0, ended(1)), at("b", -1)), configMap("web-uid", "p_0"), false, nil, false},
		{"1.6 the container's own policy", pod(at("a", 0, ended(0)), at("b", -1), func(p *corev1.Pod) {
			p.Spec.Containers[0].RestartPolicy = new(corev1.ContainerRestartPolicyNever)
		}), configMap("web-uid", "p_0"), false, []string{opens("p_-1"), mark}, false},
		{"1.6 a rule that starts it again", pod(restarts("Never"), at("a", 0, ended(0)), at("b", -1), func(p *corev1.Pod) {
			p.Spec.Containers[0].RestartPolicyRules = []corev1.ContainerRestartRule{{Action: "Restart", ExitCodes: &corev1.ContainerRestartRuleOnExitCodes{Operator: "In", Values: []int32{0}}}}
		}), configMap("web-uid", "p_0"), false, nil, false},
		{"1.3 everything has ended well", pod(restarts("Never"), at("a", 0, ended(0)), at("b", -1, ended(0))), configMap("web-uid", "p_0", "p_-1"), false, []string{mark}, false},
		{"1.3 all keys are there, the mark is missing", pod(at("a", 0, crashing), at("b", -1, running)), configMap("web-uid", "p_0", "p_-1"), false, []string{mark}, false},
		{"1.3 ready once, then failing: its key stays, lower levels wait", six("bf"), configMap("web-uid", "p_5", "p_3"), false, nil, false},
		{"T2 the sign is part of the key", pod(at("a", -5, ready), at("b", -50)), configMap("web-uid", "p_-5"), false, []string{opens("p_-50"), mark}, false},
		{"T6 running is not ready", pod(at("a", 0, running), at("b", -1)), configMap("web-uid", "p_0"), false, nil, false},
		{"a level of several starts together", pod(at("a", 1), at("b", 1), at("c", 0)), configMap("web-uid"), false, []string{opens("p_1")}, false},
		{"without barrier variables", pod(ordered, ctr("a"), ctr("b")), nil, false, nil, true},
		{"a variable without a key", pod(ctr("a", corev1.EnvVar{Name: keys.BarrierEnv}), ctr("b")), nil, false, nil, true},
		{"a pod that is being deleted", two(deleted), nil, false, nil, true},
		{"a finished pod", two(finished), nil, false, nil, true},
		{"a ConfigMap of somebody else's is left alone", two(), foreign, false, nil, false},
		{"a level that the kubelet has tried wakes it", three(ready, held, held), configMap("web-uid", "p_0"), false, []string{opens("p_-1"), fmt.Sprintf(wake, -1)}, false},
		{"a level that nobody has tried wakes nobody", three(ready, running, held), configMap("web-uid", "p_0"), false, []string{opens("p_-1")}, false},
		{"the kubelet was quicker than the first key", three(held, held, held), configMap("web-uid", "p_0"), false, []string{fmt.Sprintf(wake, 0)}, false},
		{"the driver died before it woke the kubelet", three(ready, held, held, released("0")), configMap("web-uid", "p_0", "p_-1"), false, []string{fmt.Sprintf(wake, -1)}, false},
		{"T8 the kubelet is woken once", three(ready, held, held, released("-1")), configMap("web-uid", "p_0", "p_-1"), false, nil, false},
		{"the last level's mark wakes the kubelet", three(ready, ready, held, released("-1")), configMap("web-uid", "p_0", "p_-1"), false, []string{opens("p_-2"), mark}, false},
		{"7 release wakes the kubelet at the end alone", three(ready, held, held), configMap("web-uid", "p_0"), true, []string{opens("p_-1")}, false},
		{"7 release opens the next level", six(""), configMap("web-uid", "p_5"), true, []string{opens("p_3")}, false},
		{"7 release opens the last level", six(""), configMap("web-uid", "p_5", "p_3", "p_0"), true, []string{opens("p_-1"), mark}, false},
		{"7 release makes the barrier", two(), nil, true, []string{makeIt}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			before, barrier := tt.pod.DeepCopy(), tt.barrier.DeepCopy()
			out := Decide(World{Now: start.Add(time.Hour), Pod: tt.pod, Barrier: tt.barrier, Release: tt.release})
			if diff := cmp.Diff(tt.want, does(t, &out.Plan)); diff != "" {
				t.Error(diff)
			}
			if out.Done != tt.done {
				t.Errorf("done %v, want %v", out.Done, tt.done)
			}
			if diff := cmp.Diff(before, tt.pod) + cmp.Diff(barrier, tt.barrier); diff != "" {
				t.Errorf("the world was changed: %s", diff)
			}
			if waits := !out.Done && !out.Completed; waits != (out.Wake.Equal(start.Add(time.Hour + 10*time.Second))) {
				t.Errorf("wake %v", out.Wake)
			}
		})
	}
}

func TestTheBarrierBelongsToThePod(t *testing.T) {
	t.Parallel()
	out := Decide(World{Pod: pod(at("a", 0), at("b", -1))})
	want := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web-barrier",
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "web", UID: "web-uid"}}}}
	if diff := cmp.Diff(want, out.Actions()[0].Object); diff != "" {
		t.Error(diff)
	}
}

// TestNext is row 15: the levels that are not ready, the highest first.
func TestNext(t *testing.T) {
	t.Parallel()
	t.Run("launchorder/15", func(t *testing.T) {
		t.Parallel()
		out := Decide(World{Pod: pod(at("a", 3), at("b", 0), at("c", -1), at("d", 4)), Barrier: configMap("web-uid")})
		var got []int64
		for _, l := range out.Levels {
			got = append(got, l.Priority)
		}
		if diff := cmp.Diff([]int64{4, 3, 0, -1}, got); diff != "" {
			t.Error(diff)
		}
	})
}

func TestEventPerLevel(t *testing.T) {
	t.Parallel()
	out := Decide(World{Pod: pod(at("b", 5, ready), at("a", 3), at("f", 3, held), at("c", 0)), Barrier: configMap("web-uid", "p_5")})
	want := &plan.Event{Type: "Normal", Reason: "LaunchPriorityReleased", Message: "Launch priority 3 released: a, f"}
	if diff := cmp.Diff(want, out.Actions()[0].Done); diff != "" {
		t.Error(diff)
	}
	for _, again := range []World{
		{Pod: pod(completes, at("a", 0, ready), at("b", -1, ready)), Barrier: configMap("web-uid", "p_-1")},
		{Pod: pod(at("a", 0, ready), at("b", -1, running), at("c", -2)), Barrier: configMap("web-uid", "p_-1")},
	} {
		restored := Decide(again)
		if e := restored.Actions()[0].Done; e != nil {
			t.Errorf("a key that is put back is no level that is released: %v", e)
		}
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	scheduled := func(p *corev1.Pod) { p.Status.StartTime = &metav1.Time{Time: start} }
	for _, tt := range []struct {
		name     string
		world    World
		verdicts []plan.Verdict
		waits    []plan.Wait
		warnings []string
	}{
		{"a container that crashes holds the later ones",
			World{Pod: pod(at("proxy", 1, crashing), at("app", 0, waiting("CreateContainerConfigError", "configmap \"web-barrier\" not found"))), Barrier: configMap("web-uid", "p_1")},
			[]plan.Verdict{
				{Name: "proxy", UID: "web-uid/proxy", Fate: plan.Keep, Reason: plan.ReasonNotReady, Note: "CrashLoopBackOff: ended with exit code 1: bind: address in use", Since: start.Add(3 * time.Minute)},
				{Name: "app", UID: "web-uid/app", Fate: plan.Hold, Reason: plan.ReasonOrder, Note: "waits for proxy", Since: start.Add(3 * time.Minute)},
			},
			[]plan.Wait{{Reason: plan.ReasonOrder, Names: []string{"proxy"}, Since: start.Add(3 * time.Minute),
				Note: "priority 0 (app) waits for proxy: CrashLoopBackOff: ended with exit code 1: bind: address in use"}}, nil},
		{"a container that was not created yet",
			World{Pod: pod(scheduled, at("proxy", 1), at("app", 0)), Barrier: configMap("web-uid", "p_1")},
			[]plan.Verdict{
				{Name: "proxy", UID: "web-uid/proxy", Fate: plan.Keep, Reason: plan.ReasonNotReady, Note: "not created yet", Since: start},
				{Name: "app", UID: "web-uid/app", Fate: plan.Hold, Reason: plan.ReasonOrder, Note: "waits for proxy", Since: start},
			},
			[]plan.Wait{{Reason: plan.ReasonOrder, Names: []string{"proxy"}, Since: start, Note: "priority 0 (app) waits for proxy: not created yet"}}, nil},
		{"since when the level is open",
			World{OpenedAt: start.Add(time.Second), Pod: pod(scheduled, at("proxy", 1), at("app", 0)), Barrier: configMap("web-uid", "p_1")},
			[]plan.Verdict{
				{Name: "proxy", UID: "web-uid/proxy", Fate: plan.Keep, Reason: plan.ReasonNotReady, Note: "not created yet", Since: start.Add(time.Second)},
				{Name: "app", UID: "web-uid/app", Fate: plan.Hold, Reason: plan.ReasonOrder, Note: "waits for proxy", Since: start.Add(time.Second)},
			},
			[]plan.Wait{{Reason: plan.ReasonOrder, Names: []string{"proxy"}, Since: start.Add(time.Second), Note: "priority 0 (app) waits for proxy: not created yet"}}, nil},
		{"ready and ended",
			World{Pod: pod(completes, restarts("OnFailure"), at("job", 1, ended(0)), at("app", 0, ready)), Barrier: configMap("web-uid", "p_1", "p_0")},
			[]plan.Verdict{
				{Name: "job", UID: "web-uid/job", Fate: plan.Keep, Reason: plan.ReasonFinished, Note: "ended with exit code 0", Since: start.Add(2 * time.Minute)},
				{Name: "app", UID: "web-uid/app", Available: true, Fate: plan.Keep, Reason: plan.ReasonUpToDate, Since: start.Add(time.Minute)},
			}, nil, nil},
		{"a ConfigMap of somebody else's",
			World{Pod: pod(at("a", 1), at("b", 0)), Barrier: func() *corev1.ConfigMap { c := configMap(""); c.Data = map[string]string{"x": "y"}; return c }()},
			nil, []plan.Wait{{Reason: plan.ReasonBadSpec, Names: []string{"web-barrier"}, Since: start,
				Note: "ConfigMap web-barrier is not a barrier of this pod; delete it, or create the pod under another name"}}, nil},
		{"a pod that missed the webhook", World{Pod: pod(ordered, ctr("a"), ctr("b"))}, nil, nil,
			[]string{"the pod was created without KRUISE_CONTAINER_BARRIER, past the webhook: its containers start together, not in the order that it asks for"}},
		{"a key that nobody adds", World{Pod: pod(ctr("a", barrierOn("old-barrier", "p_0")), ctr("b"))}, nil, nil,
			[]string{"container a waits for key p_0 of ConfigMap old-barrier, which is no level of this pod and which nobody adds"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.world.Now = start.Add(time.Hour)
			out := Decide(tt.world)
			if diff := cmp.Diff(tt.verdicts, out.Verdicts) + cmp.Diff(tt.waits, out.Waits) + cmp.Diff(tt.warnings, out.Warnings); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNotesOfRunningContainers(t *testing.T) {
	t.Parallel()
	yes := func(s *corev1.ContainerStatus) { s.Started = new(true) }
	probe := func(edit func(*corev1.Container)) func(*corev1.Pod) {
		return func(p *corev1.Pod) { edit(&p.Spec.Containers[0]) }
	}
	for _, tt := range []struct {
		want string
		pod  *corev1.Pod
	}{
		{"runs, its startup probe has not passed", pod(at("a", 1, running), probe(func(c *corev1.Container) { c.StartupProbe = &corev1.Probe{} }))},
		{"runs, its readiness probe does not pass", pod(at("a", 1, running, yes), probe(func(c *corev1.Container) { c.ReadinessProbe = &corev1.Probe{} }))},
		{"runs, its postStart hook has not ended", pod(at("a", 1, running))},
		{"runs, not ready", pod(at("a", 1, running, yes))},
		{"ended with exit code 3, and is not restarted", pod(restarts("Never"), at("a", 1, ended(3)))},
		{"ErrImagePull: not found", pod(at("a", 1, waiting("ErrImagePull", "not found")))},
		{"ContainerCreating", pod(at("a", 1, waiting("ContainerCreating", "")))},
	} {
		out := Decide(World{Pod: tt.pod, Barrier: configMap("web-uid", "p_1")})
		if got := out.Levels[0].Containers[0].Note; got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}
