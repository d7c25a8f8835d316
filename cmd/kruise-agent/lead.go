package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/features"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/cluster"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/reconcile"
)

const (
	// leaseEvery is the time between two tries to take the Lease.
	leaseEvery = time.Second
	// servedEvery is the time between two looks at which kinds the cluster serves, and in which version.
	servedEvery = 30 * time.Second
	// releaseTime is how long letting go of the Lease may take.
	releaseTime = 2 * time.Second
)

// kinds are the kinds that the manager drives.
func kinds() []*reconcile.Kind {
	return []*reconcile.Kind{reconcile.CloneSet(), reconcile.LaunchOrder()}
}

// lead takes the manager's Lease again and again and works while it is held.
func (m *manager) lead(ctx context.Context) {
	said := ""
	for ctx.Err() == nil {
		err := m.term(ctx)
		if err != nil && ctx.Err() == nil && err.Error() != said {
			said = err.Error()
			m.log.Info("not leading", "why", said)
		}
		cluster.Pause(ctx, leaseEvery)
	}
}

// term is the time from taking the Lease to losing it or letting it go.
func (m *manager) term(ctx context.Context) error {
	api, err := cluster.Connect(m.config)
	if err != nil {
		return err
	}
	held, err := cluster.Acquire(ctx, api, m.leaseNamespace, keys.ManagerLease, m.holder, "manager", time.Now)
	if err != nil {
		return err
	}
	m.log.Info("leading", "lease", held.Name())
	m.meters.leading(true)
	defer m.meters.leading(false)

	// What was begun is finished while the Lease is still held.
	keeping, drop := context.WithCancel(context.WithoutCancel(ctx))
	work, stop := context.WithCancelCause(ctx)
	var keeper, workers sync.WaitGroup
	keeper.Go(func() { stop(held.Keep(keeping)) })
	ready := make(chan struct{})
	workers.Go(func() { m.keeper.Lead(work, func() { close(ready) }) })
	workers.Go(func() { stop(m.drive(work, ready)) })
	workers.Wait()
	drop()
	keeper.Wait()

	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTime)
	defer cancel()
	if err := held.Release(ending); err != nil {
		m.log.Warn("the lease runs out by itself", "error", err.Error())
	}
	m.log.Info("no longer leading")
	if cause := context.Cause(work); !errors.Is(cause, context.Canceled) {
		return cause
	}
	return nil
}

// drive runs the loop for all kinds that the cluster serves, from when the certificates are in place and this replica
// answers: before that our own writes could be refused.
func (m *manager) drive(ctx context.Context, ready <-chan struct{}) error {
	select {
	case <-ctx.Done():
		return nil
	case <-ready:
	}
	for m.health.ready() != nil {
		if !cluster.Pause(ctx, 100*time.Millisecond) {
			return nil
		}
	}
	for ctx.Err() == nil {
		client, served, err := m.connect(ctx)
		if err != nil {
			m.log.Warn("kinds cannot be looked up", "error", err.Error())
		}
		if len(served) == 0 {
			cluster.Pause(ctx, leaseEvery)
			continue
		}
		if err := m.driveServed(ctx, client, served); err != nil {
			return err
		}
	}
	return nil
}

// driveServed runs the loop until the cluster serves something else.
func (m *manager) driveServed(ctx context.Context, client *cluster.Client, served []reconcile.Served) error {
	var names []string
	for _, s := range served {
		names = append(names, s.APIVersion+" "+s.GroupKind.Kind)
	}
	m.log.Info("driving", "kinds", names)
	session := &reconcile.Session{
		API: client, Gates: planGates(m.gates), Now: time.Now, Random: rand.Uint64, Holder: m.holder, Tell: m.meters.hear, Meter: m.meters,
	}
	if m.gates.Enabled(features.InPlaceWorkloadVerticalScaling) {
		var err error
		if session.Resize, err = client.ResizeMode(ctx); err != nil {
			m.log.Warn("driving again in a moment", "error", err.Error())
			cluster.Pause(ctx, leaseEvery)
			return nil
		}
	}
	looping, end := context.WithCancel(ctx)
	var watch sync.WaitGroup
	defer watch.Wait()
	defer end()
	watch.Go(func() {
		for cluster.Pause(looping, servedEvery) {
			if _, now, err := m.connect(looping); err == nil && !slices.EqualFunc(now, served, same) {
				end()
			}
		}
	})
	if m.gates.Enabled(features.KruisePodReadinessGate) {
		watch.Go(func() {
			if err := session.AnswerReadiness(looping, m.watched); err != nil {
				m.log.Error("readiness gates are not answered", "error", err.Error())
				end() // and begin again
			}
		})
	}
	return session.Hosted(looping, m.watched, served...)
}

func same(a, b reconcile.Served) bool {
	return a.Kind.GroupKind == b.Kind.GroupKind && a.APIVersion == b.APIVersion
}

// connect finds the kinds that the cluster serves now.
func (m *manager) connect(ctx context.Context) (*cluster.Client, []reconcile.Served, error) {
	var present []*reconcile.Kind
	for _, kind := range kinds() {
		_, _, err := reconcile.Connect(ctx, m.config, kind)
		var absent *cluster.NotServedError
		switch {
		case err == nil:
			present = append(present, kind)
		case !errors.As(err, &absent):
			return nil, nil, err
		}
	}
	if len(present) == 0 {
		return nil, nil, nil
	}
	return reconcile.Connect(ctx, m.config, present...)
}

// planGates are the gates that the loop plans with. The daemon of this build does no work on its node, so nothing may be
// planned that counts on it.
func planGates(gates features.Gates) features.Gates {
	return gates.With(features.KruiseDaemon, false)
}
