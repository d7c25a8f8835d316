package batch_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/batch"
)

// world is the smallest cluster in which a run can be played: a workload with its annotations as texts, and pods as
// numbers. Writes are bound to a version.
type world struct {
	now                time.Time
	version            int
	run, approval      string
	revision           string
	replicas           int32
	partition          int32
	updated, available int32
	broken             bool

	scaled bool // the replicas were ever changed
}

// operator is a process that has seen the world at some time.
type operator struct{ seen world }

func (w *world) state() (batch.State, bool) {
	if w.run == "" {
		return batch.State{}, false
	}
	r, err := batch.Parse(w.run)
	if err != nil {
		panic(err)
	}
	s := batch.State{Now: w.now, Run: r, Approval: w.approval, UpdateRevision: w.revision, Replicas: w.replicas, Partition: w.partition,
		Updated: w.updated, UpdatedAvailable: w.available}
	if w.broken && w.available < w.updated {
		s.Failure = &batch.Failure{Cause: batch.CrashLoop}
	}
	return s, true
}

// act decides on what the operator has seen and writes, which fails if the workload has changed since.
func (o *operator) act(w *world) error {
	s, ok := o.seen.state()
	if !ok {
		return nil
	}
	d := batch.Next(s)
	if diff := cmp.Diff(d, batch.Next(s), cmpopts.IgnoreUnexported(batch.Run{})); diff != "" {
		return fmt.Errorf("the same state decides twice in different ways: %s", diff)
	}
	if o.seen.version != w.version || d.Run == nil && d.Step != batch.Complete {
		return nil
	}
	before := *w
	w.version++
	if d.Step == batch.Complete {
		if s.Updated != s.Replicas || w.partition != 0 {
			return fmt.Errorf("completed with %d of %d pods, partition %d", s.Updated, s.Replicas, w.partition)
		}
		w.run, w.approval = "", ""
		return nil
	}
	text, err := d.Run.Encode()
	if err != nil {
		return err
	}
	w.run, w.partition = text, d.Partition
	return w.check(before, s, d)
}

// check holds every write against the rules. What pods do meanwhile is not bound to the version of the workload, so they
// count as the operator saw them; a write that leaves the partition where it is takes nothing back.
func (w *world) check(before world, s batch.State, d batch.Decision) error {
	goals, _ := batch.Goals(d.Run.Batches, w.replicas)
	allowed := max(goals[d.Run.Batch-1], min(s.Updated, w.replicas))
	switch {
	case w.replicas-w.partition > allowed:
		return fmt.Errorf("%s lets %d pods move, batch %d has %d", d.Step, w.replicas-w.partition, d.Batch, allowed)
	case s.Run.Failed != "":
		return fmt.Errorf("%s after a failure", d.Step)
	case d.Run.Batch > s.Run.Batch+1 || d.Run.Batch < s.Run.Batch:
		return fmt.Errorf("batch %d after batch %d", d.Run.Batch, s.Run.Batch)
	case w.partition > before.partition && s.Run.Batch > 0 && !before.scaled:
		return fmt.Errorf("partition %d after %d", w.partition, before.partition)
	case w.partition > before.partition && w.replicas-w.partition < min(s.Updated, w.replicas) && s.Run.Batch > 0:
		return fmt.Errorf("%d pods are updated, partition %d of %d takes some back", s.Updated, w.partition, w.replicas)
	}
	if d.Step != batch.Begin || s.Run.Batch == 0 {
		return nil
	}
	if s.Updated < goals[s.Run.Batch-1] || s.UpdatedAvailable < s.Updated {
		return fmt.Errorf("batch %d begins before batch %d is done", d.Batch, s.Run.Batch)
	}
	switch a, err := batch.ParseApproval(before.approval); {
	case err == nil && a.Matches(w.revision, d.Batch):
	case s.Run.PauseBetween == "approve":
		return fmt.Errorf("batch %d begins with the approval %q", d.Batch, before.approval)
	case s.Run.PauseBetween != "" && before.now.Sub(s.Run.BatchStartedAt) < time.Minute:
		return fmt.Errorf("batch %d begins before the pause is over", d.Batch)
	}
	return nil
}

// progress is what the pods do by themselves, within the partition.
func (w *world) progress() {
	switch {
	case w.updated < w.replicas-w.partition:
		w.updated++
	case w.available < w.updated && !w.broken:
		w.available++
	}
}

func (w *world) scale(n int32) {
	w.version++
	w.replicas, w.scaled = n, true
	w.updated = min(w.updated, n)
	w.available = min(w.available, w.updated)
}

func TestRunsOfTwoOperators(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		operators := []*operator{{}, {}}
		for range rapid.IntRange(5, 60).Draw(t, "steps") {
			o := operators[rapid.IntRange(0, 1).Draw(t, "operator")]
			switch rapid.SampledFrom([]string{"look", "act", "act", "pods", "pods", "approve", "time", "flap", "scale", "break", "kill"}).Draw(t, "what") {
			case "look", "kill": // a process that starts again knows nothing but the cluster
				o.seen = *w
			case "act":
				if rapid.Bool().Draw(t, "fresh") {
					o.seen = *w
				}
				if err := o.act(w); err != nil {
					t.Fatal(err)
				}
			case "pods":
				w.progress()
			case "approve":
				w.version++
				w.approval = fmt.Sprintf("web-new/%d", rapid.IntRange(1, 4).Draw(t, "batch"))
			case "time":
				w.now = w.now.Add(rapid.SampledFrom([]time.Duration{time.Second, 40 * time.Second, 2 * time.Minute}).Draw(t, "time"))
			case "flap":
				w.available = max(w.available-1, 0)
			case "scale":
				if rapid.IntRange(0, 3).Draw(t, "scales") == 0 {
					w.scale(rapid.Int32Range(1, 12).Draw(t, "replicas"))
				}
			case "break":
				w.broken = rapid.IntRange(0, 9).Draw(t, "breaks") == 0
			}
		}
		finish(t, w)
	})
}

func newWorld(t *rapid.T) *world {
	w := &world{now: start, revision: "web-new", replicas: 10}
	r := run(func(r *batch.Run) {
		r.TargetRevision, r.Batch, r.Replicas, r.Partition = "web-new", 0, 0, 0
		r.PauseBetween = rapid.SampledFrom([]string{"", "approve", "1m"}).Draw(t, "pause")
	})
	text, err := r.Encode()
	if err != nil {
		t.Fatal(err)
	}
	w.run, w.partition = text, 10
	return w
}

// finish lets one operator who knows nothing go on with pods that work, and approves whatever is asked for: the run has
// to end, completed or failed.
func finish(t *rapid.T, w *world) {
	w.broken = false
	for range 300 {
		s, ok := w.state()
		if !ok {
			return // completed; what happens to the replicas afterwards is no matter of the run
		}
		d := batch.Next(s)
		switch d.Step {
		case batch.Fail:
			return
		case batch.Superseded:
			t.Fatalf("superseded by nobody: %s", d.Why)
		case batch.AwaitApproval:
			w.approval = batch.Approval{Revision: "new", Batch: d.Batch + 1}.String()
		case batch.AwaitTime:
			w.now = d.Until
		case batch.Hold:
			w.progress()
		}
		if err := (&operator{seen: *w}).act(w); err != nil {
			t.Fatal(err)
		}
	}
	t.Fatalf("no end: %+v", w)
}
