// Package command holds the commands of kruise-sandbox.
package command

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/kubectl-kruise/kubectl-kruise/sandbox/binaries"
	"github.com/kubectl-kruise/kubectl-kruise/sandbox/cluster"
)

// Streams are where commands write: results to Out, progress to Err.
type Streams struct{ Out, Err io.Writer }

// shared is what all commands have in common.
type shared struct {
	Streams
	state string
	quiet bool
}

// New makes the command tree.
func New(streams Streams) *cobra.Command {
	s := &shared{Streams: streams}
	root := &cobra.Command{
		Use:   "kruise-sandbox",
		Short: "A Kubernetes cluster on this machine, without Docker",
		Long: `kruise-sandbox runs a Kubernetes cluster as plain processes on this machine: etcd, API server, controller manager,
scheduler, real nodes (kubelet, containerd) and fake ones (kwok). Real nodes need root. The programs are built once from
their Go modules. All state is in one folder; several sandboxes can be up at the same time, each with its own --state.`,
		SilenceUsage: true, SilenceErrors: true,
		Args: cobra.NoArgs,
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetOut(streams.Out)
	root.SetErr(streams.Err)
	root.PersistentFlags().StringVar(&s.state, "state", "", "folder with all state of the sandbox (default: kubectl-kruise/sandbox/state in the user's cache folder)")
	root.PersistentFlags().BoolVarP(&s.quiet, "quiet", "q", false, "print no progress")
	root.AddCommand(s.up(), s.down(), s.status(), s.kubeconfig(), s.load(), s.logs(), s.build(), launch(), registry())
	return root
}

// sandbox is the one that --state names.
func (s *shared) sandbox() (*cluster.Sandbox, error) {
	cache, err := s.cacheDir()
	if err != nil {
		return nil, err
	}
	dir := s.state
	if dir == "" {
		dir = filepath.Join(cache, "sandbox", "state")
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	// Mounts are known to the kernel by their real place.
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	return &cluster.Sandbox{Dir: dir, Cache: s.cache(cache), Say: s.say()}, nil
}

func (s *shared) cacheDir() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no cache folder: %w", err)
	}
	return filepath.Join(dir, "kubectl-kruise"), nil
}

func (s *shared) cache(dir string) binaries.Cache {
	return binaries.Cache{Dir: filepath.Join(dir, "bin"), Say: s.say()}
}

// say prints a line of progress with the time since the command began.
func (s *shared) say() func(string, ...any) {
	start := time.Now()
	return func(format string, args ...any) {
		if !s.quiet {
			fmt.Fprintf(s.Err, "%6.1fs  %s\n", time.Since(start).Seconds(), fmt.Sprintf(format, args...))
		}
	}
}
