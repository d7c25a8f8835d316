package main

import (
	"log/slog"
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/features"
)

// daemonCommand is the mode for nodes. It has no work yet but to be there: `check` counts the nodes that have one.
func daemonCommand(logger *slog.Logger) *cobra.Command {
	var gates, address string
	cmd := &cobra.Command{
		Use: "daemon", Short: "Stand on a node", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if _, err := features.Parse(gates); err != nil {
				return &usageError{err}
			}
			if os.Getenv("GOGC") == "" {
				debug.SetGCPercent(50) // one stands on every node, where memory is dearer than processor time
			}
			logger.Info("daemon", "version", buildVersion())
			return serve(cmd.Context(), address, newHealth().handler())
		},
	}
	cmd.Flags().StringVar(&gates, "feature-gates", "", "Feature gates, such as CloneSetShortHash=true")
	cmd.Flags().StringVar(&address, "health-addr", ":10221", "Where /healthz and /readyz are served")
	return cmd
}
