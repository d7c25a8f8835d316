package cluster

import (
	"context"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
)

// DriverWatch follows the Leases that decide who drives, so that a driver stops as soon as another one is live.
type DriverWatch struct {
	source  Source
	watches []*leaseWatch
	changed chan struct{}
}

// leaseWatch follows one Lease, or our Leases of a namespace. Who may read a Lease but not watch it gets it read every
// few seconds; one that may not be read at all counts as absent, because the user's mode has decided about it.
type leaseWatch struct {
	scope  Scope
	name   string // of the one Lease; empty for many
	mirror *Mirror
	// failed is closed when the mirror cannot be read.
	failed chan struct{}
	err    error

	mu     sync.Mutex
	polled *LeaseState
}

// WatchDrivers prepares to follow the Leases that matter for subjects of a namespace, or of all when it is empty. Those of
// single subjects and of loops in other namespaces are followed only with loops set, as a loop needs them.
func WatchDrivers(source Source, namespace string, loops bool) (*DriverWatch, error) {
	w := &DriverWatch{source: source, changed: make(chan struct{}, 1)}
	for _, n := range leaseNames(namespace, "") {
		w.watches = append(w.watches, &leaseWatch{
			failed: make(chan struct{}), name: n.name, scope: Scope{Namespace: n.namespace, Fields: "metadata.name=" + n.name},
		})
	}
	if loops {
		scope := Scope{Namespace: namespace}
		if namespace == "" {
			scope.Labels = LeaseLabel // nodes have Leases too, many and often renewed
		}
		w.watches = append(w.watches, &leaseWatch{failed: make(chan struct{}), scope: scope})
	}
	for _, l := range w.watches {
		mirror, err := NewMirror(source, MirrorOptions{
			Kind: LeaseKind, Scope: l.scope,
			Changed: func(old, now plan.Object) { w.signal(stateOf(old), stateOf(now)) },
		})
		if err != nil {
			return nil, err
		}
		l.mirror = mirror
	}
	return w, nil
}

// signal tells of a change of holder; plain renewals are no news.
func (w *DriverWatch) signal(old, now *LeaseState) {
	if old != nil && now != nil && old.Holder == now.Holder && now.Renewed.Before(old.Until()) {
		return
	}
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// Changed receives when somebody took or left a Lease. Leases that run out make no signal.
func (w *DriverWatch) Changed() <-chan struct{} { return w.changed }

// Run follows the Leases until the context ends.
func (w *DriverWatch) Run(ctx context.Context) {
	var wg sync.WaitGroup
	for _, l := range w.watches {
		wg.Go(func() {
			if l.err = l.mirror.Run(ctx); l.err != nil {
				w.poll(ctx, l)
			}
		})
	}
	wg.Wait()
}

// Synced waits until all Leases have been read, or cannot be. The error is about those of single subjects.
func (w *DriverWatch) Synced(ctx context.Context) error {
	for _, l := range w.watches {
		select {
		case <-l.mirror.Synced():
		case <-l.failed:
			if l.name == "" {
				return l.err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// poll reads a Lease that may not be watched. It closes l.failed after the first look.
func (w *DriverWatch) poll(ctx context.Context, l *leaseWatch) {
	var first sync.Once
	looked := func() { first.Do(func() { close(l.failed) }) }
	defer looked()
	for l.name != "" {
		obj, err := w.source.Get(ctx, LeaseKind, l.scope.Namespace, l.name)
		if apierrors.IsForbidden(err) {
			return
		}
		if err == nil || apierrors.IsNotFound(err) {
			var now *LeaseState
			if err == nil {
				now = stateOf(obj)
			}
			l.mu.Lock()
			old := l.polled
			l.polled = now
			l.mu.Unlock()
			if (old == nil) != (now == nil) || old != nil && *old != *now {
				w.signal(old, now)
			}
		}
		looked()
		if !Pause(ctx, renewEvery) {
			return
		}
	}
}

func (l *leaseWatch) find(namespace, name string) *LeaseState {
	if l.name == name && l.scope.Namespace == namespace {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.polled != nil {
			return l.polled
		}
	}
	return stateOf(l.mirror.Named(namespace, name))
}

func (w *DriverWatch) find(namespace, name string) *LeaseState {
	for _, l := range w.watches {
		if state := l.find(namespace, name); state != nil {
			return state
		}
	}
	return nil
}

// Facts are the Leases for a subject as far as they are followed; see ReadLeases for a complete look.
func (w *DriverWatch) Facts(namespace, lease string) *LeaseFacts {
	facts := &LeaseFacts{}
	for _, n := range leaseNames(namespace, lease) {
		n.put(facts, w.find(n.namespace, n.name))
	}
	if namespace == keys.InstallNamespace {
		facts.Reconcile = facts.ReconcileAll
	}
	return facts
}
