package command

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kubectl-kruise/kubectl-kruise/sandbox/binaries"
	"github.com/kubectl-kruise/kubectl-kruise/sandbox/cluster"
)

func (s *shared) up() *cobra.Command {
	var o cluster.Options
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Start the cluster, or do nothing if it is up",
		Example: `  kruise-sandbox up                             # one real node, as root
  kruise-sandbox up --nodes 3 --fake-nodes 20
  kruise-sandbox up --nodes 0 --fake-nodes 5    # needs neither root nor containerd`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			sandbox, err := s.sandbox()
			if err != nil {
				return err
			}
			if err := sandbox.Up(cmd.Context(), o); err != nil {
				return err
			}
			fmt.Fprintf(s.Out, "export KUBECONFIG=%s\n", sandbox.Kubeconfig())
			return nil
		},
	}
	f := cmd.Flags()
	f.IntVar(&o.Nodes, "nodes", 1, "number of real nodes: node1, node2, ... (0 to 9)")
	f.IntVar(&o.FakeNodes, "fake-nodes", 0, "number of fake nodes: fake1, fake2, ..., with the label type=kwok and the taint kwok.x-k8s.io/node=fake:NoSchedule")
	f.BoolVar(&o.Audit, "audit", false, "log every API request, without bodies, in log/audit.log of the state folder")
	f.BoolVar(&o.RealBackoff, "real-backoff", false, "let a container that ends again and again wait up to 5 minutes for its restart, as Kubernetes does by default, instead of 1 second")
	return cmd
}

func (s *shared) down() *cobra.Command {
	return &cobra.Command{
		Use:   "down",
		Short: "Stop the cluster and remove everything it made but its logs",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			sandbox, err := s.sandbox()
			if err != nil {
				return err
			}
			return sandbox.Down(cmd.Context())
		},
	}
}

func (s *shared) build() *cobra.Command {
	return &cobra.Command{
		Use:   "build",
		Short: "Build the cluster's programs into the cache, without starting anything",
		Long:  "Build the cluster's programs into the cache, without starting anything, and print where each one is. What is there already is not built again.",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := s.cacheDir()
			if err != nil {
				return err
			}
			cache := s.cache(dir)
			var names []string
			for _, p := range binaries.Programs() {
				names = append(names, p.Name)
			}
			if err := cache.Ensure(cmd.Context(), names...); err != nil {
				return err
			}
			for _, n := range names {
				fmt.Fprintln(s.Out, cache.Path(n))
			}
			return nil
		},
	}
}
