package reconcile

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/cluster"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/view"
)

// flushTime is how long the end of a loop waits for events that are still to be written.
const flushTime = 2 * time.Second

// RunOptions say when a run ends.
type RunOptions struct {
	// Object is the subject as it was last read or written, in the planners' version.
	Object plan.Object
	// Missing lists what of the recorded intent the subject no longer says; anything there ends the run as superseded. It
	// may be nil.
	Missing func(plan.Object) []string
	// Timeout ends the run; 0 means never.
	Timeout time.Duration
	// Forever goes on after the goal is reached, until the context ends.
	Forever bool
}

// Result is how a run ended.
type Result struct {
	// Reached says that the goal holds.
	Reached bool
	// Why and Detail say why the run ended before; they are empty when Reached.
	Why    view.StopReason
	Detail string
	// Err is the error behind StopFailed, StopLeaseLost and StopDriver.
	Err error
	// Last is the last decision, Object what it was about; nil when nothing was seen.
	Last   *Decision
	Object plan.Object
	// Failures are the actions that failed at the last try.
	Failures []cluster.Outcome
	Took     time.Duration
}

var errTimeout = errors.New("timeout")

// Run drives the subject until its goal holds, or watches it while another does, with the same events and the same
// result. A context that ends is the first request to stop: no action is begun any more.
func (c *Claim) Run(ctx context.Context, options RunOptions) *Result {
	s, started := c.session, c.session.Now()
	tell := newTeller(s.Tell)
	defer tell.drain()
	events := cluster.NewRecorder(s.API, s.Now)
	defer flush(events)

	work, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(c.lost, func() { cancel(context.Cause(c.lost)) })()
	if options.Timeout > 0 {
		timer := time.AfterFunc(options.Timeout, func() { cancel(errTimeout) })
		defer timer.Stop()
	}
	tell.tell(view.Started{Head: s.head(c.target), Driver: c.driver()})

	var r *runner
	sight, err := s.sightOf(c.target, options.Object, func(types.UID) { r.poke() }, func(err error) { tell.trouble(s.head(c.target), err) })
	if err != nil {
		return c.end(tell, &Result{Why: view.StopFailed, Detail: err.Error(), Err: err, Object: options.Object}, started)
	}
	r = s.runner(c.target, options.Object.GetUID(), sight, tell, events)
	eyes, blind := context.WithCancel(context.WithoutCancel(ctx))
	var mirrors sync.WaitGroup
	defer mirrors.Wait()
	defer blind()
	if c.Choice.Role == cluster.Delegate {
		mirrors.Go(func() { c.heed(eyes, r) })
	} else if launch := c.launch(sight, tell, events); launch != nil {
		mirrors.Go(func() { launch.run(eyes) })
	}
	mirrors.Go(func() {
		if err := sight.run(eyes); err != nil {
			cancel(&stopError{why: view.StopFailed, err: err})
		}
	})
	result := &Result{Object: options.Object}
	if sight.synced(work) {
		sight.mirrors.Wrote(c.target.GroupKind, options.Object)
		result = c.loop(work, r, options)
	}
	if result.Why == "" && !result.Reached {
		result.Why, result.Detail, result.Err = reasonOf(work)
		c.finish(ctx, r, result)
		r.stand(ctx, result)
	} else if result.Why == view.StopSuperseded {
		c.finish(ctx, r, result)
	}
	result.Failures = r.failures
	c.keep(sight)
	return c.end(tell, result, started)
}

func (c *Claim) driver() view.Driver {
	if c.Choice.Role == cluster.Drive {
		return view.Driver{Kind: view.DriverSelf, Holder: c.session.Holder}
	}
	return driverView(c.Choice.Driver)
}

// loop looks and acts until something ends it. A result without a reason means that the context ended.
func (c *Claim) loop(ctx context.Context, r *runner, options RunOptions) *Result {
	result := &Result{Object: options.Object}
	var pinned string
	driver := c.Choice.Driver
	if c.watch.Synced(ctx) != nil {
		return result
	}
	for {
		if !r.sight.settled(ctx) {
			return result
		}
		l := r.look(ctx)
		if ctx.Err() != nil && l.err != nil {
			return result
		}
		r.tell(l)
		if l.decision != nil {
			result.Last, result.Object = l.decision, l.subject
			if pinned == "" {
				pinned = l.decision.Counts.UpdateRevision
			}
		}
		if c.ended(r, l, options, pinned, result) || ctx.Err() != nil {
			return result
		}
		var until time.Time
		if c.Choice.Role == cluster.Drive {
			until = r.act(ctx, l)
		} else {
			until = earliest(c.follow(r, &driver), wakeOf(l))
		}
		if !r.rest(ctx, until) {
			return result
		}
	}
}

// heed makes a watcher look when the driver changes.
func (c *Claim) heed(ctx context.Context, r *runner) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.watch.Changed():
			r.poke()
		}
	}
}

// stand brings a result up to date with what is known after the last writes.
func (r *runner) stand(ctx context.Context, result *Result) {
	if result.Last == nil || len(r.doubts) > 0 {
		return
	}
	if l := r.look(context.WithoutCancel(ctx)); l.decision != nil {
		result.Last, result.Object = l.decision, l.subject
	}
}

func wakeOf(l look) time.Time {
	if l.decision == nil {
		return time.Time{}
	}
	return l.decision.Plan.Wake
}

// follow tells when the driver changes, and says when to look for that again.
func (c *Claim) follow(r *runner, driver *cluster.Driver) time.Time {
	now := c.session.Now()
	facts := c.watch.Facts(c.target.Namespace, c.target.lease())
	other, found := cluster.Above(facts, c.session.Holder, now)
	if !found {
		if driver.Kind == cluster.UnknownDriver || driver.Kind == cluster.VerbDriver {
			return time.Time{}
		}
		other = cluster.Driver{Kind: cluster.NoDriver}
	}
	if other.Kind != driver.Kind || other.Holder != driver.Holder {
		r.teller.tell(view.DriverChanged{Head: r.head(), Driver: driverView(other)})
	}
	*driver = other
	return other.Until
}

// ended judges whether a look ends the run, and fills in the result.
func (c *Claim) ended(r *runner, l look, options RunOptions, pinned string, result *Result) bool {
	stop := func(why view.StopReason, detail string, err error) bool {
		result.Why, result.Detail, result.Err = why, detail, err
		return true
	}
	switch {
	case l.gone:
		return stop(view.StopGone, "it was deleted", nil)
	case l.wrong != nil:
		return stop(view.StopFailed, l.wrong.Error(), l.wrong)
	case l.err != nil:
		return false
	case options.Forever:
		return false
	case l.subject.GetDeletionTimestamp() != nil:
		return stop(view.StopGone, "it is being deleted", nil)
	}
	if options.Missing != nil && l.subject.GetGeneration() != options.Object.GetGeneration() {
		if missing := options.Missing(l.subject); len(missing) > 0 {
			return stop(view.StopSuperseded, "changed by somebody else: "+strings.Join(missing, ", "), nil)
		}
	}
	if revision := l.decision.Counts.UpdateRevision; revision != pinned {
		return stop(view.StopSuperseded, fmt.Sprintf("the template was changed by somebody else: revision %s -> %s", pinned, revision), nil)
	}
	p := l.decision.Plan
	switch {
	case p.Stopped == plan.ReasonPaused || p.Stopped == plan.ReasonOnDelete:
		return stop(view.StopPaused, notes(p), nil)
	case p.Stopped != "":
		return stop(view.StopFailed, notes(p), errors.New(notes(p)))
	case c.Choice.Role == cluster.Drive:
		result.Reached = p.Done
		if !p.Done && r.settles(p) {
			r.teller.tell(view.Trouble{Head: r.head(), Err: "the status of " + c.target.String() + " cannot be kept: see what was refused, or the installed version of the kind; the pods are as wanted"})
			result.Reached = true
		}
	default:
		result.Reached = c.target.Reached(l.subject)
	}
	return result.Reached
}

// notes are the clauses of what a plan waits for.
func notes(p *plan.Plan) string {
	var list []string
	for _, w := range p.Waits {
		if w.Note != "" {
			list = append(list, w.Note)
		}
	}
	return strings.Join(list, "; ")
}

// reasonOf says why a context ended.
func reasonOf(ctx context.Context) (why view.StopReason, detail string, err error) {
	cause := context.Cause(ctx)
	var stop *stopError
	switch {
	case errors.As(cause, &stop):
		return stop.why, stop.Error(), stop.err
	case errors.Is(cause, errTimeout):
		return view.StopTimeout, "", nil
	}
	return view.StopInterrupted, "", nil
}

// end tells the result.
func (c *Claim) end(tell *teller, result *Result, started time.Time) *Result {
	head := c.session.head(c.target)
	result.Took = head.At.Sub(started)
	var counts view.Counts
	if result.Last != nil {
		counts = result.Last.Counts
	}
	if result.Reached {
		tell.tell(view.Done{Head: head, Counts: counts, Took: result.Took})
	} else {
		tell.tell(view.Stopped{Head: head, Why: result.Why, Detail: result.Detail, Counts: counts})
	}
	return result
}

// flush waits for events that are still to be written.
func flush(events *cluster.Recorder) {
	ctx, cancel := context.WithTimeout(context.Background(), flushTime)
	defer cancel()
	events.Flush(ctx)
}

func (t *teller) trouble(head view.Head, err error) {
	event := view.Trouble{Head: head}
	if err != nil {
		event.Err = cluster.Explain(err).Error()
	}
	t.tell(event)
}
