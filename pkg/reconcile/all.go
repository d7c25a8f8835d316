package reconcile

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/cluster"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/view"
)

// atATime limits how many subjects are planned and written at a time.
const atATime = 8

// All drives all subjects of the kinds in a namespace, or everywhere when it is empty, until the context ends. It holds
// the Lease of a foreground loop meanwhile. Subjects that a verb or another loop drives are left to it for as long as it
// does.
//
// The context's end is no error. The errors are those of cluster.Choose before the start, a *cluster.LeaseHeldError when
// another loop runs, and afterwards a *StoppedError.
func (s *Session) All(ctx context.Context, namespace string, kinds ...Served) error {
	home := namespace
	if home == "" {
		home = keys.InstallNamespace
	}
	facts, err := cluster.ReadLeases(ctx, s.API, namespace, "")
	if err != nil {
		return err
	}
	choice, err := cluster.Choose(facts, s.Holder, s.Mode, s.Now())
	if err != nil {
		return err
	}
	if choice.Role == cluster.Delegate {
		return &cluster.LeaseHeldError{Driver: choice.Driver}
	}
	held, err := cluster.Acquire(ctx, s.API, home, keys.ReconcileLease, s.Holder, "reconcile", s.Now)
	if err != nil {
		return err
	}
	c := &Claim{session: s, held: held}
	defer c.letGo()
	return s.all(ctx, held, namespace, kinds)
}

// Hosted is All for the manager in the cluster, while the caller holds the manager's Lease as s.Holder and renews it.
// Foreground loops have to make room for it, and their subjects are left to them until they have done so.
func (s *Session) Hosted(ctx context.Context, namespace string, kinds ...Served) error {
	return s.all(ctx, nil, namespace, kinds)
}

// StoppedError says that a loop for all subjects had to end.
type StoppedError struct {
	Why view.StopReason
	Err error
}

// Error implements error.
func (e *StoppedError) Error() string { return e.Err.Error() }

// Unwrap gives the error behind it.
func (e *StoppedError) Unwrap() error { return e.Err }

// all runs the loop while the Lease is held; nil says that the manager's Lease is held elsewhere in this process.
func (s *Session) all(ctx context.Context, held *cluster.Held, namespace string, kinds []Served) error {
	work, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	background, end := context.WithCancel(context.WithoutCancel(ctx))
	var workers sync.WaitGroup
	defer workers.Wait()
	defer end()

	watch, err := cluster.WatchDrivers(s.API, namespace, true)
	if err != nil {
		return err
	}
	l := &loop{
		session: s, namespace: namespace, hosted: held == nil, watch: watch, roster: newRoster[*sight](),
		teller: newTeller(s.Tell), events: cluster.NewRecorder(s.API, s.Now), stop: cancel,
	}
	defer l.teller.drain()
	defer flush(l.events)
	workers.Go(func() { watch.Run(background) })
	if held != nil {
		workers.Go(func() {
			if err := held.Keep(background); err != nil {
				cancel(&stopError{why: view.StopLeaseLost, err: err})
			}
		})
	}
	if err := watch.Synced(ctx); err != nil {
		return ignoreEnd(ctx, err)
	}
	mirrors := pool{}
	for _, kind := range kinds {
		var v *sight
		v, err := s.sightOfAll(kind.Kind, namespace, mirrors, func(uid types.UID) { l.roster.mark(uid, v) }, func(err error) {
			l.teller.trouble(view.Head{At: s.Now(), Subject: view.Subject{Kind: kind.Kind.GroupKind.Kind, Namespace: namespace}}, err)
		})
		if err != nil {
			return err
		}
		l.served = append(l.served, kind)
		l.sights = append(l.sights, v)
	}
	for _, v := range l.sights { // each hears of everything from the first list on
		workers.Go(func() {
			if err := v.run(background); err != nil {
				cancel(&stopError{why: view.StopFailed, err: err})
			}
		})
	}
	l.run(work)
	why, _, err := reasonOf(work)
	if err == nil {
		l.leave(background)
		return nil
	}
	return &StoppedError{Why: why, Err: err}
}

func ignoreEnd(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// loop is the state of All.
type loop struct {
	session   *Session
	namespace string
	// hosted says that foreground loops have to make room for this one.
	hosted bool
	served []Served
	sights []*sight
	watch  *cluster.DriverWatch
	teller *teller
	events *cluster.Recorder
	stop   context.CancelCauseFunc
	// roster has the subjects with the sight that shows them.
	roster *roster[*sight]
}

// run starts a runner for each subject that turns up, until the context ends, and waits for them.
func (l *loop) run(ctx context.Context) {
	for _, v := range l.sights {
		if !v.synced(ctx) {
			return
		}
	}
	var runners sync.WaitGroup
	defer runners.Wait()
	for {
		for _, r := range l.fresh() {
			runners.Go(func() { l.look(ctx, r) })
		}
		select {
		case <-ctx.Done():
			return
		case <-l.roster.signal:
		case <-l.watch.Changed():
			l.leases()
		}
	}
}

// leases reacts to a change of the Leases: another driver for all of ours ends the loop, one for some of them is for
// their runners to see.
func (l *loop) leases() {
	s := l.session
	if other, found := cluster.Above(l.watch.Facts(l.namespace, ""), s.Holder, s.Now()); found && !(l.hosted && other.Kind == cluster.ForegroundDriver) {
		l.stop(&stopError{why: view.StopDriver, err: fmt.Errorf("%s (lease %s) drives from now on", other.Holder, other.Lease)})
		return
	}
	l.roster.pokeAll()
}

func (l *loop) fresh() []*runner {
	return l.roster.fresh(func(uid types.UID, v *sight) *runner {
		subject, i := v.subjects.Get(uid), slices.Index(l.sights, v)
		if subject == nil || i < 0 {
			return nil
		}
		t := Target{Served: l.served[i], Namespace: subject.GetNamespace(), Name: subject.GetName()}
		return l.session.runner(t, uid, v, l.teller, l.events)
	})
}

// look is the life of one runner: it ends with its subject or with the context.
func (l *loop) look(ctx context.Context, r *runner) {
	defer l.roster.forget(r, r.sight)
	var other cluster.Driver
	told := false
	for {
		until, gone := time.Time{}, false
		holding, found := cluster.Holding(l.watch.Facts(r.target.Namespace, r.target.lease()), l.session.Holder, l.session.Now())
		switch {
		case found && (!told || holding.Holder != other.Holder):
			r.teller.tell(view.DriverChanged{Head: r.head(), Driver: driverView(holding)})
		case !found && told && other.Holder != "":
			r.stale = true
			r.teller.tell(view.DriverChanged{Head: r.head(), Driver: view.Driver{Kind: view.DriverSelf, Holder: l.session.Holder}})
		case !found && !told:
			r.teller.tell(view.Started{Head: r.head(), Driver: view.Driver{Kind: view.DriverSelf, Holder: l.session.Holder}})
		}
		other, told = holding, true
		if found {
			until = holding.Until
			gone = r.sight.subjects.Get(r.uid) == nil
		} else {
			until, gone = l.roster.turn(ctx, r)
		}
		if gone {
			r.teller.tell(view.Stopped{Head: r.head(), Why: view.StopGone, Detail: "it was deleted"})
			return
		}
		if ctx.Err() != nil || !r.rest(ctx, until) {
			return
		}
	}
}
