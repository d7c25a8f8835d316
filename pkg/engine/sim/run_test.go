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

func makePod(name string) plan.Action {
	return plan.Action{Verb: plan.Create, On: plan.Ref{Kind: plan.PodKind, Namespace: namespace, Name: name}, Object: newPod(name)}
}

// once is a driver that carries out one plan, and then has nothing to do.
func once(c *sim.Cluster, name string, lag time.Duration, stages ...plan.Stage) *sim.Driver {
	rounds := 0
	return &sim.Driver{Name: name, View: sim.NewView(c, lag), Plan: func(*sim.View, []sim.Failure) (*plan.Plan, error) {
		rounds++
		if rounds > 1 {
			return &plan.Plan{}, nil
		}
		return &plan.Plan{Stages: stages}, nil
	}}
}

// trace plays a run to its end and returns what the drivers did.
func trace(t *testing.T, run *sim.Run) string {
	t.Helper()
	var lines []string
	run.Trace = func(format string, args ...any) {
		lines = append(lines, strings.TrimSpace(fmt.Sprintf(format, args...)))
	}
	run.Start()
	if err := run.Settle(100); err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, "\n")
}

// Stages and chains stop as the real executor's do.
func TestHowPlansStop(t *testing.T) {
	t.Parallel()
	stages := []plan.Stage{
		{Name: "one", Actions: []plan.Action{makePod("a"), makePod("b"), makePod("c"), makePod("d")}},
		{Name: "two", Actions: []plan.Action{makePod("e")}},
	}
	for _, c := range []struct {
		name   string
		taken  string // the name of a pod that is there already
		faults []sim.Fault
		want   string
	}{
		{"nothing goes wrong", "", nil, "a b c d e"},
		{"a failure ends the plan after its group of 1", "", []sim.Fault{{At: 0, Kind: sim.FailWrite}}, ""},
		{"a failure ends the plan after its group of 2", "", []sim.Fault{{At: 1, Kind: sim.FailWrite}}, "a b"},
		{"a conflict ends the plan after its stage", "b", nil, "a b c d"},
		{"a lost answer is a failure that took effect", "", []sim.Fault{{At: 0, Kind: sim.LoseAnswer}}, "a"},
		{"a lost request is one that did not", "", []sim.Fault{{At: 0, Kind: sim.LoseRequest}}, ""},
		{"death before a write", "", []sim.Fault{{At: 1, Kind: sim.DieBefore, For: time.Second}}, "a"},
		{"death after a write", "", []sim.Fault{{At: 3, Kind: sim.DieAfter, For: time.Second}}, "a b c d"},
	} {
		cluster := still()
		if c.taken != "" {
			create(t, cluster, newPod(c.taken))
		}
		run := &sim.Run{Cluster: cluster, Drivers: []*sim.Driver{once(cluster, "me", 0, stages...)}, Interval: time.Second, Faults: c.faults}
		trace(t, run)
		var names []string
		for _, obj := range cluster.List(plan.PodKind) {
			names = append(names, obj.GetName())
		}
		if diff := cmp.Diff(c.want, strings.Join(names, " ")); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
		if run.Faulted.Total() != len(c.faults) {
			t.Errorf("%s: faults %v", c.name, run.Faulted)
		}
	}
}

// A chained write follows at the version that the first one returned, and not at all after a conflict.
func TestChains(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		faults []sim.Fault
		want   string
	}{
		{"undisturbed", nil, "patch Pod a: x=1\npatch Pod a: x=2"},
		{"spoiled at once", []sim.Fault{{At: 0, Kind: sim.Collide}}, "fault: conflict\npatch Pod a: x=1 -> conflict"},
		{"spoiled in between", []sim.Fault{{At: 1, Kind: sim.Collide}}, "patch Pod a: x=1\nfault: conflict\npatch Pod a: x=2 -> conflict"},
	} {
		cluster := still()
		pod := create(t, cluster, newPod("a"))
		then := *patch(pod, labels("x", "2"))
		then.ResourceVersion = pod.ResourceVersion
		first := *patch(pod, labels("x", "1"))
		first.ResourceVersion, first.Then = pod.ResourceVersion, &then
		run := &sim.Run{Cluster: cluster, Faults: c.faults,
			Drivers: []*sim.Driver{once(cluster, "me", 0, plan.Stage{Name: "s", Actions: []plan.Action{first}})}}
		_, got, _ := strings.Cut(trace(t, run), "\n")
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

// The second driver takes over where the first one stops, with a fresh look.
func TestHandOver(t *testing.T) {
	t.Parallel()
	c := still()
	first := once(c, "first", time.Hour, plan.Stage{Name: "s", Actions: []plan.Action{makePod("a"), makePod("b")}})
	second := &sim.Driver{Name: "second", View: sim.NewView(c, time.Hour), Plan: func(v *sim.View, _ []sim.Failure) (*plan.Plan, error) {
		if got := sees(v); got != "a" && got != "a c" {
			return nil, fmt.Errorf("the second driver sees %q", got)
		}
		if c.Pod(namespace, "c") != nil {
			return &plan.Plan{}, nil
		}
		return &plan.Plan{Stages: []plan.Stage{{Name: "s", Actions: []plan.Action{makePod("c")}}}}, nil
	}}
	run := &sim.Run{Cluster: c, Drivers: []*sim.Driver{first, second}, Faults: []sim.Fault{{At: 1, Kind: sim.HandOver}}}
	want := "0s first:\ncreate Pod a\nfault: hand-over\n0s second:\ncreate Pod c"
	if diff := cmp.Diff(want, trace(t, run)); diff != "" {
		t.Error(diff)
	}
}

func TestPlansWakeUp(t *testing.T) {
	t.Parallel()
	c := still()
	var at []time.Duration
	d := &sim.Driver{Name: "me", View: sim.NewView(c, 0), Plan: func(*sim.View, []sim.Failure) (*plan.Plan, error) {
		at = append(at, c.Elapsed())
		if len(at) > 3 {
			return &plan.Plan{}, nil
		}
		return &plan.Plan{Wake: c.Now().Add(time.Minute)}, nil
	}}
	run := &sim.Run{Cluster: c, Drivers: []*sim.Driver{d}}
	run.Start()
	if err := run.Settle(100); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]time.Duration{0, time.Minute, 2 * time.Minute, 3 * time.Minute}, at); diff != "" {
		t.Error(diff)
	}
}

// A world that never comes to rest is an error, not an endless loop.
func TestRestlessWorld(t *testing.T) {
	t.Parallel()
	c := still()
	d := &sim.Driver{Name: "me", View: sim.NewView(c, 0), Plan: func(*sim.View, []sim.Failure) (*plan.Plan, error) {
		return &plan.Plan{Wake: c.Now().Add(time.Second)}, nil
	}}
	run := &sim.Run{Cluster: c, Drivers: []*sim.Driver{d}}
	run.Start()
	if err := run.Settle(50); err == nil || run.Rounds > 50 {
		t.Errorf("error %v after %d rounds", err, run.Rounds)
	}
}
