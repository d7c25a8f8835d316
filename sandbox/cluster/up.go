package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/kubectl-kruise/kubectl-kruise/sandbox/binaries"
	"github.com/kubectl-kruise/kubectl-kruise/sandbox/image"
	"github.com/kubectl-kruise/kubectl-kruise/sandbox/network"
)

// ErrDiffers says that the sandbox is up, but not as it was asked for.
var ErrDiffers = errors.New("the sandbox is up with other options")

// Up makes the cluster and returns when pods can be placed on all nodes. A sandbox that is up already is left alone; of
// one that is not whole the rest is removed first. When it fails or ctx ends, it removes what it made but the logs.
func (s *Sandbox) Up(ctx context.Context, o Options) error {
	if err := o.Validate(); err != nil {
		return err
	}
	if o.Nodes > 0 {
		if err := RequireRealNodes(); err != nil {
			return err
		}
		if err := checkLength(s.Dir); err != nil {
			return err
		}
	}
	if err := s.acquire(ctx); err != nil {
		return err
	}
	defer s.release()
	known, err := s.load()
	if err != nil {
		return err
	}
	if known {
		dead := s.dead()
		switch {
		case s.Ready && len(dead) == 0 && s.Options == o:
			s.Say("already up with %s", s.Options)
			return nil
		case s.Ready && len(dead) == 0:
			return fmt.Errorf("%w: %s; run `kruise-sandbox down` first", ErrDiffers, s.Options)
		case s.Ready:
			s.Say("not running any more: %s; starting afresh", strings.Join(dead, ", "))
		default:
			s.Say("an earlier start was cut short; starting afresh")
		}
	}
	if err := s.Cache.Ensure(ctx, programs(o)...); err != nil {
		return err
	}
	if err := s.remove(ctx); err != nil {
		return err
	}
	if err := s.build(ctx, o); err != nil {
		s.Say("it did not come up; removing what was started but the logs in %s", s.path("log"))
		if downErr := s.remove(context.WithoutCancel(ctx)); downErr != nil {
			return errors.Join(err, downErr)
		}
		return err
	}
	return nil
}

// programs are those that a sandbox with these options runs, and kubectl for its user.
func programs(o Options) []string {
	out := []string{binaries.Etcd, binaries.APIServer, binaries.ControllerManager, binaries.Scheduler, binaries.Kubectl}
	if o.Nodes > 0 {
		out = append(out, binaries.Kubelet, binaries.Proxy)
	}
	if o.FakeNodes > 0 {
		out = append(out, binaries.Kwok)
	}
	return out
}

// checkLength keeps the names of sockets below the state folder within what the kernel allows.
func checkLength(dir string) error {
	const most = 60
	if len(dir) > most {
		return fmt.Errorf("--state %s: %d characters, but the sockets of real nodes below it allow %d at most", dir, len(dir), most)
	}
	return nil
}

func (s *Sandbox) build(ctx context.Context, o Options) error {
	s.started = time.Now()
	if err := os.RemoveAll(s.path("log")); err != nil {
		return err
	}
	for _, d := range []string{"log", "pid", "config", "etcd"} {
		if err := os.MkdirAll(s.path(d), 0o700); err != nil {
			return err
		}
	}
	if err := s.claim(ctx, o); err != nil {
		return err
	}
	if err := s.writeKeys(); err != nil {
		return err
	}
	if err := s.linkPrograms(); err != nil {
		return err
	}
	if s.plan.Isolated {
		if err := s.makeIsolation(); err != nil {
			return err
		}
	}
	var client *api
	group, both := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		if client, err = s.startControlPlane(both); err != nil {
			return err
		}
		return createObjects(both, client)
	})
	if s.Nodes > 0 {
		group.Go(func() error { return s.prepareNodes(both) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return s.join(ctx, client)
}

// linkPrograms makes bin/ in the state folder, so that a script finds kubectl without knowing the cache.
func (s *Sandbox) linkPrograms() error {
	if err := os.MkdirAll(s.path("bin"), 0o700); err != nil {
		return err
	}
	for _, p := range programs(s.Options) {
		if err := os.Symlink(s.Cache.Path(p), s.path("bin", p)); err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
	}
	return nil
}

func (s *Sandbox) makeIsolation() error {
	if err := makeCgroups(s.plan.Name() + "/control"); err != nil {
		return err
	}
	file, err := netNS(s.Index)
	if err != nil {
		return err
	}
	return s.plan.Lay(file, s.Nodes)
}

// prepareNodes starts registry and container runtimes and fills them with images.
func (s *Sandbox) prepareNodes(ctx context.Context) error {
	if err := s.startRegistry(); err != nil {
		return err
	}
	for n := 1; n <= s.Nodes; n++ {
		if err := s.startRuntime(n); err != nil {
			return err
		}
	}
	images, err := image.Build(image.Catalog())
	if err != nil {
		return err
	}
	archive := s.path("images.tar")
	if err := images.Save(archive); err != nil {
		return err
	}
	defer os.Remove(archive)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return s.push(ctx, images) })
	for n := 1; n <= s.Nodes; n++ {
		group.Go(func() error { return s.importImages(ctx, n, archive) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	s.Say("%s on every node and in the registry", count(len(images), "image"))
	return nil
}

// join starts the nodes and waits until pods can be placed on them.
func (s *Sandbox) join(ctx context.Context, client *api) error {
	for n := 1; n <= s.Nodes; n++ {
		if err := s.startKubelet(n); err != nil {
			return err
		}
	}
	if s.Nodes > 0 {
		if err := s.startProxy(); err != nil {
			return err
		}
	}
	if s.FakeNodes > 0 {
		if err := s.startFakeNodes(ctx, client); err != nil {
			return err
		}
	}
	want := s.Nodes + s.FakeNodes
	err := s.wait(ctx, count(want, "node"), func() bool {
		ready, err := client.readyNodes(ctx)
		return err == nil && ready == want
	})
	if err != nil {
		return err
	}
	// no pod is accepted before its service account exists
	err = s.wait(ctx, "the default service account", func() bool {
		return client.exists(ctx, "/api/v1/namespaces/default/serviceaccounts/default")
	})
	if err != nil {
		return err
	}
	s.Say("%s ready", s.Options)
	s.Ready = true
	return s.save()
}

// push stores images in the sandbox's registry as soon as it answers.
func (s *Sandbox) push(ctx context.Context, images image.Set) error {
	addr := network.Port(s.plan.LinkAddr(), s.plan.Ports().Registry)
	if err := s.wait(ctx, "the registry", func() bool { return image.Answers(ctx, addr) }); err != nil {
		return err
	}
	return images.Push(ctx, addr)
}

// wait polls until the condition holds. It gives up when ctx ends, when a component dies, or after five minutes.
func (s *Sandbox) wait(ctx context.Context, what string, holds func() bool) error {
	deadline := time.Now().Add(5 * time.Minute)
	for !holds() {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("waiting for %s: %w", what, context.Cause(ctx))
		}
		for _, p := range s.watched() {
			select {
			case <-p.Exited:
				return fmt.Errorf("%s ended; the last lines of %s:\n%s", p.Name, p.LogFile, p.Tail(5))
			default:
			}
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s not ready after five minutes; see the logs in %s", what, s.path("log"))
		}
		time.Sleep(50 * time.Millisecond)
	}
	return nil
}
