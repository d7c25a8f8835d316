package sim_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/sim"
)

// sees lists the pods of a view with their label x.
func sees(v *sim.View) string {
	var words []string
	for _, obj := range v.List(plan.PodKind) {
		words = append(words, obj.GetName()+obj.GetLabels()["x"])
	}
	return strings.Join(words, " ")
}

func expect(t *testing.T, when, want string, v *sim.View) {
	t.Helper()
	if diff := cmp.Diff(want, sees(v)); diff != "" {
		t.Errorf("%s: %s", when, diff)
	}
}

func TestViewIsLate(t *testing.T) {
	t.Parallel()
	c := still()
	create(t, c, newPod("a"))
	v := sim.NewView(c, 2*time.Second)
	expect(t, "a fresh list", "a", v)
	c.Advance(time.Second)
	create(t, c, newPod("b"))
	c.Advance(2 * time.Second)
	create(t, c, newPod("c"))
	if at, ok := v.Next(); !ok || at != 3*time.Second {
		t.Errorf("the next event is due at %s, %v", at, ok)
	}
	if v.Sync() {
		t.Error("an event came too early")
	}
	expect(t, "before the lag is over", "a", v)
	c.Advance(3 * time.Second)
	if !v.Sync() {
		t.Error("no event came")
	}
	expect(t, "after the lag", "a b", v)
	if err := c.Delete("user", plan.PodKind, namespace, "a"); err != nil {
		t.Fatal(err)
	}
	c.Advance(time.Minute)
	v.Sync()
	expect(t, "at last", "b c", v)
	if at, ok := v.Next(); ok {
		t.Errorf("something is due at %s", at)
	}
}

func TestLostWatch(t *testing.T) {
	t.Parallel()
	c := still()
	v := sim.NewView(c, 0)
	v.Lose(plan.PodKind)
	create(t, c, newPod("a"))
	c.Advance(time.Hour)
	if v.Sync() || sees(v) != "" {
		t.Error("a lost watch delivers")
	}
	if !v.Recover() {
		t.Error("nothing was recovered")
	}
	expect(t, "after a new list", "a", v)
	create(t, c, newPod("b"))
	v.Sync()
	expect(t, "with events again", "a b", v)
	if v.Recover() {
		t.Error("what was not lost was recovered")
	}
}

// Own writes are seen at once and stay seen until the watch has passed them; what others did later is seen then.
func TestReadYourWrites(t *testing.T) {
	t.Parallel()
	c := still()
	pod := create(t, c, newPod("a"))
	v := sim.NewView(c, 10*time.Second)
	write := func(a *plan.Action) {
		obj, err := c.Do("me", a)
		if err != nil {
			t.Fatal(err)
		}
		if obj != nil {
			v.Wrote(a.On.Kind, obj)
		} else {
			v.Gone(a.On.Kind, a.On.UID)
		}
	}
	c.Advance(time.Second)
	write(patch(pod, labels("x", "1")))
	write(&plan.Action{Verb: plan.Create, On: plan.Ref{Kind: plan.PodKind, Namespace: namespace, Name: "b"}, Object: newPod("b")})
	expect(t, "own writes", "a1 b", v)
	c.Advance(2 * time.Second)
	if _, err := c.Do("other", patch(pod, labels("x", "2"))); err != nil {
		t.Fatal(err)
	}
	c.Advance(11 * time.Second)
	v.Sync()
	expect(t, "the watch has come to the own writes", "a1 b", v)
	c.Advance(12 * time.Second)
	v.Sync()
	expect(t, "the watch has come to the other's write", "a2 b", v)

	write(&plan.Action{Verb: plan.Delete, On: ref(c.Pod(namespace, "a"))})
	expect(t, "an own deletion", "b", v)
	create(t, c, newPod("a"))
	c.Advance(30 * time.Second)
	v.Sync()
	expect(t, "a new pod of the same name", "a b", v)
}

// Reading one object from the server resolves a doubt in both directions.
func TestReadResolvesDoubts(t *testing.T) {
	t.Parallel()
	c := still()
	old := create(t, c, newPod("a"))
	v := sim.NewView(c, time.Hour)
	if err := c.Delete("other", plan.PodKind, namespace, "a"); err != nil {
		t.Fatal(err)
	}
	create(t, c, newPod("b"))
	v.Read(ref(old))
	v.Read(plan.Ref{Kind: plan.PodKind, Namespace: namespace, Name: "b"})
	v.Read(plan.Ref{Kind: plan.PodKind, Namespace: namespace, Name: "c"})
	expect(t, "after reading a, b and c", "b", v)
}

// A view that takes every event ends where the cluster is, whatever the lag between was.
func TestViewsConverge(t *testing.T) {
	t.Parallel()
	for lag := range 5 {
		c := alive()
		v := sim.NewView(c, time.Duration(lag)*time.Second)
		for i := range 20 {
			create(t, c, newPod(fmt.Sprintf("p%d", i*7%20)))
			if i%3 == 0 {
				_ = c.Delete("user", plan.PodKind, namespace, fmt.Sprintf("p%d", i))
			}
			c.Advance(c.Elapsed() + 700*time.Millisecond)
			v.Sync()
		}
		c.Advance(c.Elapsed() + time.Hour)
		v.Sync()
		if diff := cmp.Diff(c.List(plan.PodKind), v.List(plan.PodKind)); diff != "" {
			t.Errorf("lag %d: %s", lag, diff)
		}
	}
}
