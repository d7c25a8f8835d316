package rollout

import (
	"context"
	"reflect"
	"time"

	"github.com/spf13/cobra"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/commands/cli"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/reconcile"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/view"
)

type statusFlags struct {
	watch   bool
	timeout time.Duration
	output  string
	plain   bool
}

// newStatus makes the verb `rollout status`, which only looks.
func newStatus(deps *cli.Deps) *cobra.Command {
	var f statusFlags
	cmd := &cobra.Command{
		Use:   "status TYPE/NAME [--watch] [flags]",
		Short: "Show where a rollout stands and what it waits for",
		Long: "Show where a rollout stands, who drives it, what it waits for, and why each pod is as it is. Nothing is written.\n" +
			"With --watch it goes on until the rollout has reached its goal, with the exit codes of rollout.",
		Example:               "  kubectl kruise rollout status cloneset/web\n  kubectl kruise rollout status cloneset/web --watch --timeout 10m",
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := parseTarget(cmd, args)
			if err != nil {
				return err
			}
			o, err := f.toOptions(t)
			if err != nil {
				return err
			}
			return o.runStatus(cmd.Context(), deps, f.watch)
		},
	}
	cmd.Flags().BoolVarP(&f.watch, "watch", "w", false, "Watch until the goal is reached")
	cmd.Flags().DurationVar(&f.timeout, "timeout", 0, "Stop watching after that time; 0 watches as long as it takes")
	cmd.Flags().StringVarP(&f.output, "output", "o", "", "Output format: json or yaml; with --watch, json is a snapshot on a line for each change; jsonl: a line for each thing that happens")
	cmd.Flags().BoolVar(&f.plain, "plain", false, "No colours on terminals")
	return cmd
}

func (f *statusFlags) toOptions(t target) (*options, error) {
	output, err := cli.ParseOutput(f.output, cli.JSON, cli.YAML, cli.JSONL)
	switch {
	case err != nil:
		return nil, err
	case f.timeout < 0:
		return nil, cli.Usagef("--timeout %s: want 0 or more, e.g. 10m", f.timeout)
	case f.timeout > 0 && !f.watch:
		return nil, cli.Usagef("--timeout %s: nothing is waited for without --watch", f.timeout)
	case f.watch && output == cli.YAML:
		return nil, cli.Usagef("--output %q: want json or jsonl with --watch", f.output)
	}
	return &options{target: t, timeout: f.timeout, output: output, plain: f.plain, gates: cli.LocalGates()}, nil
}

func (o *options) runStatus(ctx context.Context, deps *cli.Deps, watch bool) error {
	s, err := find(ctx, deps, o.target)
	if err != nil {
		return err
	}
	v := newVoice(deps, o, s)
	stream := &stream{o: o, deps: deps, v: v}
	v.mute = o.output != cli.Text
	session := deps.Session(s.client, o.gates, "", stream.hear)
	target, look := s.loopTarget(), &lookout{}
	target.Served.Kind = look.beside(target.Served.Kind)
	look.set(func(scene reconcile.Scene, decision *reconcile.Decision) time.Time {
		if set, ok := scene.Subject.(*v1beta1.CloneSet); ok {
			v.tellRun(s, runView(scene.Now, set, scene.Parts, decision.Counts))
		}
		return time.Time{}
	})
	claim, err := session.Watch(ctx, target)
	if err != nil {
		return err
	}
	defer claim.Release()
	driver := cli.DriverOf(claim.Choice.Driver)
	if watch {
		return o.watch(ctx, s, claim, stream)
	}
	planned, parts, err := s.look(ctx, deps, s.set, o.gates)
	if err != nil {
		return err
	}
	r := view.NewRollout(planned, driver).WithoutPlans()
	r.Done, r.Run = s.served.Reached(s.set), runView(planned.At, s.set, parts, planned.Counts)
	if o.output == cli.Text {
		v.print(r.Text()...)
		return nil
	}
	v.show(planned, driver)
	v.tellRun(s, r.Run)
	return o.answer(deps, r)
}

// watch tells what happens until the goal is reached or something ends it.
func (o *options) watch(ctx context.Context, s *subject, claim *reconcile.Claim, stream *stream) error {
	attending, leave := context.WithCancel(context.WithoutCancel(ctx))
	defer leave()
	v := stream.v
	v.looksOnly = true
	if o.output == cli.Text {
		go v.attend(attending, ctx)
	}
	result := claim.Run(ctx, reconcile.RunOptions{Object: s.set, Timeout: o.timeout})
	switch o.output {
	case cli.JSONL:
		r := v.snapshot(s, cli.DriverOf(claim.Choice.Driver))
		r.Done, r.Stopped, r.Detail = result.Reached, result.Why, result.Detail
		if err := o.answer(stream.deps, r); err != nil {
			return err
		}
	case cli.JSON:
		r := v.snapshot(s, cli.DriverOf(claim.Choice.Driver))
		r.Done, r.Stopped, r.Detail = result.Reached, result.Why, result.Detail
		if err := stream.write(r); err != nil {
			return err
		}
	}
	return ending(ctx, result)
}

// stream passes events to the voice or, for machines, writes a line of JSON whenever the snapshot has changed.
type stream struct {
	o    *options
	deps *cli.Deps
	v    *voice
	last *view.Rollout
}

func (s *stream) hear(e view.Event) {
	if s.o.output != cli.JSON {
		s.v.hear(e)
		return
	}
	s.v.mu.Lock()
	s.v.narrator.Tell(e)
	r := s.v.narrator.Last()
	s.v.mu.Unlock()
	if _, ok := e.(view.Planned); !ok || r == nil {
		return
	}
	s.v.mu.Lock()
	r.Run = s.v.run
	s.v.mu.Unlock()
	at := r.At
	if r.At = (time.Time{}); s.last != nil && reflect.DeepEqual(r, s.last) {
		return
	}
	copied := *r
	s.last, copied.At = r, at
	_ = s.write(&copied) // a stream that is gone ends the command by itself
}

func (s *stream) write(r *view.Rollout) error { return cli.WriteLine(s.deps.Out, r) }
