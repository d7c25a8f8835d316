package launchorder

import (
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
)

// lane is one pod on a node whose kubelet starts a container as soon as its key is there, and one barrier by name.
type lane struct {
	t       *rapid.T
	pod     *corev1.Pod
	barrier *corev1.ConfigMap
	uids    int
	now     time.Time
	// seen is the copy that the planner works with: it may be old.
	seen World
	// started are the containers that were started before; troubled says that one has crashed or a barrier was deleted.
	started  map[string]bool
	troubled bool
}

func newLane(t *rapid.T) *lane {
	l := &lane{t: t, now: start, started: map[string]bool{}}
	edits := []func(*corev1.Pod){restarts(rapid.SampledFrom([]corev1.RestartPolicy{"Always", "OnFailure", "Never"}).Draw(t, "policy"))}
	n := rapid.IntRange(2, 6).Draw(t, "containers")
	for i := range n {
		value := rapid.IntRange(-2, 3).Draw(t, "priority")
		edits = append(edits, ctr("c"+strconv.Itoa(i), priority(strconv.Itoa(value))))
	}
	if rapid.Bool().Draw(t, "ordered") {
		edits = append(edits, ordered)
	}
	l.pod = pod(edits...)
	if _, _, err := Mutate(l.pod, Options{}); err != nil {
		t.Fatal(err)
	}
	if rapid.Bool().Draw(t, "an earlier pod of this name") {
		l.barrier = configMap("old-uid")
		l.barrier.Data = map[string]string{}
		for i := -6; i <= 3; i++ {
			l.barrier.Data[KeyOf(int64(i))] = opened
		}
	}
	return l
}

// look is what the planner sees from now on.
func (l *lane) look() {
	l.seen = World{Now: l.now, Pod: l.pod.DeepCopy(), Barrier: l.barrier.DeepCopy()}
}

// act carries out what the planner wants; a write that is bound to another UID is refused, as a server does.
func (l *lane) act() int {
	done := 0
	for _, a := range Decide(l.seen).Actions() {
		if !l.write(a) {
			break
		}
		done++
	}
	return done
}

func (l *lane) write(a plan.Action) bool {
	switch {
	case a.Verb == plan.Create && l.barrier == nil:
		l.uids++
		l.barrier = a.Object.(*corev1.ConfigMap).DeepCopy()
		l.barrier.UID = types.UID("barrier-" + strconv.Itoa(l.uids))
	case a.Verb == plan.Delete && l.barrier != nil && l.barrier.UID == a.On.UID:
		l.barrier = nil
	case a.Verb == plan.Patch && a.On.Kind == plan.PodKind:
		if err := a.Change.Apply(l.pod); err != nil {
			l.t.Fatal(err)
		}
	case a.Verb == plan.Patch && l.barrier != nil && l.barrier.UID == a.On.UID:
		if err := a.Change.Apply(l.barrier); err != nil {
			l.t.Fatal(err)
		}
	default:
		return false
	}
	return true
}

// key is what a container waits for.
func key(c *corev1.Container) (string, bool) {
	for i := range c.Env {
		if ref := barrierRef(&c.Env[i]); ref != nil {
			return ref.Key, true
		}
	}
	return "", false
}

// kubelet starts whatever may start. A barrier of an earlier pod does not count: our planner removes it, and a kubelet
// that is quicker is beyond it.
func (l *lane) kubelet() {
	for i := range l.pod.Spec.Containers {
		c := &l.pod.Spec.Containers[i]
		if s := statusOf(l.pod, c.Name); s != nil && (s.State.Running != nil || s.State.Terminated != nil) {
			continue
		}
		k, waits := key(c)
		if waits && (l.barrier == nil || ownerOf(l.pod, l.barrier) != ours || l.barrier.Data[k] == "") {
			if statusOf(l.pod, c.Name) == nil {
				l.set(c.Name, held)
			}
			continue
		}
		if above := l.unready(c); len(above) > 0 && !l.started[c.Name] && !l.troubled {
			l.t.Fatalf("%s starts while %v above it are not ready", c.Name, above)
		}
		l.started[c.Name] = true
		l.set(c.Name, running)
	}
}

// unready are the containers above c that are not done.
func (l *lane) unready(c *corev1.Container) []string {
	mine, _ := levelOf(l.pod, c)
	list := []string{}
	for i := range l.pod.Spec.Containers {
		other := &l.pod.Spec.Containers[i]
		is := containerOf(l.pod, other)
		if n, ok := levelOf(l.pod, other); ok && n > mine && !is.done() {
			list = append(list, other.Name)
		}
	}
	return list
}

// set replaces the status of a container.
func (l *lane) set(name string, edit func(*corev1.ContainerStatus)) {
	l.pod.Status.ContainerStatuses = slices.DeleteFunc(slices.Clone(l.pod.Status.ContainerStatuses), func(s corev1.ContainerStatus) bool { return s.Name == name })
	status(name, edit)(l.pod)
	up := corev1.ConditionTrue
	for i := range l.pod.Spec.Containers {
		if s := statusOf(l.pod, l.pod.Spec.Containers[i].Name); s == nil || !s.Ready {
			up = corev1.ConditionFalse
		}
	}
	l.pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.ContainersReady, Status: up}}
}

// up makes every running container ready.
func (l *lane) up() {
	for i := range l.pod.Spec.Containers {
		name := l.pod.Spec.Containers[i].Name
		if s := statusOf(l.pod, name); s != nil && s.State.Running != nil {
			l.set(name, ready)
		}
	}
}

// fault lets something happen that nobody planned.
func (l *lane) fault() {
	c := rapid.SampledFrom(l.pod.Spec.Containers).Draw(l.t, "container").Name
	s := statusOf(l.pod, c)
	switch rapid.SampledFrom([]string{"none", "none", "ready", "crash", "end", "barrier deleted"}).Draw(l.t, "fault") {
	case "ready":
		if s != nil && s.State.Running != nil {
			l.set(c, ready)
		}
	case "crash":
		if s != nil && s.State.Running != nil {
			l.set(c, crashing)
			l.troubled = true
		}
	case "end":
		if s != nil && s.State.Running != nil && l.pod.Spec.RestartPolicy != corev1.RestartPolicyAlways {
			l.set(c, ended(0))
		}
	case "barrier deleted":
		if l.barrier != nil && rapid.IntRange(0, 3).Draw(l.t, "once in a while") == 0 {
			l.barrier, l.troubled = nil, true
		}
	}
}

// TestNoContainerStartsBeforeThoseAboveAreReady plays histories in which the planner sees the newest state, whose driver
// may die after any write.
func TestNoContainerStartsBeforeThoseAboveAreReady(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := newLane(t)
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			l.now = l.now.Add(time.Second)
			switch rapid.SampledFrom([]string{"plan", "plan", "part of a plan", "kubelet", "kubelet", "fault"}).Draw(t, "step") {
			case "plan":
				l.look()
				l.checkOpening()
				l.act()
			case "part of a plan":
				l.look()
				if actions := Decide(l.seen).Actions(); len(actions) > 0 {
					l.write(actions[0])
				}
			case "kubelet":
				l.kubelet()
			case "fault":
				l.fault()
			}
		}
		l.finish()
	})
}

// checkOpening looks at the keys that a plan adds: all above is done, or the pod has been through all levels before.
func (l *lane) checkOpening() {
	out := Decide(l.seen)
	for _, a := range out.Actions() {
		opening, ok := a.Change.(*Opening)
		if !ok || out.Completed {
			continue
		}
		lowest := out.level(opening.Keys[len(opening.Keys)-1])
		for i := range out.Levels {
			if above := &out.Levels[i]; above.Priority > lowest.Priority && !above.done() {
				l.t.Fatalf("%s is opened while %v are not ready", lowest.Key, above.names())
			}
		}
		closed := slices.DeleteFunc(slices.Clone(opening.Keys), func(k string) bool {
			at := out.level(k)
			return !slices.ContainsFunc(at.Containers, func(c Container) bool { return !c.Started })
		})
		if len(closed) > 1 {
			l.t.Fatalf("T7: %v are opened at once", closed)
		}
	}
}

// finish lets the cluster come to rest: every level opens, the pod is marked, and nothing is left to do.
func (l *lane) finish() {
	for range 3 * (len(l.pod.Spec.Containers) + 2) {
		l.kubelet()
		for i := range l.pod.Spec.Containers {
			name := l.pod.Spec.Containers[i].Name
			if s := statusOf(l.pod, name); s != nil && s.State.Waiting != nil {
				l.set(name, waiting("CreateContainerConfigError", ""))
			}
		}
		l.up()
		l.look()
		l.act()
	}
	l.kubelet()
	for i := range l.pod.Spec.Containers {
		c := &l.pod.Spec.Containers[i]
		k, waits := key(c)
		if s := statusOf(l.pod, c.Name); s == nil || s.State.Running == nil && s.State.Terminated == nil {
			l.t.Fatalf("%s never started: %v", c.Name, s)
		}
		if waits && l.barrier.Data[k] != opened {
			l.t.Fatalf("the key %s of %s is missing at the end", k, c.Name)
		}
	}
	l.look()
	if out := Decide(l.seen); !out.Done {
		l.t.Fatalf("not done at rest: %v", out.Actions())
	}
}

// TestAReleasedPodIsNotLeftHanging opens everything from the highest level to the lowest, whatever the containers do.
func TestAReleasedPodIsNotLeftHanging(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := newLane(t)
		for range rapid.IntRange(0, 10).Draw(t, "steps") {
			l.kubelet()
			l.look()
			l.act()
			l.fault()
		}
		var order []int64
		for range 2 * (len(l.pod.Spec.Containers) + 2) {
			l.look()
			l.seen.Release = true
			out := Decide(l.seen)
			for _, a := range out.Actions() {
				if opening, ok := a.Change.(*Opening); ok && !out.Completed {
					order = append(order, out.level(opening.Keys[0]).Priority)
				}
			}
			l.act()
		}
		if !slices.IsSortedFunc(order, func(a, b int64) int { return int(b - a) }) {
			t.Fatalf("opened in the order %v", order)
		}
		for i := range l.pod.Spec.Containers {
			if k, waits := key(&l.pod.Spec.Containers[i]); waits && (l.barrier == nil || l.barrier.Data[k] != opened) {
				t.Fatalf("%s is left hanging", l.pod.Spec.Containers[i].Name)
			}
		}
	})
}

// TestTheKubeletIsWokenForEveryLevel has a kubelet that looks at the pod when it comes and when its annotations change, and
// never tries again by itself.
func TestTheKubeletIsWokenForEveryLevel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := newLane(t)
		var known map[string]string
		looked := false
		look := func() {
			if !looked || !maps.Equal(known, l.pod.Annotations) {
				known, looked = maps.Clone(l.pod.Annotations), true
				l.kubelet()
			}
		}
		plans := func() {
			l.look()
			l.act()
		}
		steps := map[string]func(){"plan": plans, "kubelet": look, "ready": l.up}
		for range rapid.IntRange(0, 20).Draw(t, "steps") {
			steps[rapid.SampledFrom([]string{"plan", "kubelet", "ready"}).Draw(t, "step")]()
		}
		writes := 0
		for range 2 * (len(l.pod.Spec.Containers) + 3) {
			look()
			l.up()
			l.look()
			writes = l.act()
		}
		for i := range l.pod.Spec.Containers {
			if c := l.pod.Spec.Containers[i].Name; !l.started[c] {
				t.Fatalf("%s waits for the kubelet to try again", c)
			}
		}
		if writes > 0 {
			t.Fatal("T8: written again and again")
		}
	})
}

// TestTheSameWorldGivesTheSamePlan holds the planner to its contract.
func TestTheSameWorldGivesTheSamePlan(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := newLane(t)
		for range 5 {
			l.kubelet()
			l.fault()
			l.look()
			if diff := cmp.Diff(Decide(l.seen), Decide(l.seen)); diff != "" {
				t.Fatal(diff)
			}
			l.act()
		}
	})
}
