package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/kubectl-kruise/kubectl-kruise/sandbox/image"
	"github.com/kubectl-kruise/kubectl-kruise/sandbox/process"
)

// ErrNotUp says that there is no running sandbox in the state folder.
var ErrNotUp = errors.New("no sandbox is up")

// Component is one process of the cluster.
type Component struct {
	Name    string
	PID     int
	Running bool
}

// Status is what `status` shows.
type Status struct {
	Options Options
	// Machine is where pods and API server reach programs on this machine.
	Machine    string
	Components []Component
	// API says whether the API server answers; ReadyNodes is counted only then.
	API        bool
	ReadyNodes int
}

// Up says whether everything runs.
func (st Status) Up() bool {
	return st.API && !slices.ContainsFunc(st.Components, func(c Component) bool { return !c.Running })
}

// Status looks at the sandbox without changing it.
func (s *Sandbox) Status(ctx context.Context) (Status, error) {
	known, err := s.load()
	if err != nil {
		return Status{}, err
	}
	if !known {
		return Status{}, fmt.Errorf("%w in %s", ErrNotUp, s.Dir)
	}
	st := Status{Options: s.Options, Machine: loopback.String()}
	if s.plan.Isolated {
		st.Machine = s.plan.HostAddr().String()
	}
	recorded := process.Recorded(s.path("pid"))
	for _, name := range s.components() {
		id := recorded[name]
		st.Components = append(st.Components, Component{Name: name, PID: id.PID, Running: id.Alive()})
	}
	client, err := s.api()
	if err != nil {
		return st, nil // keys are not made yet: nothing answers
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if st.API = client.ready(ctx); st.API {
		st.ReadyNodes, err = client.readyNodes(ctx)
	}
	return st, err
}

// Load imports the images of an archive on every node and pushes them to the registry. It returns their names.
func (s *Sandbox) Load(ctx context.Context, archive string) ([]string, error) {
	images, done, err := image.Open(archive)
	if err != nil {
		return nil, err
	}
	defer done()
	if err := s.acquire(ctx); err != nil {
		return nil, err
	}
	defer s.release()
	known, err := s.load()
	switch {
	case err != nil:
		return nil, err
	case !known || len(s.dead()) > 0:
		return nil, fmt.Errorf("%w in %s", ErrNotUp, s.Dir)
	case s.Nodes == 0:
		return nil, errors.New("the sandbox has no real node, so there is nowhere to load images")
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return s.push(ctx, images) })
	for n := 1; n <= s.Nodes; n++ {
		group.Go(func() error { return s.importImages(ctx, n, archive) })
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	var names []string
	for tag := range images {
		names = append(names, tag.String())
	}
	slices.Sort(names)
	return names, nil
}

// Logs lists the components that have a log.
func (s *Sandbox) Logs() []string {
	entries, _ := os.ReadDir(s.path("log"))
	var out []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".log"); ok {
			out = append(out, name)
		}
	}
	return out
}
