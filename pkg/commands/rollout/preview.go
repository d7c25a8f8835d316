package rollout

import (
	"context"
	"fmt"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/cluster"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/commands/cli"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/view"
)

// preview is a dry run: the change is made in memory, or checked by the server, and the plan that would follow is shown.
// In a server dry run the server checks the first writes of the plan too, if it is for us to write them.
func (o *options) preview(ctx context.Context, deps *cli.Deps, s *subject, change *cluster.IntentChange, choice cluster.Choice) error {
	voice := newVoice(deps, o, s)
	voice.note = cli.DryRunNote(o.dryRun)
	written, err := s.write(ctx, change, o.dryRun)
	if err != nil {
		return err
	}
	voice.changes(s, change, !o.intent.IsZero())
	planned, _, err := s.look(ctx, deps, written, o.gates)
	if err != nil {
		return err
	}
	if note, refused := forbidden(planned.Plan); refused {
		return cli.Usagef("%s: %s", o.target, view.Clean(note))
	}
	r := view.NewRollout(planned, cli.DriverOf(choice.Driver))
	r.Changes, r.DryRun = voice.recorded, string(o.dryRun)
	voice.print(r.Preview()...)
	voice.show(planned, r.Driver)
	if o.dryRun == cluster.DryRunServer && choice.Role == cluster.Drive {
		executor := &cluster.Executor{API: s.client, DryRun: o.dryRun, Told: voice.told(s)}
		on := cluster.Subject{Ref: s.ref(), APIVersion: s.served.APIVersion, Component: s.served.Component}
		if failures := executor.Run(ctx, on, planned.Plan.Stages).Failures(); len(failures) > 0 {
			f := failures[0]
			return fmt.Errorf("the server would refuse to %s %s %s: %w", f.Action.Verb, f.Action.On.Kind.Kind, f.Action.On.Name, cluster.Explain(f.Err))
		}
	}
	return o.answer(deps, r)
}
