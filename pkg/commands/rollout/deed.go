package rollout

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/cluster"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/commands/cli"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/reconcile"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/view"
)

// deed is what a verb writes to the pods of a workload before it follows the workload to its goal.
type deed struct {
	do func(ctx context.Context, o *options, s *subject, voice *voice) error
	// beside gives the kind that is driven ears of the verb's; nil for none.
	beside func(*reconcile.Kind) *reconcile.Kind
}

// doing is what a verb with a deed runs.
func (f *flags) doing(deps *cli.Deps, of func() deed) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		t, err := parseTarget(cmd, args)
		if err != nil {
			return err
		}
		o, err := f.toOptions(t, func(string) bool { return false })
		if err != nil {
			return err
		}
		return o.carryOut(cmd.Context(), deps, of())
	}
}

// carryOut does it and follows; in a dry run, or when nobody waits, it only does it.
func (o *options) carryOut(ctx context.Context, deps *cli.Deps, d deed) error {
	s, err := find(ctx, deps, o.target)
	if err != nil {
		return err
	}
	voice := newVoice(deps, o, s)
	voice.note = cli.DryRunNote(o.dryRun)
	session := o.session(deps, s, voice)
	choice, err := o.choose(ctx, s, session)
	if err != nil {
		return err
	}
	if o.dryRun != cluster.DryRunNone || o.noWait {
		if err := d.do(ctx, o, s, voice); err != nil {
			return err
		}
		driver := cli.DriverOf(choice.Driver)
		if choice.Role == cluster.Drive {
			driver = view.Driver{Kind: view.DriverNone}
		}
		if o.noWait && choice.Role == cluster.Drive {
			voice.say(view.Line{Text: "nobody drives: nothing moves until somebody does; next: " + s.command(deps), Result: true})
		}
		return o.answer(deps, voice.snapshot(s, driver))
	}
	target := s.loopTarget()
	if d.beside != nil {
		target.Served.Kind = d.beside(target.Served.Kind)
	}
	claim, err := session.Claim(ctx, target)
	if err != nil {
		return s.explain(err)
	}
	defer claim.Release()
	if err := d.do(ctx, o, s, voice); err != nil {
		return err
	}
	return o.follow(ctx, deps, s, claim, voice)
}
