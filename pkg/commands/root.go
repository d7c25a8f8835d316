package commands

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/commands/check"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/commands/cli"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/commands/install"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/commands/launchorder"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/commands/reconcile"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/commands/rollout"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/commands/uninstall"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/commands/version"
)

// Main runs the command line args and returns the exit code. Errors are told on the error stream, in one line each.
func Main(ctx context.Context, deps cli.Deps, args []string) cli.Code {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	deps.Out = &cli.Pipe{W: deps.Out, Stop: stop}
	deps.ErrOut = &cli.Pipe{W: deps.ErrOut, Stop: stop}

	root := New(deps)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err != nil && !cli.Silent(ctx, err) {
		fmt.Fprintf(deps.ErrOut, "error: %s\n", cli.Explain(err))
	}
	return cli.CodeOf(ctx, err)
}

// New makes the command tree. Nothing is read or connected before a verb runs.
func New(deps cli.Deps) *cobra.Command {
	root := &cobra.Command{
		Use:   "kubectl-kruise",
		Short: "Run OpenKruise's algorithms from your own machine",
		Long: "kubectl kruise rolls out OpenKruise workloads, in place and batch by batch, from the machine where you type.\n" +
			"Where a cluster has a controller for them already, it changes the specs, watches and explains.",
		Annotations:       map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl kruise"},
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.SetIn(deps.In)
	root.SetOut(deps.Out)
	root.SetErr(deps.ErrOut)
	root.SetUsageFunc(usage)
	root.SetHelpFunc(help)
	root.SetHelpCommand(helpCommand())
	root.SetFlagErrorFunc(cli.FlagError)
	groupOf(root)

	if deps.Config == nil {
		deps.Config = globalFlags(root, &deps)
	}
	level := root.PersistentFlags().IntP("v", "v", 0, "Log level of the client libraries; 0 logs nothing")
	root.PersistentPreRun = func(*cobra.Command, []string) {
		if deps.SetLogLevel != nil && *level > 0 {
			deps.SetLogLevel(*level)
		}
	}

	root.AddCommand(
		check.New(&deps),
		install.New(&deps),
		launchOrder(&deps),
		reconcile.New(&deps),
		rollout.New(&deps),
		uninstall.New(&deps),
		version.New(&deps),
		optionsCommand(),
	)
	return root
}

func launchOrder(deps *cli.Deps) *cobra.Command {
	cmd := launchorder.New(deps)
	groupOf(cmd)
	return cmd
}

// groupOf makes a command that only has subcommands: alone it prints its help, with an unknown word it says which there
// are.
func groupOf(cmd *cobra.Command) {
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		return cli.Usagef("unknown command %q for %q; it has: %s", args[0], cmd.CommandPath(), strings.Join(verbs(cmd), ", "))
	}
}

func verbs(cmd *cobra.Command) []string {
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return names
}

// globalFlags adds kubectl's own flags and the limit of requests. The limit is off unless asked for: writes have their
// own slow start.
func globalFlags(root *cobra.Command, deps *cli.Deps) genericclioptions.RESTClientGetter {
	qps := root.PersistentFlags().Float32("qps", -1, "Limit of requests a second to the API server; negative means none")
	config := genericclioptions.NewConfigFlags(true).WithDeprecatedPasswordFlag()
	config.AddFlags(root.PersistentFlags())
	warnings := rest.NewWarningWriter(deps.ErrOut, rest.WarningWriterOptions{Deduplicate: true})
	return config.WithWrapConfigFn(func(c *rest.Config) *rest.Config {
		c.QPS, c.Burst = *qps, int(max(1, 2**qps))
		c.UserAgent = "kubectl-kruise"
		c.WarningHandler = warnings
		return c
	})
}
