package batch

import (
	"fmt"
	"time"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/revision"
)

// State is what one look shows of a workload with a batched run.
type State struct {
	Now time.Time
	// Run is the recorded cursor. It is not changed.
	Run *Run
	// Approval is the text of the approval annotation.
	Approval string
	// UpdateRevision is the revision of the present template.
	UpdateRevision string
	// Replicas is how many pods are wanted, Partition how many of them the spec keeps back.
	Replicas, Partition int32
	// Updated and UpdatedAvailable are the pods at the update revision.
	Updated, UpdatedAvailable int32
	// Failure is what is wrong with the pods of the batch, see Judge; nil when nothing is.
	Failure *Failure
	// Deadline is how long a batch may take; 0 is for ever.
	Deadline time.Duration
}

// Step is the kind of a decision.
type Step string

// The decisions.
const (
	// Begin: record the next batch and let its pods move.
	Begin Step = "begin"
	// Adjust: the replicas have changed, the partition follows.
	Adjust Step = "adjust"
	// Hold: the goal of the batch does not hold yet.
	Hold Step = "hold"
	// Reach: record when the goal of the batch was reached, for the pause counts from there.
	Reach Step = "reach"
	// AwaitApproval: somebody has to approve the next batch.
	AwaitApproval Step = "await-approval"
	// AwaitTime: the pause before the next batch runs until Decision.Until.
	AwaitTime Step = "await-time"
	// Complete: the last batch is reached; the cursor is removed.
	Complete Step = "complete"
	// Fail: the batch failed; with a Run it is to be recorded.
	Fail Step = "failed"
	// Superseded: the run is about something that nobody wants any more.
	Superseded Step = "superseded"
)

// Decision is what to do about a run now.
type Decision struct {
	Step Step
	// Batch is the batch that the decision is about, counted from 1, Goal how many pods it has updated at its end.
	Batch int
	Goal  int32
	// Run is the cursor to record together with Partition, in one patch; nil when nothing is to be recorded.
	Run       *Run
	Partition int32
	// Until is when to look again if nothing happens; zero for never.
	Until time.Time
	// Why is one clause for people.
	Why string
}

// Next decides how a run goes on.
func Next(s State) Decision {
	r := s.Run
	goals, err := Goals(r.Batches, s.Replicas)
	if err != nil {
		return Decision{Step: Superseded, Batch: r.Batch, Why: err.Error()}
	}
	if !revision.Same(r.TargetRevision, s.UpdateRevision) {
		return Decision{Step: Superseded, Batch: r.Batch,
			Why: fmt.Sprintf("the run goes to %s, the template is at %s now", r.TargetRevision, s.UpdateRevision)}
	}
	if r.Failed != "" {
		return Decision{Step: Fail, Batch: r.Batch, Why: r.Failed}
	}
	if r.Batch == 0 {
		return s.begin(1, goals)
	}
	d := Decision{Step: Hold, Batch: r.Batch, Goal: goals[r.Batch-1], Partition: s.Partition}
	if s.Partition != r.Partition || s.Replicas != r.Replicas {
		return s.moved(d)
	}
	if s.Updated < d.Goal || s.UpdatedAvailable < s.Updated {
		return s.unreached(d)
	}
	return s.reached(d, goals)
}

// begin moves on to a batch.
func (s *State) begin(k int, goals []int32) Decision {
	d := Decision{Step: Begin, Batch: k, Goal: goals[k-1], Partition: s.partition(goals[k-1]),
		Why: fmt.Sprintf("batch %d of %d: %d of %d pods", k, len(goals), goals[k-1], s.Replicas)}
	run := *s.Run
	run.Batch, run.BatchStartedAt, run.ReachedAt = k, s.Now, time.Time{}
	run.Replicas, run.Partition = s.Replicas, d.Partition
	d.Run = &run
	return d
}

// partition keeps back what the goal does, but never asks pods to go back that are updated already.
func (s *State) partition(goal int32) int32 {
	return Partition(max(goal, min(s.Updated, s.Replicas)), s.Replicas)
}

// moved answers numbers that are not those that the batch was begun with. Other replicas move the partition with them;
// a partition that somebody else has set means that they want something else.
func (s *State) moved(d Decision) Decision {
	if s.Replicas == s.Run.Replicas {
		d.Step, d.Why = Superseded, fmt.Sprintf("somebody else set partition %d, batch %d has %d", s.Partition, d.Batch, s.Run.Partition)
		return d
	}
	run := *s.Run
	d.Step, d.Partition = Adjust, s.partition(d.Goal)
	d.Why = fmt.Sprintf("replicas %d -> %d, so batch %d is %d pods", run.Replicas, s.Replicas, d.Batch, d.Goal)
	run.Replicas, run.Partition, run.ReachedAt = s.Replicas, d.Partition, time.Time{}
	d.Run = &run
	return d
}

// unreached waits, unless waiting does not help.
func (s *State) unreached(d Decision) Decision {
	over := s.Run.BatchStartedAt.Add(s.Deadline)
	switch {
	case s.Failure != nil:
		return s.fail(d, s.Failure.String())
	case s.Deadline > 0 && !s.Now.Before(over):
		return s.fail(d, fmt.Sprintf("not done after %s: %d of %d pods updated, %d of them available", s.Deadline, s.Updated, d.Goal, s.UpdatedAvailable))
	}
	if s.Deadline > 0 {
		d.Until = over
	}
	d.Why = fmt.Sprintf("%d of %d pods updated, %d of them available", s.Updated, d.Goal, s.UpdatedAvailable)
	return d
}

func (s *State) fail(d Decision, why string) Decision {
	run := *s.Run
	run.Failed = fmt.Sprintf("batch %d of %d: %s", d.Batch, len(run.Batches), why)
	d.Step, d.Run, d.Why = Fail, &run, run.Failed
	return d
}

// reached goes on to the next batch, or says what it waits for.
func (s *State) reached(d Decision, goals []int32) Decision {
	next := d.Batch + 1
	if next > len(goals) {
		d.Step, d.Why = Complete, "the last batch is updated and available"
		return d
	}
	pause := s.Run.pause()
	if pause == (Pause{}) || approved(s.Approval, s.Run.TargetRevision, next) {
		return s.begin(next, goals)
	}
	if pause.Approve {
		d.Step, d.Why = AwaitApproval, fmt.Sprintf("batch %d of %d waits for an approval", next, len(goals))
		return d
	}
	if s.Run.ReachedAt.IsZero() {
		run := *s.Run
		run.ReachedAt = s.Now
		d.Step, d.Run, d.Why = Reach, &run, fmt.Sprintf("the pause of %s before batch %d begins", pause.For, next)
		return d
	}
	if until := s.Run.ReachedAt.Add(pause.For); s.Now.Before(until) {
		d.Step, d.Until, d.Why = AwaitTime, until, fmt.Sprintf("batch %d of %d waits %s after the one before", next, len(goals), pause.For)
		return d
	}
	return s.begin(next, goals)
}
