package rollout

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/cluster"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/commands/cli"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/reconcile"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/view"
)

// New makes the verb and those below it.
func New(deps *cli.Deps) *cobra.Command {
	var f flags
	var b batchFlags
	cmd := &cobra.Command{
		Use:   "rollout TYPE/NAME [flags]",
		Short: "Bring a workload to what is wanted, pod by pod",
		Long: "Record what is wanted of a workload, then bring its pods there within its limits, or watch whoever does, until as\n" +
			"many pods as the partition lets move are updated and available. Without flags it goes on where an earlier run,\n" +
			"here or on another machine, has stopped.\n\n" +
			"With --batches the cursor of the run is recorded on the workload before each batch, so that anybody can approve the next\n" +
			"batch, see where it stands (rollout why), or carry it on by typing rollout.\n\n" +
			"Ctrl-C stops at a safe point and says how to go on; a second one ends the program at once. Nothing is lost.",
		Example: "  kubectl kruise rollout cloneset/web --image nginx=nginx:1.27 --partition 80%\n" +
			"  kubectl kruise rollout cloneset/web --image nginx=nginx:1.27 --batches 1,25%,100% --pause-between approve\n" +
			"  kubectl kruise rollout cloneset/web --partition 0      # the rest\n" +
			"  kubectl kruise rollout cloneset/web --paused           # stop\n" +
			"  kubectl kruise rollout cloneset/web --dry-run=server   # what would happen",
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			t, err := parseTarget(cmd, args)
			if err != nil {
				return err
			}
			o, err := f.toOptions(t, cmd.Flags().Changed)
			if err != nil {
				return err
			}
			if o.batch, err = b.parse(cmd.Flags().Changed); err != nil {
				return err
			}
			o.carryOn, o.prepare = true, o.prepareBatches(o.intent)
			return o.run(cmd.Context(), deps)
		},
	}
	f.add(cmd.Flags())
	b.add(cmd.Flags())
	cmd.AddCommand(newStatus(deps), newPlan(deps), newWhy(deps), newHistory(deps),
		newPause(deps), newResume(deps), newUndo(deps), newScale(deps), newScaleDown(deps), newApprove(deps), newRestart(deps), newAdopt(deps))
	return cmd
}

// run judges, finds out who drives, records, and then drives or watches. Each step may end it; nothing is written before
// all that could be judged has been.
func (o *options) run(ctx context.Context, deps *cli.Deps) error {
	s, err := find(ctx, deps, o.target)
	if err != nil {
		return err
	}
	change, err := o.judged(ctx, deps, s)
	if err != nil {
		return err
	}
	voice := newVoice(deps, o, s)
	session := o.session(deps, s, voice)
	choice, err := o.choose(ctx, s, session)
	if err != nil {
		return err
	}
	o.delegated = choice.Role == cluster.Delegate
	switch {
	case o.dryRun != cluster.DryRunNone:
		return o.preview(ctx, deps, s, change, choice)
	case o.noWait:
		return o.leave(ctx, deps, s, choice)
	}
	target, watch := s.loopTarget(), &lookout{}
	target.Served.Kind = watch.beside(target.Served.Kind)
	claim, err := session.Claim(ctx, target)
	if err != nil {
		return s.explain(err)
	}
	defer claim.Release()
	if err := o.record(ctx, deps, s, voice); err != nil {
		return err
	}
	if _, batches := s.set.Annotations[keys.RunAnnotation]; batches && o.carryOn {
		return (&batched{options: o, deps: deps, s: s, claim: claim, voice: voice, lookout: watch}).run(ctx)
	}
	return o.follow(ctx, deps, s, claim, voice)
}

// judged finds what the command wants of the workload as it is now, and judges it.
func (o *options) judged(ctx context.Context, deps *cli.Deps, s *subject) (*cluster.IntentChange, error) {
	if o.prepare != nil {
		var err error
		if o.intent, err = o.prepare(ctx, deps, s); err != nil {
			return nil, err
		}
	}
	return s.judge(o.intent, o.gates)
}

// choose finds out who drives, without taking anything, and refuses a rollout whose writes the server would.
func (o *options) choose(ctx context.Context, s *subject, session *reconcile.Session) (cluster.Choice, error) {
	lease := cluster.SubjectLease(o.target.kind.Kind, o.target.name)
	facts, err := cluster.ReadLeases(ctx, s.client, s.namespace, lease)
	if err != nil {
		return cluster.Choice{}, err
	}
	choice, err := cluster.Choose(facts, session.Holder, o.mode, session.Now())
	var held *cluster.LeaseHeldError
	if errors.As(err, &held) && cluster.SameUser(held.Driver.Holder, session.Holder) && !o.noWait {
		return cluster.Choice{Role: cluster.Drive}, nil // left over from an earlier run; Claim waits until it has run out
	}
	if err != nil {
		return choice, s.explain(err)
	}
	if choice.Role == cluster.Drive && !o.noWait && o.dryRun != cluster.DryRunClient {
		err = s.mayDrive(ctx)
	}
	return choice, err
}

// record writes what is wanted as one patch of the fields that differ. A workload that changed meanwhile is judged again.
func (o *options) record(ctx context.Context, deps *cli.Deps, s *subject, voice *voice) error {
	for range 3 {
		fresh, err := find(ctx, deps, o.target)
		if err != nil {
			return err
		}
		if fresh.set.UID != s.set.UID {
			return fmt.Errorf("%s was replaced by another object of that name; nothing is written", o.target)
		}
		change, err := o.judged(ctx, deps, fresh)
		if err != nil {
			return err
		}
		written, err := fresh.write(ctx, change, o.dryRun)
		if conflict := new(conflictError); errors.As(err, &conflict) {
			continue
		}
		if err != nil {
			return err
		}
		voice.changes(fresh, change, !o.intent.IsZero())
		*s = *fresh
		s.set = written
		return nil
	}
	return fmt.Errorf("%s is changed by others all the time; nothing is written", o.target)
}

// leave records and says who will act on it.
func (o *options) leave(ctx context.Context, deps *cli.Deps, s *subject, choice cluster.Choice) error {
	voice := newVoice(deps, o, s)
	if err := o.record(ctx, deps, s, voice); err != nil {
		return err
	}
	driver := cli.DriverOf(choice.Driver)
	if choice.Role == cluster.Drive {
		driver = view.Driver{Kind: view.DriverNone}
	}
	next := driver.Sentence()
	if driver.Kind == view.DriverNone {
		next = "nobody drives: nothing moves until somebody does; next: " + s.command(deps)
	}
	voice.print(view.Line{Text: next, Result: true})
	return o.answer(deps, voice.snapshot(s, driver))
}

// ref is the identity that writes are bound to.
func (s *subject) ref() plan.Ref {
	return plan.Ref{Kind: s.target.kind.GroupKind, Namespace: s.namespace, Name: s.target.name, UID: s.set.UID}
}

// loopTarget is the workload as a loop names it.
func (s *subject) loopTarget() reconcile.Target {
	return reconcile.Target{Served: s.served, Namespace: s.namespace, Name: s.target.name}
}

// explain turns a refusal to drive into a sentence about this workload.
func (s *subject) explain(err error) error {
	var held *cluster.LeaseHeldError
	if errors.As(err, &held) {
		return fmt.Errorf("%s is %w; watch it with: kubectl kruise rollout status %s --watch", s.target, err, s.target)
	}
	return err
}

// session is how the verbs drive a subject.
func (o *options) session(deps *cli.Deps, s *subject, voice *voice) *reconcile.Session {
	session := deps.Session(s.client, o.gates, o.mode, voice.hear)
	session.Resize, session.KeepOrders = s.resize, !o.release
	return session
}
