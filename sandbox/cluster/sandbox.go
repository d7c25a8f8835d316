// Package cluster brings a sandbox up and down: a Kubernetes cluster that runs as plain processes on this machine, with
// all its state below one folder.
//
// A sandbox with real nodes lives in a network namespace and in cgroups of its own, so that its interfaces, firewall
// rules and processes can be found and removed whatever happened to the program that made them, and several sandboxes
// do not meet. One without real nodes needs neither root nor containerd and listens on 127.0.0.1.
package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/kubectl-kruise/kubectl-kruise/sandbox/binaries"
	"github.com/kubectl-kruise/kubectl-kruise/sandbox/lock"
	"github.com/kubectl-kruise/kubectl-kruise/sandbox/network"
	"github.com/kubectl-kruise/kubectl-kruise/sandbox/process"
)

// Options say what kind of cluster `up` makes.
type Options struct {
	Nodes       int  `json:"nodes"`
	FakeNodes   int  `json:"fakeNodes"`
	Audit       bool `json:"audit"`
	RealBackoff bool `json:"realBackoff"`
}

// Validate says what is wrong with the options.
func (o Options) Validate() error {
	if o.Nodes < 0 || o.Nodes > network.MaxNodes {
		return fmt.Errorf("--nodes %d: allowed are 0 to %d", o.Nodes, network.MaxNodes)
	}
	if o.FakeNodes < 0 || o.FakeNodes > 5000 {
		return fmt.Errorf("--fake-nodes %d: allowed are 0 to 5000", o.FakeNodes)
	}
	return nil
}

func (o Options) String() string {
	return fmt.Sprintf("%s and %s", count(o.Nodes, "real node"), count(o.FakeNodes, "fake node"))
}

func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return strconv.Itoa(n) + " " + what
}

// record is what sandbox.json in the state folder says.
type record struct {
	Options
	Index int `json:"index"`
	// Ready is set at the end of `up`; without it the sandbox is an unfinished one.
	Ready bool `json:"ready"`
}

// Sandbox is one cluster, named by its state folder.
type Sandbox struct {
	Dir   string // absolute
	Cache binaries.Cache
	// Say reports progress, one line a call.
	Say func(format string, args ...any)

	record
	plan      network.Plan
	held      *os.File // the sandbox's lock
	started   time.Time
	mu        sync.Mutex
	processes []*process.Process // started by this program; guarded by mu
}

// Folders and files of the state folder.
func (s *Sandbox) path(elem ...string) string {
	return filepath.Join(append([]string{s.Dir}, elem...)...)
}

// Kubeconfig is the file with which a user reaches the cluster as administrator.
func (s *Sandbox) Kubeconfig() string { return s.path("kubeconfig", "admin") }

// LogFile is where a component's output goes.
func (s *Sandbox) LogFile(component string) string { return s.path("log", component+".log") }

// load reads sandbox.json. It reports false when there is none.
func (s *Sandbox) load() (bool, error) {
	data, err := os.ReadFile(s.path("sandbox.json"))
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if err := json.Unmarshal(data, &s.record); err != nil {
		return false, fmt.Errorf("%s: %w", s.path("sandbox.json"), err)
	}
	s.plan = network.Plan{Index: s.Index, Isolated: s.Nodes > 0}
	return true, nil
}

func (s *Sandbox) save() error {
	data, err := json.MarshalIndent(s.record, "", "  ")
	if err != nil {
		return err
	}
	tmp := s.path("sandbox.json.new")
	if err := os.WriteFile(tmp, append(data, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, s.path("sandbox.json"))
}

// acquire makes the state folder and waits until no other program changes this sandbox.
func (s *Sandbox) acquire(ctx context.Context) error {
	err := os.MkdirAll(s.Dir, 0o700)
	if err == nil {
		s.held, err = lock.Take(ctx, s.path("lock"), func() { s.Say("waiting for another kruise-sandbox that works on %s", s.Dir) })
	}
	if errors.Is(err, os.ErrPermission) {
		return fmt.Errorf("%s belongs to another user: %w", s.Dir, err)
	}
	return err
}

func (s *Sandbox) release() {
	s.held.Close()
	s.held = nil
}

func (s *Sandbox) watch(p *process.Process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.processes = append(s.processes, p)
}

func (s *Sandbox) watched() []*process.Process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.processes)
}

// components are the names of all processes that a sandbox with these options consists of.
func (o Options) components() []string {
	out := []string{"etcd", "apiserver", "controller-manager", "scheduler"}
	if o.Nodes > 0 {
		out = append(out, "registry", "proxy")
	}
	for n := 1; n <= o.Nodes; n++ {
		out = append(out, fmt.Sprintf("node%d-containerd", n), fmt.Sprintf("node%d-kubelet", n))
	}
	if o.FakeNodes > 0 {
		out = append(out, "kwok")
	}
	return out
}

// dead lists the components that do not run.
func (s *Sandbox) dead() []string {
	running := process.Recorded(s.path("pid"))
	var out []string
	for _, name := range s.components() {
		if !running[name].Alive() {
			out = append(out, name)
		}
	}
	return out
}
