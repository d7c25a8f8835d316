package rollout

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/cluster"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/commands/cli"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/revision"
)

// newUndo makes the verb `rollout undo`.
func newUndo(deps *cli.Deps) *cobra.Command {
	var number int64
	var b batchFlags
	var asked *options
	cmd := &cobra.Command{
		Use:   "undo TYPE/NAME [--to-revision N] [flags]",
		Short: "Go back to an earlier revision, also in the middle of a rollout",
		Long: "Put the template of an earlier revision back and move the pods that are elsewhere to it, in place where possible,\n" +
			"within the limits of the workload. In the middle of a rollout that is the revision that the pods come from, and\n" +
			"pods that were not touched stay as they are; afterwards it is the one before. A pause, the partition and a batched\n" +
			"run end with it. With --batches the way back is a batched run of its own.",
		Example: "  kubectl kruise rollout undo cloneset/web\n  kubectl kruise rollout undo cloneset/web --to-revision 3",
	}
	b.add(cmd.Flags())
	cmd.Flags().Int64Var(&number, "to-revision", 0, "The number of the revision, see: kubectl kruise rollout history")
	return newDriving(deps, cmd, func(o *options, set func(string) bool) error {
		if set("to-revision") && number < 1 {
			return cli.Usagef("--to-revision %d: want 1 or more, see: kubectl kruise rollout history", number)
		}
		var err error
		o.batch, err = b.parse(set)
		o.carryOn, asked = true, o
		return err
	}, func(ctx context.Context, deps *cli.Deps, s *subject) (cluster.Intent, error) {
		in, err := s.back(ctx, deps, number)
		if err != nil || asked.batch.batches == "" {
			return in, err
		}
		return asked.firstBatch(ctx, deps, s, in)
	})
}

// back is the intent that puts an earlier revision's template back; number 0 finds it.
func (s *subject) back(ctx context.Context, deps *cli.Deps, number int64) (cluster.Intent, error) {
	planned, parts, err := s.look(ctx, deps, s.set, cli.LocalGates())
	if err != nil {
		return cluster.Intent{}, err
	}
	revisions, update := revisionsOf(parts), planned.Counts.UpdateRevision
	var to *appsv1.ControllerRevision
	switch {
	case number > 0:
		if to, err = s.numbered(revisions, "to-revision", number); err != nil {
			return cluster.Intent{}, err
		}
	case !revision.Same(planned.Counts.CurrentRevision, update):
		to = byName(revisions, planned.Counts.CurrentRevision)
	}
	if to == nil {
		to = newestBut(revisions, update)
	}
	if to == nil {
		return cluster.Intent{}, fmt.Errorf("%s has no earlier revision to go back to; nothing is written", s.target)
	}
	return s.toRevision(to, update)
}

// newestBut is the newest revision that is not the given one.
func newestBut(revisions []*appsv1.ControllerRevision, name string) *appsv1.ControllerRevision {
	for _, rev := range revisions {
		if !revision.Same(rev.Name, name) {
			return rev
		}
	}
	return nil
}

// toRevision is the intent to have the template of a revision, with nothing that keeps pods back: a partition that holds
// old pods would let the abandoned ones stay.
func (s *subject) toRevision(to *appsv1.ControllerRevision, update string) (cluster.Intent, error) {
	intent := cluster.Intent{Exclusive: true, Annotations: map[string]*string{keys.RunAnnotation: nil, keys.ApproveAnnotation: nil}}
	if !revision.Same(to.Name, update) {
		raw, err := templateOf(to, s.set)
		if err != nil {
			return intent, fmt.Errorf("%s: %w", s.target, err)
		}
		intent.Template = &cluster.Template{Raw: raw, From: update, To: to.Name}
	}
	if block := s.set.Spec.UpdateStrategy.RollingUpdate; block != nil {
		if block.Partition != nil {
			zero := intstr.FromInt32(0)
			intent.Partition = &zero
		}
		if block.Paused {
			paused := false
			intent.Paused = &paused
		}
	}
	return intent, nil
}

// templateOf is the pod template of a revision as it is stored in a workload.
func templateOf(rev *appsv1.ControllerRevision, set *v1beta1.CloneSet) (json.RawMessage, error) {
	var data struct {
		Spec struct{ Template map[string]any }
	}
	if err := json.Unmarshal(rev.Data.Raw, &data); err != nil {
		return nil, fmt.Errorf("read revision %s: %w", rev.Name, err)
	}
	template := data.Spec.Template
	if template["$patch"] != "replace" {
		merged, err := revision.PodTemplateFor(rev, &set.Spec.Template)
		if err != nil {
			return nil, err
		}
		return json.Marshal(merged)
	}
	delete(template, "$patch")
	if meta, ok := template["metadata"].(map[string]any); ok && meta["creationTimestamp"] == nil {
		delete(meta, "creationTimestamp")
	}
	return json.Marshal(template)
}
