// Package check is the verb `check`: whether what is installed in the cluster works, in words, with what to do about what
// does not. It changes nothing; what it asks the API server to make is made in a dry run.
package check

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/commands/cli"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/install"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/view"
)

type flags struct {
	wait    bool
	timeout time.Duration
	output  string
}

type options struct {
	namespace string
	wait      time.Duration
	output    cli.Output
}

// poll is the time between two looks with --wait.
const poll = time.Second

// New makes the verb.
func New(deps *cli.Deps) *cobra.Command {
	f := flags{timeout: 2 * time.Minute}
	cmd := &cobra.Command{
		Use:   "check [--wait] [-o json|yaml]",
		Short: "Say whether what is installed in the cluster works",
		Long: "Look at what is installed: versions, kinds, managers, who leads, webhooks, certificates and when they end, a dry run\n" +
			"through admission, the daemon on each node, pods that have missed a step of their admission, and your own rights\n" +
			"in the namespace. Below each thing that is not in order stands what to do. The exit code is 1 when one failed.",
		Example: "  kubectl kruise check\n" +
			"  kubectl kruise check --wait --timeout 1m\n" +
			"  kubectl kruise check -n shop -o json",
		Args:                  cli.NoArgs,
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, err := f.toOptions(cmd, deps)
			if err != nil {
				return err
			}
			return o.run(cmd.Context(), deps)
		},
	}
	cmd.Flags().BoolVar(&f.wait, "wait", false, "Look again until nothing fails")
	cmd.Flags().DurationVar(&f.timeout, "timeout", f.timeout, "How long to look again with --wait")
	cmd.Flags().StringVarP(&f.output, "output", "o", "", "Output format: json or yaml")
	return cmd
}

func (f *flags) toOptions(cmd *cobra.Command, deps *cli.Deps) (*options, error) {
	if !f.wait && cmd.Flags().Changed("timeout") {
		return nil, cli.Usagef("--timeout has no meaning without --wait")
	}
	if f.timeout <= 0 {
		return nil, cli.Usagef("--timeout %s: want a positive duration, e.g. 2m", f.timeout)
	}
	output, err := cli.ParseOutput(f.output, cli.JSON, cli.YAML)
	if err != nil {
		return nil, err
	}
	o := &options{output: output}
	if f.wait {
		o.wait = f.timeout
	}
	o.namespace, err = deps.Namespace()
	return o, err
}

func (o *options) run(ctx context.Context, deps *cli.Deps) error {
	target, err := install.Connect(deps.Config, cli.Progress(deps))
	if err != nil {
		return err
	}
	seen, err := o.look(ctx, deps, target)
	if err != nil {
		return err
	}
	if o.output != cli.Text {
		err = o.output.Write(deps.Out, seen)
	} else {
		_, err = io.WriteString(deps.Out, seen.Text())
	}
	if err != nil {
		return err
	}
	if failed := failures(seen); failed > 0 {
		return &cli.Error{Code: cli.Failure, Err: fmt.Errorf("%d of %d parts failed", failed, len(seen.Parts))}
	}
	return nil
}

func failures(seen *view.Check) int {
	n := 0
	for _, part := range seen.Parts {
		if part.Verdict == view.CheckFailed {
			n++
		}
	}
	return n
}

// look looks once or, with --wait, until nothing fails or the time is over.
func (o *options) look(ctx context.Context, deps *cli.Deps, target *install.Target) (*view.Check, error) {
	end := deps.Now().Add(o.wait)
	for {
		now := deps.Now()
		seen, err := target.Check(ctx, install.Question{
			Version: deps.Version, Install: keys.InstallNamespace, Namespace: o.namespace, Now: now,
		})
		if err != nil || seen.OK || !now.Before(end) {
			return seen, err
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(poll):
		}
	}
}
