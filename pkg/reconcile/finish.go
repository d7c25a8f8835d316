package reconcile

import (
	"context"
	"slices"
	"time"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/cluster"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/view"
)

// finishTime is how long the end of a run waits for what it has begun.
const finishTime = 5 * time.Second

// finish answers for the pods that the run has touched: one in the middle of an in-place update stays out of its Services
// until its readiness gate is set, and nobody would set it once this process is gone. No further pod is touched: of each
// plan only the kind's finishing stages are carried out, the status among them, so that it says where the run has stopped.
// It ends when nothing is in flight, or after finishTime. Whoever lost the subject to another driver leaves it to that one.
func (c *Claim) finish(ctx context.Context, r *runner, result *Result) {
	mine := result.Why == view.StopInterrupted || result.Why == view.StopTimeout || result.Why == view.StopSuperseded
	if !mine || c.Choice.Role != cluster.Drive || result.Last == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishTime)
	defer cancel()
	defer context.AfterFunc(c.lost, cancel)()
	r.only = r.target.Finishing
	for r.sight.settled(ctx) {
		l := r.look(ctx)
		if l.decision == nil || ctx.Err() != nil {
			return
		}
		r.tell(l)
		result.Last, result.Object = l.decision, l.subject
		if !inFlight(l.decision.Plan) && (!r.finishes(l.decision.Plan) || r.session.Now().Before(r.lazyRetryAt)) {
			return
		}
		if !r.rest(ctx, r.act(ctx, l)) {
			return
		}
	}
}

// finishes says that a plan has something to write of what ends a run.
func (r *runner) finishes(p *plan.Plan) bool {
	return slices.ContainsFunc(p.Stages, func(s plan.Stage) bool { return slices.Contains(r.only, s.Name) && len(s.Actions) > 0 })
}

// inFlight says that something was begun on a pod that may still finish by itself. Pods in trouble are not waited for.
func inFlight(p *plan.Plan) bool {
	return slices.ContainsFunc(p.Verdicts, func(v plan.Verdict) bool {
		switch v.Reason {
		case plan.ReasonUpdating, plan.ReasonBookkeeping:
			return true
		case plan.ReasonNotReady:
			return v.Updated && v.Note == ""
		}
		return false
	})
}
