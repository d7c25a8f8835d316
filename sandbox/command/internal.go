package command

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/kubectl-kruise/kubectl-kruise/sandbox/image"
	"github.com/kubectl-kruise/kubectl-kruise/sandbox/process"
)

// launch is what every component's process begins as; see process.Start.
func launch() *cobra.Command {
	var pidFile string
	var cgroups []string
	cmd := &cobra.Command{
		Use:    "launch -- COMMAND [ARG...]",
		Hidden: true,
		Args:   cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return process.Become(pidFile, cgroups, args)
		},
	}
	cmd.Flags().StringVar(&pidFile, "pid-file", "", "where the process records itself")
	cmd.Flags().StringArrayVar(&cgroups, "cgroup", nil, "cgroup folder that the process joins")
	return cmd
}

// registry is the process of a sandbox's image registry.
func registry() *cobra.Command {
	var internal bool
	var listen string
	cmd := &cobra.Command{
		Use:    "registry",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if !internal {
				return errors.New("`registry` is started by `up`")
			}
			return image.Serve(listen)
		},
	}
	cmd.Flags().BoolVar(&internal, "internal", false, "says that `up` started this process")
	cmd.Flags().StringVar(&listen, "listen", "", "address to serve at")
	return cmd
}
