package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/kubectl-kruise/kubectl-kruise/sandbox/cluster"
)

func (s *shared) status() *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show what runs; exits with 1 unless everything does",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			sandbox, err := s.sandbox()
			if err != nil {
				return err
			}
			st, err := sandbox.Status(cmd.Context())
			if err != nil {
				return err
			}
			printStatus(s.Out, sandbox, st)
			if !st.Up() {
				return errors.New("not everything runs; `kruise-sandbox up` starts afresh")
			}
			return nil
		},
	}
}

func printStatus(out io.Writer, sandbox *cluster.Sandbox, st cluster.Status) {
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(w, "COMPONENT\tSTATE\tPID")
	for _, c := range st.Components {
		state, pid := "running", fmt.Sprint(c.PID)
		if !c.Running {
			state, pid = "not running", "-"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", c.Name, state, pid)
	}
	w.Flush()
	if st.API {
		fmt.Fprintf(out, "\n%d of %d nodes ready (%s)\n", st.ReadyNodes, st.Options.Nodes+st.Options.FakeNodes, st.Options)
		fmt.Fprintf(out, "the cluster reaches this machine at %s\nKUBECONFIG=%s\n", st.Machine, sandbox.Kubeconfig())
	} else {
		fmt.Fprintln(out, "\nthe API server does not answer")
	}
}

func (s *shared) kubeconfig() *cobra.Command {
	var raw bool
	cmd := &cobra.Command{
		Use:     "kubeconfig",
		Short:   "Print the path of the administrator's kubeconfig, or with --raw its content",
		Example: `  export KUBECONFIG=$(kruise-sandbox kubeconfig)`,
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			sandbox, err := s.sandbox()
			if err != nil {
				return err
			}
			data, err := os.ReadFile(sandbox.Kubeconfig())
			if errors.Is(err, os.ErrNotExist) {
				return fmt.Errorf("%w in %s; `kruise-sandbox up` starts one", cluster.ErrNotUp, sandbox.Dir)
			}
			if err != nil {
				return err
			}
			if raw {
				_, err = s.Out.Write(data)
				return err
			}
			fmt.Fprintln(s.Out, sandbox.Kubeconfig())
			return nil
		},
	}
	cmd.Flags().BoolVar(&raw, "raw", false, "print the content, which holds the administrator's token")
	return cmd
}

func (s *shared) load() *cobra.Command {
	return &cobra.Command{
		Use:   "load IMAGE.tar",
		Short: "Import the images of an archive (docker save, or OCI) on every real node and push them to the registry",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			sandbox, err := s.sandbox()
			if err != nil {
				return err
			}
			names, err := sandbox.Load(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			fmt.Fprintln(s.Out, strings.Join(names, "\n"))
			return nil
		},
	}
}

func (s *shared) logs() *cobra.Command {
	var follow bool
	cmd := &cobra.Command{
		Use:     "logs COMPONENT",
		Short:   "Print a component's log; without COMPONENT list the components",
		Example: "  kruise-sandbox logs apiserver\n  kruise-sandbox logs node1-kubelet -f",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			sandbox, err := s.sandbox()
			if err != nil {
				return err
			}
			names := sandbox.Logs()
			if len(args) == 0 {
				fmt.Fprintln(s.Out, strings.Join(names, "\n"))
				return nil
			}
			f, err := os.Open(sandbox.LogFile(args[0]))
			if errors.Is(err, os.ErrNotExist) {
				return fmt.Errorf("no log of %q; there are logs of: %s", args[0], strings.Join(names, ", "))
			}
			if err != nil {
				return err
			}
			defer f.Close()
			return copyLog(cmd.Context(), s.Out, f, follow)
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on printing what is added, until interrupted")
	return cmd
}

// copyLog copies what is in the log and, when following, what is appended until ctx ends.
func copyLog(ctx context.Context, out io.Writer, log io.Reader, follow bool) error {
	for {
		if _, err := io.Copy(out, log); err != nil || !follow {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(200 * time.Millisecond):
		}
	}
}
