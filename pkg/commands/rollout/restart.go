package rollout

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/cluster"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/commands/cli"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/reconcile"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/view"
)

// newRestart makes the verb `rollout restart`.
func newRestart(deps *cli.Deps) *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "restart TYPE/NAME [flags]",
		Short: "Replace all pods by new ones of the same revision",
		Long: "Choose all pods of a workload for deletion and replace them within its limits, as many at a time as may be\n" +
			"unavailable. Pods are recreated: to restart containers where they are takes a daemon on the nodes, which this\n" +
			"command does not use. The template is not touched, and each pod comes back at the revision that the partition\n" +
			"gives it. The choice is recorded on the pods: whoever drives next goes on where this command stops.",
		Example:               "  kubectl kruise rollout restart cloneset/web",
		DisableFlagsInUseLine: true,
		RunE: f.doing(deps, func() deed {
			watch := &restarted{}
			return deed{do: watch.restart, beside: watch.beside}
		}),
	}
	f.addRun(cmd.Flags())
	return cmd
}

// restart chooses the pods that are there for deletion and remembers them.
func (r *restarted) restart(ctx context.Context, o *options, s *subject, voice *voice) error {
	marked, err := o.mark(ctx, s, voice)
	if err != nil {
		return err
	}
	r.left.Store(&marked)
	return nil
}

// mark chooses all active pods for deletion, except those that are chosen already, and returns who was there.
func (o *options) mark(ctx context.Context, s *subject, voice *voice) (map[types.UID]bool, error) {
	parts, err := s.parts(ctx, s.set)
	if err != nil {
		return nil, err
	}
	marked, stage := map[types.UID]bool{}, plan.Stage{Name: "restart"}
	for _, pod := range podsOf(parts) {
		if pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded {
			continue
		}
		marked[pod.UID] = true
		if _, chosen := pod.Labels[keys.SpecifiedDeleteLabel]; chosen {
			continue
		}
		change := &plan.PodChange{}
		change.Meta.Label(keys.SpecifiedDeleteLabel, "true")
		stage.Actions = append(stage.Actions, plan.Action{Verb: plan.Patch, Change: change, Why: "it is to be replaced by a new pod",
			On: plan.Ref{Kind: plan.PodKind, Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID}})
	}
	executor := &cluster.Executor{API: s.client, DryRun: o.dryRun, Told: voice.told(s)}
	on := cluster.Subject{Ref: s.ref(), APIVersion: s.served.APIVersion, Component: s.served.Component}
	report := executor.Run(ctx, on, []plan.Stage{stage})
	if failures := report.Failures(); len(failures) > 0 {
		f := failures[0]
		return nil, fmt.Errorf("choose pod %s: %w; typing the same again goes on", f.Action.On.Name, cluster.Explain(f.Err))
	}
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	voice.say(view.Line{Text: fmt.Sprintf("%s %d pods are replaced, at most %s unavailable%s", o.target.full(), len(marked),
		view.LimitsOf(s.set).MaxUnavailable, voice.note), Result: true})
	return marked, nil
}

// restarted knows which of the chosen pods are left. Where somebody else drives, the status of the workload says that its
// goal holds before the first of them has gone.
type restarted struct {
	left  atomic.Pointer[map[types.UID]bool]
	there atomic.Bool
}

// beside gives a kind a planner that is listened to.
func (r *restarted) beside(kind *reconcile.Kind) *reconcile.Kind {
	r.there.Store(true)
	watch := &lookout{}
	watch.set(func(scene reconcile.Scene, _ *reconcile.Decision) time.Time {
		left := r.left.Load()
		there := left == nil
		for _, pod := range podsOf(scene.Parts) {
			there = there || (*left)[pod.UID]
		}
		r.there.Store(there)
		return time.Time{}
	})
	copied, reached := watch.beside(kind), kind.Reached
	copied.Reached = func(subject plan.Object) bool { return !r.there.Load() && reached(subject) }
	return copied
}
