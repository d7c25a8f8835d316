package rollout

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/cluster"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/commands/cli"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/reconcile"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/view"
)

// newAdopt makes the verb `rollout adopt`.
func newAdopt(deps *cli.Deps) *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "adopt TYPE/NAME [flags]",
		Short: "Take over pods that match the workload and belong to nobody",
		Long: "Make a workload the owner of the pods that its selector matches and that nobody owns, and of their volume claims:\n" +
			"those that a deletion with --cascade=orphan left behind. OpenKruise never does that by itself. Afterwards it goes on\n" +
			"like rollout: pods of another revision are updated, and if there are more than wanted some are deleted. Adopt\n" +
			"before anything drives the new workload, or it has made pods of its own by then.",
		Example: "  kubectl delete cloneset web --cascade=orphan && kubectl apply -f web.yaml\n" +
			"  kubectl kruise rollout adopt cloneset/web --dry-run\n  kubectl kruise rollout adopt cloneset/web",
		DisableFlagsInUseLine: true,
		RunE:                  f.doing(deps, func() deed { return deed{do: adopt} }),
	}
	f.addRun(cmd.Flags())
	return cmd
}

// adopt makes the workload the owner of orphans. Each write is bound to the version that was found without an owner.
func adopt(ctx context.Context, o *options, s *subject, voice *voice) error {
	pods, err := s.orphans(ctx, plan.PodKind)
	if err != nil {
		return err
	}
	// Claims come first: the planner makes those that a pod lacks.
	instances, stages := map[string]bool{}, []plan.Stage{{Name: "adopt claims"}, {Name: "adopt"}}
	own := func(stage *plan.Stage, kind schema.GroupKind, object plan.Object) {
		yes := true
		change := plan.MetaChange{SetOwner: &metav1.OwnerReference{APIVersion: s.served.APIVersion, Kind: s.target.kind.Kind,
			Name: s.set.Name, UID: s.set.UID, Controller: &yes, BlockOwnerDeletion: &yes}}
		stage.Actions = append(stage.Actions, plan.Action{Verb: plan.Patch, Change: &plan.ObjectChange{Meta: change},
			ResourceVersion: object.GetResourceVersion(), Why: "it belongs to nobody and the selector matches",
			On: plan.Ref{Kind: kind, Namespace: object.GetNamespace(), Name: object.GetName(), UID: object.GetUID()}})
	}
	adopted := 0
	for _, object := range pods {
		pod, ok := object.(*corev1.Pod)
		if !ok || pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded {
			continue
		}
		adopted++
		if id := pod.Labels[keys.InstanceIDLabel]; id != "" {
			instances[id] = true
		}
		own(&stages[1], plan.PodKind, pod)
	}
	if len(instances) > 0 && len(s.set.Spec.VolumeClaimTemplates) > 0 {
		claims, err := s.orphans(ctx, plan.ClaimKind)
		if err != nil {
			return err
		}
		for _, claim := range claims {
			if instances[claim.GetLabels()[keys.InstanceIDLabel]] {
				own(&stages[0], plan.ClaimKind, claim)
			}
		}
	}
	executor := &cluster.Executor{API: s.client, DryRun: o.dryRun, Told: voice.told(s)}
	on := cluster.Subject{Ref: s.ref(), APIVersion: s.served.APIVersion, Component: s.served.Component}
	report := executor.Run(ctx, on, stages)
	if failures := append(report.Failures(), report.Conflicts()...); len(failures) > 0 {
		f := failures[0]
		return fmt.Errorf("adopt %s %s: %w; typing the same again goes on", f.Action.On.Kind.Kind, f.Action.On.Name, cluster.Explain(f.Err))
	}
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	what := fmt.Sprintf("%d pods are adopted", adopted)
	if adopted == 1 {
		what = "1 pod is adopted"
	}
	voice.say(view.Line{Text: o.target.full() + " " + what + voice.note, Result: true})
	return nil
}

// orphans are the objects that the selector matches and that nobody owns.
func (s *subject) orphans(ctx context.Context, kind schema.GroupKind) ([]plan.Object, error) {
	i := slices.IndexFunc(s.served.Parts, func(p reconcile.Part) bool { return p.GroupKind == kind })
	selector, err := s.served.Parts[i].Selector(s.set)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.target, err)
	}
	list, _, err := s.client.List(ctx, kind, cluster.Scope{Namespace: s.namespace, Labels: selector})
	if err != nil {
		return nil, fmt.Errorf("list what %s could adopt: %w", s.target, cluster.Explain(err))
	}
	return slices.DeleteFunc(list, func(object plan.Object) bool {
		return len(object.GetOwnerReferences()) > 0 || object.GetDeletionTimestamp() != nil
	}), nil
}
