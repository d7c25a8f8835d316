// Command kruise-agent is what runs in the cluster: `manager` serves admission and conversion and drives the workloads,
// `daemon` stands on every node. It is configured by flags alone and writes JSON lines to its error stream.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// version is set by the linker. Without it the build information of the Go tool is used.
var version string

// usageError is a mistake in the command line: exit code 2.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:]))
}

func run(ctx context.Context, args []string) int {
	logger := slog.New(slog.NewJSONHandler(os.Stderr, nil))
	log.SetLogger(logr.FromSlogHandler(logger.Handler()))
	klog.SetSlogLogger(logger)

	root := command(logger)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	var usage *usageError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &usage):
		fmt.Fprintln(os.Stderr, "kruise-agent:", err)
		return 2
	}
	logger.Error("stopped", "error", err.Error())
	return 1
}

func command(logger *slog.Logger) *cobra.Command {
	root := &cobra.Command{
		Use: "kruise-agent", Short: "The part of kubectl-kruise that runs in the cluster", Version: buildVersion(),
		SilenceErrors: true, SilenceUsage: true, Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			return &usageError{errors.New("what to run is missing, want manager or daemon")}
		},
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &usageError{err} })
	root.AddCommand(managerCommand(logger), daemonCommand(logger))
	return root
}

func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return &usageError{fmt.Errorf("%s: unknown argument %q", cmd.CommandPath(), args[0])}
	}
	return nil
}

func buildVersion() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
}
