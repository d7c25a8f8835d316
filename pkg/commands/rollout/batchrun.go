package rollout

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/cluster"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/commands/cli"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/batch"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/reconcile"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/view"
)

// lookout sits beside the planner of a loop and ends the loop when the batched run has something else to do than to wait.
// What it sees is what the planner sees, so no pod is read twice.
type lookout struct {
	mu    sync.Mutex
	check func(reconcile.Scene, *reconcile.Decision) (wake time.Time)
}

// errLookAgain ends a loop whose run has to decide anew.
var errLookAgain = errors.New("the batch has something else to do")

// beside gives a kind a planner that the lookout listens to.
func (l *lookout) beside(kind *reconcile.Kind) *reconcile.Kind {
	copied, inner := *kind, kind.New
	copied.New = func(s reconcile.Settings) reconcile.Planner { return &attended{inner(s), l} }
	return &copied
}

type attended struct {
	reconcile.Planner
	lookout *lookout
}

// Decide implements reconcile.Planner.
func (a *attended) Decide(scene reconcile.Scene) (*reconcile.Decision, error) {
	d, err := a.Planner.Decide(scene)
	if err != nil {
		return d, err
	}
	a.lookout.mu.Lock()
	check := a.lookout.check
	a.lookout.mu.Unlock()
	if check != nil {
		d.Plan.WakeAt(check(scene, d))
	}
	return d, nil
}

func (l *lookout) set(check func(reconcile.Scene, *reconcile.Decision) time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.check = check
}

// batched carries a batched run on.
type batched struct {
	*options
	deps    *cli.Deps
	s       *subject
	claim   *reconcile.Claim
	voice   *voice
	lookout *lookout
	// over is when --timeout is over; zero for never.
	over time.Time
	// told is the last line about a decision.
	told string
	// begun says that this command has seen a batch through.
	begun bool
}

// run goes on until the run is complete or something ends it. Each turn starts from what the cluster says.
func (b *batched) run(ctx context.Context) error {
	if b.timeout > 0 {
		b.over = b.deps.Now().Add(b.timeout)
	}
	b.voice.started = b.deps.Now() // before the first event
	attending, leave := context.WithCancel(context.WithoutCancel(ctx))
	defer leave()
	go b.voice.attend(attending, ctx)
	for {
		d, found, err := b.decide(ctx)
		if err != nil {
			return err
		}
		if !found {
			return b.end(view.StopSuperseded, "the batched run was ended by somebody else", cli.Superseded)
		}
		done, err := b.turn(ctx, d)
		if done || err != nil {
			return err
		}
	}
}

// decide looks at the workload afresh.
func (b *batched) decide(ctx context.Context) (batch.Decision, bool, error) {
	fresh, err := find(ctx, b.deps, b.target)
	if err != nil {
		return batch.Decision{}, false, err
	}
	if fresh.set.UID != b.s.set.UID {
		return batch.Decision{}, false, fmt.Errorf("%s was replaced by another object of that name; nothing is written", b.target)
	}
	*b.s = *fresh
	planned, parts, err := b.s.look(ctx, b.deps, b.s.set, b.gates)
	if err != nil {
		return batch.Decision{}, false, err
	}
	state, _, found, err := stateOf(planned.At, b.s.set, parts, planned.Counts)
	if err != nil || !found {
		return batch.Decision{}, false, err
	}
	d := batch.Next(state)
	b.voice.tellRun(b.s, runOf(state.Run, d))
	return d, true, nil
}

// turn does what a decision says; true when that was the last.
func (b *batched) turn(ctx context.Context, d batch.Decision) (bool, error) {
	run, err := recordedRun(b.s.set)
	if err != nil {
		return false, err
	}
	switch d.Step {
	case batch.Begin:
		if b.begun && b.stops() == untilBatch {
			return true, b.pause(d.Batch - 1)
		}
		b.tell(d.Why)
		return false, b.write(ctx, d)
	case batch.Adjust, batch.Reach:
		b.tell(d.Why)
		return false, b.write(ctx, d)
	case batch.AwaitApproval, batch.AwaitTime:
		if b.stops() != untilComplete {
			return true, b.pause(d.Batch)
		}
		if b.tell(d.Why) && d.Step == batch.AwaitApproval {
			b.voice.say(view.Line{Text: "approve: " + b.s.command(b.deps, "approve")})
		}
		return b.wait(ctx, d)
	case batch.Hold:
		b.tell(fmt.Sprintf("batch %d of %d: %d of %d pods", d.Batch, len(run.Batches), d.Goal, replicasOf(b.s.set)))
		return b.wait(ctx, d)
	case batch.Complete:
		return true, b.complete(ctx, run)
	case batch.Fail:
		return b.fail(ctx, d, run)
	}
	return true, b.end(view.StopSuperseded, d.Why, cli.Superseded)
}

// stops is where the prompt is handed back.
func (b *batched) stops() until {
	if b.batch == nil {
		return untilComplete
	}
	return b.batch.until
}

// tell says something as progress, once.
func (b *batched) tell(text string) bool {
	if text == b.told {
		return false
	}
	b.told = text
	b.voice.say(view.Line{Text: text})
	return true
}

// write records the cursor and what goes with it. Somebody who was faster is no fault: the next turn sees what they did.
func (b *batched) write(ctx context.Context, d batch.Decision) error {
	var in cluster.Intent
	if err := record(&in, d, b.claim.Choice.Role == cluster.Delegate); err != nil {
		return err
	}
	return b.send(ctx, in)
}

func (b *batched) send(ctx context.Context, in cluster.Intent) error {
	change, err := b.s.judge(in, b.gates)
	if err != nil {
		return err
	}
	written, err := b.s.write(ctx, change, cluster.DryRunNone)
	var conflict *conflictError
	switch {
	case errors.As(err, &conflict):
		return nil
	case err != nil:
		return err
	}
	b.s.set = written
	if in.Template != nil {
		b.voice.changes(b.s, change, true)
	}
	return nil
}

// wait drives or watches until the run has something else to do than what it waits for; true when something ended it.
func (b *batched) wait(ctx context.Context, d batch.Decision) (bool, error) {
	work, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var paused *plan.Plan
	b.voice.swallow(func(e view.Event) bool {
		stopped, ok := e.(view.Stopped)
		return ok && stopped.Why == view.StopInterrupted && ctx.Err() == nil
	})
	defer b.voice.swallow(nil)
	b.lookout.set(func(scene reconcile.Scene, decision *reconcile.Decision) time.Time {
		set, ok := scene.Subject.(*v1beta1.CloneSet)
		if !ok {
			return time.Time{}
		}
		state, wake, found, err := stateOf(scene.Now, set, scene.Parts, decision.Counts)
		switch {
		case err != nil || !found || set.DeletionTimestamp != nil || batch.Next(state).Step != d.Step:
			cancel(errLookAgain)
			return time.Time{}
		case decision.Plan.Stopped != "":
			paused = decision.Plan
			cancel(errLookAgain)
		}
		return earlier(wake, batch.Next(state).Until)
	})
	defer b.lookout.set(nil)
	options := reconcile.RunOptions{Object: b.s.set, Forever: true}
	if !b.over.IsZero() {
		options.Timeout = max(b.over.Sub(b.deps.Now()), time.Millisecond)
	}
	b.voice.refuseBy(cancel)
	result := b.claim.Run(work, options)
	switch {
	case paused != nil:
		return true, b.end(view.StopPaused, "updates are paused", cli.Paused)
	case errors.Is(context.Cause(work), errLookAgain) && ctx.Err() == nil:
		b.begun = b.begun || d.Step == batch.Hold
		return false, nil
	}
	b.claim.Release()
	r := b.voice.snapshot(b.s, cli.DriverOf(b.claim.Choice.Driver))
	r.Done, r.Stopped, r.Detail = false, result.Why, result.Detail
	if err := b.answer(b.deps, r); err != nil {
		return true, err
	}
	return true, ending(work, result)
}

func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// pause hands back the prompt between two batches.
func (b *batched) pause(done int) error {
	b.voice.say(view.Line{Text: fmt.Sprintf("batch %d is done", done), Tone: view.Good})
	return b.end(view.StopPaused, fmt.Sprintf("between batch %d and %d", done, done+1), cli.Paused)
}

// end tells why the run is left, and how to go on.
func (b *batched) end(why view.StopReason, detail string, code cli.Code) error {
	text := map[view.StopReason]string{view.StopPaused: "paused", view.StopSuperseded: "superseded", view.StopFailed: "failed"}[why]
	b.voice.say(view.Line{Text: text + ": " + view.Clean(detail), Tone: view.Warn, Result: true})
	switch why {
	case view.StopPaused:
		b.voice.say(view.Line{Text: "go on:   " + b.s.command(b.deps), Result: true})
		if run, err := recordedRun(b.s.set); err == nil && run != nil && run.PauseBetween == "approve" {
			b.voice.say(view.Line{Text: "approve: " + b.s.command(b.deps, "approve"), Result: true})
		}
	case view.StopFailed:
		b.voice.say(view.Line{Text: "next: " + b.s.command(b.deps, "undo"), Result: true},
			view.Line{Text: "  or: " + b.s.command(b.deps, "resume"), Result: true})
	}
	b.claim.Release()
	r := b.voice.snapshot(b.s, cli.DriverOf(b.claim.Choice.Driver))
	r.Done, r.Stopped, r.Detail = false, why, detail
	if err := b.answer(b.deps, r); err != nil {
		return err
	}
	return cli.Stopped(code)
}

// complete removes the cursor, then sees the workload to its end like a rollout without batches.
func (b *batched) complete(ctx context.Context, run *batch.Run) error {
	b.failed = run.Undoes
	err := b.send(ctx, cluster.Intent{Exclusive: true, Annotations: map[string]*string{keys.RunAnnotation: nil, keys.ApproveAnnotation: nil}})
	if err != nil {
		return err
	}
	b.intent = cluster.Intent{}
	b.voice.tellRun(b.s, nil)
	return b.follow(ctx, b.deps, b.s, b.claim, b.voice)
}

// fail records a failure and does what the operator asked for; true when that was the last.
func (b *batched) fail(ctx context.Context, d batch.Decision, run *batch.Run) (bool, error) {
	if d.Run == nil { // it failed before
		return true, b.end(view.StopFailed, d.Why, cli.RolloutFailed)
	}
	if run.OnFailure == batch.Undo {
		return b.undo(ctx, d, run)
	}
	in := cluster.Intent{}
	if err := record(&in, d, false); err != nil {
		return true, err
	}
	paused := true
	in.Paused, in.Partition = &paused, nil
	if err := b.send(ctx, in); err != nil {
		return true, err
	}
	untouched := b.s.set.Status.Replicas - b.s.set.Status.UpdatedReplicas
	return true, b.end(view.StopFailed, fmt.Sprintf("%s; paused, %d pods untouched", d.Why, untouched), cli.RolloutFailed)
}

// undo records the way back of a failed run: a run of its own that takes the batches back in reverse, so that anybody can
// carry it on. It is true when there is none.
func (b *batched) undo(ctx context.Context, d batch.Decision, run *batch.Run) (bool, error) {
	b.voice.say(view.Line{Text: "failed: " + view.Clean(d.Why), Tone: view.Bad})
	parts, err := b.s.parts(ctx, b.s.set)
	if err != nil {
		return true, err
	}
	to := byName(revisionsOf(parts), run.FromRevision)
	if to == nil {
		return true, b.end(view.StopFailed, fmt.Sprintf("%s; revision %s is gone, nothing is taken back", d.Why, run.FromRevision), cli.RolloutFailed)
	}
	in, err := b.s.toRevision(to, run.TargetRevision)
	if err != nil {
		return true, err
	}
	change, err := b.s.judge(in, b.gates)
	if err != nil {
		return true, err
	}
	after := b.s.set.DeepCopy()
	if err := change.Apply(after); err != nil {
		return true, err
	}
	planned, err := b.s.planned(b.deps, after, parts, b.gates)
	if err != nil {
		return true, err
	}
	batches, err := batch.Back(run, planned.Counts.Wanted)
	if err != nil {
		return true, err
	}
	back := b.s.newRun(b.deps, batches, planned.Counts)
	back.FromRevision, back.OnFailure, back.Undoes = run.TargetRevision, batch.Stop, d.Why
	if err := begin(&in, back, planned.Counts, b.delegated); err != nil {
		return true, err
	}
	return false, b.send(ctx, in)
}
