package sim

import (
	"fmt"
	"time"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
)

// Run plays a history. The first driver leads; the others wait for a fault that brings them in.
type Run struct {
	Cluster *Cluster
	Drivers []*Driver
	// Interval is the shortest time between two rounds of a driver, WriteTime how long a write takes.
	Interval, WriteTime time.Duration
	// Events are what happens from outside, by time.
	Events []Event
	Faults []Fault
	// Planned is called with every plan before it is carried out. It may be nil.
	Planned func(d *Driver, p *plan.Plan) error
	// Trace is told what happens, line by line. It may be nil.
	Trace func(format string, args ...any)

	// Rounds is how many plans were made, Faulted which faults took place.
	Rounds  int
	Faulted Counts

	lead     int
	intruder time.Duration // until when a second driver acts too
	writes   int
	broken   error
}

// Event is something that happens from outside at a time.
type Event struct {
	At time.Duration
	Do func(*Cluster)
}

// Broken is the first error of a callback, an observer or a planner's own words that cannot be carried out.
func (r *Run) Broken() error {
	if r.broken != nil {
		return r.broken
	}
	return r.Cluster.Broken()
}

func (r *Run) fail(err error) {
	if r.broken == nil {
		r.broken = err
	}
}

// Lead is the driver that leads now.
func (r *Run) Lead() *Driver { return r.Drivers[r.lead] }

// Start has the leading driver look at the world.
func (r *Run) Start() { r.Lead().start() }

// handOver makes the next driver the leading one. It looks at everything anew: what others wrote meanwhile must not be
// missing when it begins. It says whether there is another driver.
func (r *Run) handOver() bool {
	if len(r.Drivers) < 2 {
		return false
	}
	r.Lead().due = false
	r.lead = (r.lead + 1) % len(r.Drivers)
	r.intruder = 0
	r.Lead().start()
	return true
}

// intrude lets the next driver act beside the leading one.
func (r *Run) intrude(span time.Duration) {
	if len(r.Drivers) > 1 {
		r.Drivers[(r.lead+1)%len(r.Drivers)].start()
		r.intruder = r.Cluster.now + span
	}
}

// active says whether a driver acts now.
func (r *Run) active(i int) bool {
	return i == r.lead || i == (r.lead+1)%len(r.Drivers) && r.Cluster.now < r.intruder
}

// pass lets time go by, with everything in it but drivers.
func (r *Run) pass(d time.Duration) {
	to := r.Cluster.now + d
	for len(r.Events) > 0 && r.Events[0].At <= to {
		e := r.Events[0]
		r.Events = r.Events[1:]
		r.Cluster.Advance(max(r.Cluster.now, e.At))
		e.Do(r.Cluster)
	}
	r.Cluster.Advance(to)
}

// Until plays until a time, at most the given number of rounds, or until something is broken.
func (r *Run) Until(end time.Duration, rounds int) error {
	for limit := r.Rounds + rounds; r.Rounds < limit && r.Broken() == nil; {
		at, any := r.moment()
		if !any || at > end {
			r.pass(end - r.Cluster.now)
			break
		}
		r.pass(max(at-r.Cluster.now, 0))
		for i, d := range r.Drivers {
			if r.active(i) && d.turn(r.Cluster.now) {
				r.round(d)
			}
		}
	}
	return r.Broken()
}

// Settle plays until nothing happens any more by itself. It is an error if that takes more than the given rounds.
func (r *Run) Settle(rounds int) error {
	for limit := r.Rounds + rounds; r.Broken() == nil; {
		at, any := r.moment()
		if !any {
			return nil
		}
		if r.Rounds >= limit {
			return fmt.Errorf("the world does not come to rest in %d rounds", rounds)
		}
		if err := r.Until(at, limit-r.Rounds); err != nil {
			return err
		}
	}
	return r.Broken()
}

// moment is when the next thing happens.
func (r *Run) moment() (time.Duration, bool) {
	next, any := r.Cluster.Next()
	earlier := func(at time.Duration, ok bool) {
		if ok && (!any || at < next) {
			next, any = at, true
		}
	}
	for i, d := range r.Drivers {
		if r.active(i) {
			earlier(d.moment(r.Cluster.now))
		}
	}
	if len(r.Events) > 0 {
		earlier(r.Events[0].At, true)
	}
	return next, any
}

// round plans once and carries the plan out.
func (r *Run) round(d *Driver) {
	for _, on := range d.doubts {
		d.View.Read(on)
	}
	d.doubts = d.doubts[:0]
	failures := d.failures
	d.failures, d.due, d.wake = nil, false, 0
	d.rest = r.Cluster.now + r.Interval
	r.Rounds++
	p, err := d.Plan(d.View, failures)
	if err != nil {
		if r.Trace != nil {
			r.Trace("%s: %v", d.Name, err)
		}
		return
	}
	if r.Planned != nil {
		if err := r.Planned(d, p); err != nil {
			r.fail(err)
			return
		}
	}
	if !p.Wake.IsZero() {
		d.wake = max(p.Wake.Sub(Start), 1)
	}
	if r.Trace != nil && !p.Empty() {
		r.Trace("%s %s:", r.Cluster.Elapsed(), d.Name)
	}
	writes := r.writes
	r.carryOut(d, p)
	// Failures are part of what a plan is made from, so a round without any has to follow.
	if (r.writes > writes || len(failures) > 0) && d.back == 0 {
		d.due = true
	}
}

// note traces one action.
func (r *Run) note(a *plan.Action, why Reason) {
	if r.Trace == nil {
		return
	}
	r.Trace("  %s", Describe(a, why))
}
