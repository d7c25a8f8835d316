package rollout

import (
	"context"
	"fmt"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/cluster"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
)

// conflictError says that the workload changed between reading and writing.
type conflictError struct{ err error }

func (e *conflictError) Error() string { return e.err.Error() }

// write sends the change of the intent as an action, so that dry-run and the binding to the UID hold for it as for all
// others. It returns the workload as it is afterwards; a client dry run makes the change in memory.
func (s *subject) write(ctx context.Context, change *cluster.IntentChange, dryRun cluster.DryRun) (*v1beta1.CloneSet, error) {
	if !change.Changes() {
		return s.set, nil
	}
	action := plan.Action{Verb: plan.Patch, On: s.ref(), Change: change, Why: "what is wanted is recorded before it is acted on"}
	if change.Exclusive() {
		action.ResourceVersion = s.set.ResourceVersion
	}
	executor := &cluster.Executor{API: s.client, DryRun: dryRun}
	on := cluster.Subject{Ref: s.ref(), APIVersion: s.served.APIVersion, Component: s.served.Component}
	report := executor.Run(ctx, on, []plan.Stage{{Name: "intent", Actions: []plan.Action{action}}})
	switch outcome := report.Outcomes[0]; outcome.Result {
	case cluster.Done, cluster.Checked:
		set, ok := outcome.Object.(*v1beta1.CloneSet)
		if !ok {
			return nil, fmt.Errorf("write %s: the server returned %T", s.target, outcome.Object)
		}
		return set, nil
	case cluster.Conflicted:
		return nil, &conflictError{outcome.Err}
	case cluster.Failed, cluster.Unknown:
		return nil, fmt.Errorf("write %s: %w", s.target, cluster.Explain(outcome.Err))
	case cluster.Skipped:
		if dryRun != cluster.DryRunClient {
			return nil, fmt.Errorf("write %s: %w", s.target, context.Cause(ctx))
		}
	}
	set := s.set.DeepCopy()
	return set, change.Apply(set)
}
