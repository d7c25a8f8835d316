// Package uninstall is the verb `uninstall`: it takes away what `install` has put into the cluster, without a trace.
//
// Definitions that have objects stay unless the user says what becomes of the objects.
package uninstall

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/commands/cli"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/install"
)

type flags struct {
	keepCRDs      bool
	deleteObjects bool
	timeout       time.Duration
	output        string
}

type options struct {
	removal install.Removal
	output  cli.Output
}

// New makes the verb.
func New(deps *cli.Deps) *cobra.Command {
	f := flags{timeout: 2 * time.Minute}
	cmd := &cobra.Command{
		Use:   "uninstall [--keep-crds | --delete-objects]",
		Short: "Take away what install has put into the cluster",
		Long: "Take away the managers, the daemon, the webhooks and the kinds, and nothing else. The webhooks go first, so that\n" +
			"pods can be created at every moment.\n\n" +
			"Kinds that still have objects are not taken away unless you say what becomes of them: --keep-crds keeps kinds and\n" +
			"objects in the form that kubectl kruise works on from your machine; --delete-objects deletes the objects in all\n" +
			"namespaces, and with them their pods.",
		Example: "  kubectl kruise uninstall\n" +
			"  kubectl kruise uninstall --keep-crds",
		Args:                  cli.NoArgs,
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, err := f.toOptions(deps)
			if err != nil {
				return err
			}
			return o.run(cmd.Context(), deps)
		},
	}
	cmd.Flags().BoolVar(&f.keepCRDs, "keep-crds", false, "Keep the kinds and their objects, taken back to v1alpha1")
	cmd.Flags().BoolVar(&f.deleteObjects, "delete-objects", false, "Delete the objects of all kinds, everywhere, and their pods")
	cmd.Flags().DurationVar(&f.timeout, "timeout", f.timeout, "How long each thing may take to go")
	cmd.Flags().StringVarP(&f.output, "output", "o", "", "Output format: name")
	return cmd
}

func (f *flags) toOptions(deps *cli.Deps) (*options, error) {
	if f.keepCRDs && f.deleteObjects {
		return nil, cli.Usagef("--keep-crds and --delete-objects exclude each other")
	}
	if f.timeout <= 0 {
		return nil, cli.Usagef("--timeout %s: want a positive duration, e.g. 2m", f.timeout)
	}
	output, err := cli.ParseOutput(f.output, cli.Name)
	if err != nil {
		return nil, err
	}
	namespace, err := cli.InstallNamespace(deps)
	return &options{output: output, removal: install.Removal{
		Namespace: namespace, KeepCRDs: f.keepCRDs, DeleteObjects: f.deleteObjects, Wait: f.timeout, Now: deps.Now(),
	}}, err
}

func (o *options) run(ctx context.Context, deps *cli.Deps) error {
	target, err := install.Connect(deps.Config, cli.Progress(deps))
	if err != nil {
		return err
	}
	done, err := target.Uninstall(ctx, o.removal)
	var used *install.InUseError
	if errors.As(err, &used) {
		return fmt.Errorf("%w; nothing was removed; next: kubectl kruise uninstall --keep-crds (or --delete-objects)", err)
	}
	if done != nil {
		target.Refresh()
	}
	switch {
	case err == nil:
		o.report(deps, done)
		return nil
	case done == nil || len(done.Objects)+done.Deleted == 0:
		return err
	case ctx.Err() != nil:
		err = fmt.Errorf("interrupted: %w", err)
	}
	fmt.Fprintf(deps.ErrOut, "removed %d objects so far\n", len(done.Objects))
	return fmt.Errorf("%w; what is left goes with: kubectl kruise uninstall again", err)
}

// report says what went and what stays.
func (o *options) report(deps *cli.Deps, done *install.Removed) {
	if o.output == cli.Name {
		fmt.Fprint(deps.Out, strings.Join(append(done.Objects, ""), "\n"))
		return
	}
	if done.Deleted > 0 {
		fmt.Fprintf(deps.ErrOut, "deleted %d objects and what they owned\n", done.Deleted)
	}
	if done.Kept != "" {
		fmt.Fprintln(deps.ErrOut, done.Kept)
	}
	if n := len(done.Waiting); n > 0 {
		fmt.Fprintf(deps.ErrOut, "%d pods wait for the rest of their launch order, which nobody gives them now: %s; next: kubectl kruise reconcile -A until they have started\n",
			n, strings.Join(done.Waiting[:min(n, 3)], ", "))
	}
	switch {
	case len(done.Objects) == 0:
		fmt.Fprintln(deps.Out, "nothing to remove")
	case o.removal.KeepCRDs:
		fmt.Fprintf(deps.Out, "removed %d objects; the kinds stay, as v1alpha1\n", len(done.Objects))
	default:
		fmt.Fprintf(deps.Out, "removed %d objects\n", len(done.Objects))
	}
}
