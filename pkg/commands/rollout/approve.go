package rollout

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/cluster"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/commands/cli"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/batch"
)

// newApprove makes the verb `rollout approve`. It never drives, and works while somebody else does.
func newApprove(deps *cli.Deps) *cobra.Command {
	var number int
	var dry, output string
	cmd := &cobra.Command{
		Use:   "approve TYPE/NAME [--batch N] [flags]",
		Short: "Let the next batch of a rollout begin",
		Long: "Record an approval of the next batch of a batched rollout. It holds for that revision and that batch alone; whoever\n" +
			"drives takes it from there. With --batch it is refused unless that is the next one.",
		Example:               "  kubectl kruise rollout approve cloneset/web\n  kubectl kruise rollout approve cloneset/web --batch 2",
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := parseTarget(cmd, args)
			if err != nil {
				return err
			}
			if cmd.Flags().Changed("batch") && number < 1 {
				return cli.Usagef("--batch %d: want 1 or more", number)
			}
			o := &options{target: t, gates: cli.LocalGates()}
			if err := o.parseNote(dry, output); err != nil {
				return err
			}
			approved := ""
			o.prepare = func(_ context.Context, _ *cli.Deps, s *subject) (cluster.Intent, error) {
				var in cluster.Intent
				in, approved, err = s.approval(number)
				return in, err
			}
			return o.note(cmd.Context(), deps, func(s *subject) string {
				return fmt.Sprintf("%s %s%s", s.target.full(), approved, cli.DryRunNote(o.dryRun))
			})
		},
	}
	cmd.Flags().IntVar(&number, "batch", 0, "The batch to approve, to be sure that it is the next one")
	addNoteFlags(cmd, &dry, &output)
	return cmd
}

// approval is the intent that approves the next batch of the recorded run, and the words for it.
func (s *subject) approval(number int) (cluster.Intent, string, error) {
	run, err := recordedRun(s.set)
	switch {
	case err != nil:
		return cluster.Intent{}, "", fmt.Errorf("%s: %w", s.target, err)
	case run == nil:
		return cluster.Intent{}, "", fmt.Errorf("%s has no rollout in batches; nothing is written", s.target)
	case run.Failed != "":
		return cluster.Intent{}, "", fmt.Errorf("%s: the rollout has failed: %s; nothing is written", s.target, run.Failed)
	case run.Batch >= len(run.Batches):
		return cluster.Intent{}, "", fmt.Errorf("%s is in its last batch, %d of %d; nothing is written", s.target, run.Batch, len(run.Batches))
	case number != 0 && number != run.Batch+1:
		return cluster.Intent{}, "", cli.Usagef("--batch %d: the next batch of %s is %d", number, s.target, run.Batch+1)
	}
	a := batch.Approval{Revision: run.TargetRevision, Batch: run.Batch + 1}
	text := a.String()
	words := fmt.Sprintf("batch %d of %d of %s approved", a.Batch, len(run.Batches), a.Revision)
	// Bound to the version: an approval for a batch that somebody else has just begun would be one for nothing.
	return cluster.Intent{Annotations: map[string]*string{keys.ApproveAnnotation: &text}, Exclusive: true}, words, nil
}
