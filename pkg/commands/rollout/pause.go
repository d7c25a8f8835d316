package rollout

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/cluster"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/commands/cli"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/view"
)

// newPause makes the verb `rollout pause`. It never drives, so it may be used while somebody else does: that is when it is
// needed.
func newPause(deps *cli.Deps) *cobra.Command {
	var dry, output string
	cmd := &cobra.Command{
		Use:   "pause TYPE/NAME [flags]",
		Short: "Stop a rollout before its next pod",
		Long: "Record that no further pod is updated. Pods that are under way finish; whoever drives stops. It works while\n" +
			"somebody else drives.",
		Example:               "  kubectl kruise rollout pause cloneset/web",
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := parseTarget(cmd, args)
			if err != nil {
				return err
			}
			paused := true
			o := &options{target: t, intent: cluster.Intent{Paused: &paused}, gates: cli.LocalGates()}
			if err := o.parseNote(dry, output); err != nil {
				return err
			}
			return o.note(cmd.Context(), deps, func(s *subject) string { return "go on:   " + s.command(deps, "resume") })
		},
	}
	addNoteFlags(cmd, &dry, &output)
	return cmd
}

// addNoteFlags adds the flags of verbs that write an intent and do not wait.
func addNoteFlags(cmd *cobra.Command, dry, output *string) {
	cli.AddDryRunFlag(cmd.Flags(), dry)
	cmd.Flags().StringVarP(output, "output", "o", "", "Output format: json, yaml or name")
}

func (o *options) parseNote(dry, output string) error {
	var err error
	if o.dryRun, err = cli.ParseDryRun(dry); err != nil {
		return err
	}
	o.output, err = cli.ParseOutput(output, cli.JSON, cli.YAML, cli.Name)
	return err
}

// note records an intent, whoever drives, and says what to type next.
func (o *options) note(ctx context.Context, deps *cli.Deps, next func(*subject) string) error {
	s, err := find(ctx, deps, o.target)
	if err != nil {
		return err
	}
	voice := newVoice(deps, o, s)
	voice.note = cli.DryRunNote(o.dryRun)
	if err := o.record(ctx, deps, s, voice); err != nil {
		return err
	}
	if next != nil {
		voice.print(view.Line{Text: next(s), Result: true})
	}
	driver, err := s.driver(ctx, deps)
	if err != nil {
		return err
	}
	r := voice.snapshot(s, driver)
	if o.dryRun != cluster.DryRunNone {
		r.DryRun = string(o.dryRun)
	}
	return o.answer(deps, r)
}

// newResume makes the verb `rollout resume`.
func newResume(deps *cli.Deps) *cobra.Command {
	return newDriving(deps, &cobra.Command{
		Use:     "resume TYPE/NAME [flags]",
		Short:   "Go on with a paused rollout",
		Long:    "Record that pods may be updated again, then go on like rollout.",
		Example: "  kubectl kruise rollout resume cloneset/web",
	}, func(o *options, _ func(string) bool) error { o.carryOn = true; return nil }, func(_ context.Context, deps *cli.Deps, s *subject) (cluster.Intent, error) {
		return s.resumed(deps)
	})
}

// resumed is the intent to go on. A batched run that has failed gets another try at its batch.
func (s *subject) resumed(deps *cli.Deps) (cluster.Intent, error) {
	paused := false
	in := cluster.Intent{Paused: &paused}
	run, err := recordedRun(s.set)
	if err != nil {
		return in, fmt.Errorf("%s: %w", s.target, err)
	}
	if run == nil || run.Failed == "" {
		return in, nil
	}
	run.Failed, run.BatchStartedAt = "", deps.Now().UTC().Truncate(time.Second)
	text, err := run.Encode()
	in.Annotations, in.Exclusive = map[string]*string{keys.RunAnnotation: &text}, true
	return in, err
}

// newDriving completes a verb that records an intent and then drives or watches until it holds. check judges the verb's
// own flags without the cluster, prepare finds the intent.
func newDriving(deps *cli.Deps, cmd *cobra.Command, check func(*options, func(string) bool) error,
	prepare func(context.Context, *cli.Deps, *subject) (cluster.Intent, error)) *cobra.Command {
	var f flags
	cmd.DisableFlagsInUseLine = true
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		t, err := parseTarget(cmd, args)
		if err != nil {
			return err
		}
		o, err := f.toOptions(t, func(string) bool { return false })
		if err != nil {
			return err
		}
		if err := check(o, cmd.Flags().Changed); err != nil {
			return err
		}
		o.prepare = prepare
		return o.run(cmd.Context(), deps)
	}
	f.addRun(cmd.Flags())
	return cmd
}
