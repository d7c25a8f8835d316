package reconcile

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/cluster"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/view"
)

// releaseTime is how long letting go of a Lease may take.
const releaseTime = 2 * time.Second

// Claim is the right to drive one subject, or the knowledge that somebody else does.
type Claim struct {
	// Choice says which of the two it is.
	Choice cluster.Choice

	session *Session
	target  Target
	held    *cluster.Held
	// lost ends, with a *stopError as its cause, when we may no longer drive.
	lost  context.Context
	stop  context.CancelCauseFunc
	watch *cluster.DriverWatch
	// unopened are pods that wait for levels of their launch order.
	unopened []*corev1.Pod
	workers  sync.WaitGroup
}

// stopError is why a loop has to end.
type stopError struct {
	why view.StopReason
	err error
	// driver is who drives now, for view.StopDriver.
	driver cluster.Driver
}

func (e *stopError) Error() string { return e.err.Error() }
func (e *stopError) Unwrap() error { return e.err }

// Claim finds out who drives the target and, if nobody does, takes its Lease and keeps it until Release. Do it before
// anything is written, intent too. The errors are those of cluster.Choose, and a *cluster.LeaseHeldError.
//
// A Lease that an earlier process of the same user on the same machine left behind is waited for, at most until it runs
// out.
func (s *Session) Claim(ctx context.Context, t Target) (*Claim, error) {
	for {
		claim, err := s.claim(ctx, t)
		var held *cluster.LeaseHeldError
		if !errors.As(err, &held) || !cluster.SameUser(held.Driver.Holder, s.Holder) {
			return claim, err
		}
		if !s.abandoned(ctx, t, held.Driver) {
			return nil, err
		}
	}
}

// abandoned waits until a Lease runs out; false when its holder renews it or the context ends.
func (s *Session) abandoned(ctx context.Context, t Target, d cluster.Driver) bool {
	tell := newTeller(s.Tell)
	tell.tell(view.Trouble{Head: s.head(t), Err: fmt.Sprintf("lease %s is held by another run of yours, or left over from one; waiting until it runs out", d.Lease)})
	defer tell.drain()
	for {
		wait := min(d.Until.Sub(s.Now()), time.Second)
		select {
		case <-ctx.Done():
			return false
		case <-time.After(max(wait, 0)):
		}
		facts, err := cluster.ReadLeases(ctx, s.API, t.Namespace, t.lease())
		if err != nil || !facts.Subject.Live(s.Now()) {
			return err == nil
		}
		if facts.Subject.Holder != d.Holder || facts.Subject.Renewed.After(d.Renewed) {
			return false
		}
	}
}

func (s *Session) claim(ctx context.Context, t Target) (*Claim, error) {
	choice, err := s.choose(ctx, t, s.Mode)
	if err != nil {
		return nil, err
	}
	c := &Claim{Choice: choice, session: s, target: t}
	if choice.Role == cluster.Drive {
		c.held, err = cluster.Acquire(ctx, s.API, t.Namespace, t.lease(), s.Holder, strings.ToLower(t.Kind.GroupKind.Kind), s.Now)
		if err != nil {
			return nil, err
		}
		// A loop that began while we took the Lease sees it, or we see the loop.
		again, err := s.choose(ctx, t, s.Mode)
		if err != nil || again.Role != cluster.Drive {
			c.letGo()
			c.held, c.Choice = nil, again
		}
		if err != nil {
			return nil, err
		}
	}
	return c, c.begin(ctx)
}

func (s *Session) choose(ctx context.Context, t Target, mode cluster.Mode) (cluster.Choice, error) {
	facts, err := cluster.ReadLeases(ctx, s.API, t.Namespace, t.lease())
	if err != nil {
		return cluster.Choice{}, err
	}
	return cluster.Choose(facts, s.Holder, mode, s.Now())
}

// Watch is a claim that never drives: it finds out who does, for those who only look. Leases that may not be read make
// the driver unknown.
func (s *Session) Watch(ctx context.Context, t Target) (*Claim, error) {
	facts, err := cluster.ReadLeases(ctx, s.API, t.Namespace, t.lease())
	c := &Claim{session: s, target: t, Choice: cluster.Choice{Role: cluster.Delegate, Driver: cluster.Driver{Kind: cluster.UnknownDriver}}}
	if err == nil {
		if d, found := cluster.Holding(facts, s.Holder, s.Now()); found || len(facts.Unreadable) == 0 {
			c.Choice.Driver = d
		}
		if c.Choice.Driver.Kind == "" {
			c.Choice.Driver.Kind = cluster.NoDriver
		}
	}
	return c, c.begin(ctx)
}

// begin keeps the Lease and an eye on other drivers.
func (c *Claim) begin(ctx context.Context) error {
	watch, err := cluster.WatchDrivers(c.session.API, c.target.Namespace, false)
	if err != nil {
		return err
	}
	c.watch = watch
	c.lost, c.stop = context.WithCancelCause(context.WithoutCancel(ctx))
	c.workers.Go(func() { watch.Run(c.lost) })
	if c.held == nil {
		return nil
	}
	c.workers.Go(func() {
		if err := c.held.Keep(c.lost); err != nil {
			c.stop(&stopError{why: view.StopLeaseLost, err: err})
		}
	})
	c.workers.Go(func() {
		for {
			select {
			case <-c.lost.Done():
				return
			case <-watch.Changed():
			}
			if other, found := c.above(); found {
				c.stop(&stopError{why: view.StopDriver, driver: other, err: fmt.Errorf("%s (lease %s) drives from now on", other.Holder, other.Lease)})
			}
		}
	})
	return nil
}

func (c *Claim) above() (cluster.Driver, bool) {
	return cluster.Above(c.watch.Facts(c.target.Namespace, c.target.lease()), c.session.Holder, c.session.Now())
}

// Release ends the claim and empties the Lease, so that the next driver need not wait. Pods that wait for levels of their
// launch order are not left to hang: what is left is opened. It may be called more than once.
func (c *Claim) Release() {
	c.openAll()
	c.stop(nil)
	c.workers.Wait()
	c.letGo()
}

func (c *Claim) letGo() {
	if c.held == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), releaseTime)
	defer cancel()
	// A Lease that cannot be emptied runs out by itself.
	_ = c.held.Release(ctx)
	c.held = nil
}
