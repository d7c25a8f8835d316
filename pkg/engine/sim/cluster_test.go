package sim_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/sim"
)

const namespace = "default"

func newPod(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"app": "web"}},
		Spec: corev1.PodSpec{
			Containers:     []corev1.Container{{Name: "main", Image: "v1"}},
			ReadinessGates: []corev1.PodReadinessGate{{ConditionType: "Gate"}},
		},
	}
}

func node(names ...string) []sim.Node {
	var list []sim.Node
	for _, n := range names {
		list = append(list, sim.Node{Name: n})
	}
	return list
}

// still is a cluster in which nothing happens by itself.
func still() *sim.Cluster { return sim.New(sim.Config{Nodes: node("n1")}) }

// alive is a cluster in which pods live.
func alive() *sim.Cluster {
	return sim.New(sim.Config{Nodes: node("n1"), Stages: sim.PodStages(sim.DefaultPace())})
}

func create(t *testing.T, c *sim.Cluster, pod *corev1.Pod) *corev1.Pod {
	t.Helper()
	obj, err := c.Create("user", plan.PodKind, pod)
	if err != nil {
		t.Fatal(err)
	}
	return obj.(*corev1.Pod)
}

func ref(pod *corev1.Pod) plan.Ref {
	return plan.Ref{Kind: plan.PodKind, Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID}
}

func patch(pod *corev1.Pod, change *plan.PodChange) *plan.Action {
	return &plan.Action{Verb: plan.Patch, On: ref(pod), Change: change}
}

func labels(key, value string) *plan.PodChange {
	return &plan.PodChange{Meta: plan.MetaChange{Labels: map[string]*string{key: &value}}}
}

// gateTrue answers the pods' readiness gate.
func gateTrue() *plan.PodChange {
	return &plan.PodChange{Conditions: []corev1.PodCondition{{Type: "Gate", Status: corev1.ConditionTrue}}}
}

func openGate(t *testing.T, c *sim.Cluster, name string) {
	t.Helper()
	a := patch(c.Pod(namespace, name), gateTrue())
	a.Subresource = plan.StatusSubresource
	if _, err := c.Do("user", a); err != nil {
		t.Fatal(err)
	}
}

// Whatever is done to a pod, the copies that were handed out before stay as they were.
func TestStoredObjectsAreImmutable(t *testing.T) {
	t.Parallel()
	c := alive()
	create(t, c, newPod("p"))
	deeds := map[string]func(){
		"time": func() { c.Advance(c.Elapsed() + time.Hour) },
		"patch": func() {
			_, _ = c.Do("a", patch(c.Pod(namespace, "p"), &plan.PodChange{Meta: labels("x", "y").Meta, Images: map[string]string{"main": "v2"}}))
		},
		"status": func() { openGate(t, c, "p") },
		"crash":  func() { _ = c.Crash(namespace, "p") },
		"probe":  func() { _ = c.Unready(namespace, "p") },
		"fail":   func() { _ = c.Fail(namespace, "p") },
		"delete": func() { _ = c.Delete("user", plan.PodKind, namespace, "p") },
	}
	for _, name := range []string{"time", "status", "time", "patch", "time", "crash", "time", "probe", "time", "fail", "delete"} {
		pod := c.Pod(namespace, "p")
		list := c.List(plan.PodKind)
		before := pod.DeepCopy()
		deeds[name]()
		if diff := cmp.Diff(before, pod); diff != "" {
			t.Errorf("%s changed a copy: %s", name, diff)
		}
		if len(list) != 1 || list[0] != plan.Object(pod) {
			t.Errorf("%s changed a list", name)
		}
	}
}

func TestPreconditions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*plan.Action)
		want   sim.Reason
	}{
		"as it is":             {func(*plan.Action) {}, ""},
		"its version":          {func(a *plan.Action) { a.ResourceVersion = "2" }, ""},
		"an older version":     {func(a *plan.Action) { a.ResourceVersion = "1" }, sim.Conflict},
		"another UID":          {func(a *plan.Action) { a.On.UID = "other" }, sim.Conflict},
		"another name":         {func(a *plan.Action) { a.On.Name = "other" }, sim.NotFound},
		"delete an old one":    {func(a *plan.Action) { a.Verb, a.ResourceVersion = plan.Delete, "1" }, sim.Conflict},
		"delete":               {func(a *plan.Action) { a.Verb = plan.Delete }, ""},
		"evict":                {func(a *plan.Action) { a.Verb = plan.Evict }, ""},
		"create what is there": {func(a *plan.Action) { a.Verb, a.Object = plan.Create, newPod("p") }, sim.AlreadyExists},
		"an unknown kind":      {func(a *plan.Action) { a.On.Kind.Kind = "Unknown" }, sim.NotFound},
		"an unknown verb":      {func(a *plan.Action) { a.Verb = "paint" }, sim.Refused},
	} {
		cluster := still()
		create(t, cluster, newPod("first"))
		pod := create(t, cluster, newPod("p"))
		a := patch(pod, labels("x", "y"))
		c.change(a)
		_, err := cluster.Do("a", a)
		var got *sim.Error
		if errors.As(err, &got); (got == nil) != (c.want == "") || got != nil && got.Reason != c.want {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

// A write reaches its subresource and nothing else; metadata of a pod may go with its status.
func TestSubresources(t *testing.T) {
	t.Parallel()
	owner := &metav1.OwnerReference{UID: "o", Name: "o"}
	everything := &plan.PodChange{
		Meta:       plan.MetaChange{Labels: labels("x", "y").Meta.Labels, SetOwner: owner, AddFinalizers: []string{"f/f"}},
		Images:     map[string]string{"main": "v2"},
		Conditions: gateTrue().Conditions,
	}
	describe := func(p *corev1.Pod) string {
		return fmt.Sprintf("label %q owners %d finalizers %d image %s conditions %d generation %d",
			p.Labels["x"], len(p.OwnerReferences), len(p.Finalizers), p.Spec.Containers[0].Image, len(p.Status.Conditions), p.Generation)
	}
	for subresource, want := range map[string]string{
		"":                     `label "y" owners 1 finalizers 1 image v2 conditions 0 generation 2`,
		plan.StatusSubresource: `label "y" owners 0 finalizers 0 image v1 conditions 1 generation 1`,
		plan.ResizeSubresource: `label "" owners 1 finalizers 1 image v2 conditions 0 generation 2`,
	} {
		c := still()
		a := patch(create(t, c, newPod("p")), everything)
		a.Subresource = subresource
		if _, err := c.Do("a", a); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, describe(c.Pod(namespace, "p"))); diff != "" {
			t.Errorf("%q: %s", subresource, diff)
		}
	}
}

func TestDeletion(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		pod    func(*corev1.Pod)
		wait   time.Duration
		exists bool
	}{
		{"a pod without a node goes at once", func(*corev1.Pod) {}, 0, false},
		{"a pod on a node terminates first", func(p *corev1.Pod) { p.Spec.NodeName = "n1" }, time.Second, true},
		{"and then goes", func(p *corev1.Pod) { p.Spec.NodeName = "n1" }, 2 * time.Second, false},
		{"a finalizer keeps it", func(p *corev1.Pod) { p.Spec.NodeName, p.Finalizers = "n1", []string{"f"} }, time.Hour, true},
		{"on a lost node it stays until it is given up", func(p *corev1.Pod) { p.Spec.NodeName = "lost" }, time.Minute, true},
		{"and then goes too", func(p *corev1.Pod) { p.Spec.NodeName = "lost" }, 5 * time.Minute, false},
	} {
		cluster := alive()
		pod := newPod("p")
		c.pod(pod)
		create(t, cluster, pod)
		if err := cluster.Delete("user", plan.PodKind, namespace, "p"); err != nil {
			t.Fatal(err)
		}
		cluster.Advance(c.wait)
		if got := cluster.Pod(namespace, "p"); (got != nil) != c.exists || got != nil && got.DeletionTimestamp == nil {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

func TestGarbageCollection(t *testing.T) {
	t.Parallel()
	c := still()
	owner, err := c.Create("user", plan.ControllerRevisionKind, &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "o"}})
	if err != nil {
		t.Fatal(err)
	}
	other, err := c.Create("user", plan.ControllerRevisionKind, &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "o2"}})
	if err != nil {
		t.Fatal(err)
	}
	add := func(name string, uids ...types.UID) {
		pod := newPod(name)
		for _, uid := range uids {
			pod.OwnerReferences = append(pod.OwnerReferences, metav1.OwnerReference{UID: uid})
		}
		create(t, c, pod)
	}
	add("owned", owner.GetUID())
	add("shared", owner.GetUID(), other.GetUID())
	add("free")
	add("orphan", "nobody")
	if c.Pod(namespace, "orphan") != nil {
		t.Error("a pod whose owner does not exist stays")
	}
	if err := c.Delete("user", plan.ControllerRevisionKind, namespace, "o"); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, obj := range c.List(plan.PodKind) {
		names = append(names, obj.GetName())
	}
	if diff := cmp.Diff("free shared", strings.Join(names, " ")); diff != "" {
		t.Error(diff)
	}
}

// The life of a pod, seen at its conditions: each line is a time and what is true then.
func TestLife(t *testing.T) {
	t.Parallel()
	image := func(name string) func(*sim.Cluster) {
		return func(c *sim.Cluster) {
			_, _ = c.Do("a", patch(c.Pod(namespace, "p"), &plan.PodChange{Images: map[string]string{"main": name}}))
		}
	}
	for _, test := range []struct {
		name string
		at   map[time.Duration]func(*sim.Cluster)
		want []string
	}{
		{"it starts and becomes ready", nil, []string{
			"100ms on n1", "1.1s Running v1", "3.1s ready",
		}},
		{"a new image restarts the container", map[time.Duration]func(*sim.Cluster){5 * time.Second: image("v2")}, []string{
			"100ms on n1", "1.1s Running v1", "3.1s ready", "5s spec v2", "6.1s Running v2 restarts 1", "8.1s ready",
		}},
		{"an image that cannot be pulled hangs until it can", map[time.Duration]func(*sim.Cluster){
			4 * time.Second:  func(c *sim.Cluster) { c.SetImage("v2", sim.PullFails) },
			5 * time.Second:  image("v2"),
			30 * time.Second: func(c *sim.Cluster) { c.SetImage("v2", "") },
		}, []string{
			"100ms on n1", "1.1s Running v1", "3.1s ready", "5s spec v2", "6.1s Running v1 ImagePullBackOff",
			"31s Running v2 restarts 1", "33s ready",
		}},
		{"an image that crashes is tried again and again, with a growing pause", map[time.Duration]func(*sim.Cluster){
			4 * time.Second:  func(c *sim.Cluster) { c.SetImage("v2", sim.Crashes) },
			5 * time.Second:  image("v2"),
			90 * time.Second: image("v3"),
		}, []string{
			"100ms on n1", "1.1s Running v1", "3.1s ready", "5s spec v2", "6.1s Running v2 CrashLoopBackOff restarts 1",
			"26.1s Running v2 CrashLoopBackOff restarts 2", "1m6.1s Running v2 CrashLoopBackOff restarts 3",
			"1m30s spec v3", "1m31.1s Running v3 restarts 4", "1m33.1s ready",
		}},
		{"a crash is over soon", map[time.Duration]func(*sim.Cluster){5 * time.Second: func(c *sim.Cluster) { _ = c.Crash(namespace, "p") }}, []string{
			"100ms on n1", "1.1s Running v1", "3.1s ready", "5s Running v1 CrashLoopBackOff", "6s Running v1 restarts 1", "8s ready",
		}},
		{"so is a failing probe", map[time.Duration]func(*sim.Cluster){5 * time.Second: func(c *sim.Cluster) { _ = c.Unready(namespace, "p") }}, []string{
			"100ms on n1", "1.1s Running v1", "3.1s ready", "5s Running v1", "7s ready",
		}},
		{"a failed pod stays", map[time.Duration]func(*sim.Cluster){5 * time.Second: func(c *sim.Cluster) { _ = c.Fail(namespace, "p") }}, []string{
			"100ms on n1", "1.1s Running v1", "3.1s ready", "5s Failed v1",
		}},
		{"without a node it waits", map[time.Duration]func(*sim.Cluster){
			0:                func(c *sim.Cluster) { c.SetNodeGone("n1", true) },
			10 * time.Second: func(c *sim.Cluster) { c.SetNodeGone("n1", false) },
		}, []string{"10.1s on n1", "11.1s Running v1", "13.1s ready"}},
		{"a lost node takes it along", map[time.Duration]func(*sim.Cluster){5 * time.Second: func(c *sim.Cluster) { c.SetNodeGone("n1", true) }}, []string{
			"100ms on n1", "1.1s Running v1", "3.1s ready", "45s Running v1", "5m45s terminating", "10m45s gone",
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := alive()
			create(t, c, newPod("p"))
			openGate(t, c, "p")
			var got []string
			last := describe(c.Pod(namespace, "p"))
			c.Observe(func(sim.Write) error {
				if now := describe(c.Pod(namespace, "p")); now != last {
					last = now
					got = append(got, fmt.Sprintf("%s %s", c.Elapsed(), now))
				}
				return nil
			})
			for d := time.Duration(0); d <= 11*time.Minute; d += time.Second {
				c.Advance(d)
				if do := test.at[d]; do != nil {
					do(c)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// describe is a pod in a few words.
func describe(pod *corev1.Pod) string {
	switch {
	case pod == nil:
		return "gone"
	case pod.DeletionTimestamp != nil:
		return "terminating"
	case len(pod.Status.ContainerStatuses) == 0:
		return "on " + pod.Spec.NodeName
	}
	want, s := pod.Spec.Containers[0].Image, pod.Status.ContainerStatuses[0]
	waiting := s.State.Waiting
	if want != s.Image && (waiting == nil || waiting.Reason != "ImagePullBackOff") {
		return "spec " + want
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			return "ready"
		}
	}
	text := string(pod.Status.Phase) + " " + s.Image
	if waiting != nil {
		text += " " + waiting.Reason
	}
	if s.RestartCount > 0 {
		text += fmt.Sprintf(" restarts %d", s.RestartCount)
	}
	return text
}
