package sim

import (
	"time"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
)

// Driver is one process that plans and writes.
type Driver struct {
	Name string
	View *View
	// Plan plans from what the driver sees and from the failures of its last round. An error means a wrong spec.
	Plan func(v *View, failures []Failure) (*plan.Plan, error)
	// Forget drops what the process keeps in memory. It may be nil.
	Forget func()

	failures []Failure
	doubts   []plan.Ref
	// due says that a round is wanted as soon as rest is over.
	due  bool
	rest time.Duration
	// wake is when the last plan wants another look; 0 for never.
	wake time.Duration
	// back is when a dead driver starts again, healed when a lost watch is listed anew; 0 for neither.
	back, healed time.Duration
}

// Failure is a write that failed for another reason than a conflict.
type Failure struct {
	Stage string
	Err   error
}

// start begins with a fresh look at everything.
func (d *Driver) start() {
	d.View.Relist()
	d.due, d.wake, d.back, d.healed = true, 0, 0, 0
	d.failures, d.doubts = nil, nil
}

// die forgets everything but the place to start again.
func (d *Driver) die(until time.Duration) {
	d.back, d.due, d.wake = until, false, 0
	if d.Forget != nil {
		d.Forget()
	}
}

// moment is when the driver next does something, at the earliest.
func (d *Driver) moment(now time.Duration) (time.Duration, bool) {
	if d.back > 0 {
		return d.back, true
	}
	at, any := time.Duration(0), false
	earlier := func(t time.Duration) {
		if !any || t < at {
			at, any = t, true
		}
	}
	if d.due {
		earlier(max(now, d.rest))
	}
	if d.wake > 0 {
		earlier(max(d.wake, d.rest))
	}
	if t, ok := d.View.Next(); ok {
		earlier(max(t, d.rest))
	}
	if d.healed > 0 {
		earlier(d.healed)
	}
	return at, any
}

// turn does what is due now and says whether a round is.
func (d *Driver) turn(now time.Duration) bool {
	if d.back > 0 {
		if d.back > now {
			return false
		}
		d.start()
	}
	if d.healed > 0 && d.healed <= now {
		d.healed = 0
		d.due = d.View.Recover() || d.due
	}
	if now < d.rest {
		return false
	}
	if d.View.Sync() || d.wake > 0 && d.wake <= now {
		d.due = true
	}
	return d.due
}

// result is how a chain of writes ended.
type result int

const (
	done result = iota
	conflicted
	failed
	stopped // the process died or lost its lease
)

// carryOut does what the executor does: stages in order, in each stage chains in groups of 1, 2, 4 …; a failure ends it
// after its group, a conflict after its stage.
func (r *Run) carryOut(d *Driver, p *plan.Plan) {
	for i := range p.Stages {
		stage := &p.Stages[i]
		broken := false
		for size, from := 1, 0; from < len(stage.Actions); size *= 2 {
			group := stage.Actions[from:min(from+size, len(stage.Actions))]
			from += len(group)
			first := int(r.Cluster.chance(uint64(len(group)), "group", r.Cluster.rv))
			halt := false
			for k := range group {
				switch r.chain(d, stage.Name, &group[(first+k)%len(group)]) {
				case stopped:
					return
				case failed:
					halt = true
				case conflicted:
					broken = true
				}
			}
			if halt {
				return
			}
		}
		if broken {
			return
		}
	}
}

// chain writes an action and those chained to it until one does not succeed.
func (r *Run) chain(d *Driver, stage string, first *plan.Action) result {
	var last plan.Object
	for a := first; a != nil; a = a.Then {
		if a.Verb == plan.Record {
			r.note(a, "")
			continue
		}
		write := *a
		if last != nil && a.ResourceVersion != "" && a.ResourceVersion == first.ResourceVersion {
			write.ResourceVersion = last.GetResourceVersion()
		}
		r.pass(r.WriteTime)
		obj, why := r.attempt(d, &write)
		if why == gone {
			return stopped
		}
		r.note(a, why)
		switch why {
		case "":
		case NotFound:
			if a.Verb != plan.Delete {
				d.doubts = append(d.doubts, a.On)
				return conflicted
			}
			d.View.Gone(a.On.Kind, a.On.UID)
			continue
		case Conflict, AlreadyExists:
			d.doubts = append(d.doubts, a.On)
			return conflicted
		default:
			if why == NoAnswer {
				d.doubts = append(d.doubts, a.On)
			}
			d.failures = append(d.failures, Failure{stage, &Error{why, a.On}})
			return failed
		}
		if obj != nil {
			d.View.Wrote(a.On.Kind, obj)
		} else {
			d.View.Gone(a.On.Kind, a.On.UID)
		}
		last = obj
	}
	return done
}

// gone is the reason of a write whose driver is not there any more to hear it.
const gone Reason = "gone"

// attempt does one write with the fault that belongs to it.
func (r *Run) attempt(d *Driver, a *plan.Action) (plan.Object, Reason) {
	fault, faulty := r.next()
	if !faulty {
		return r.write(d, a)
	}
	if r.Trace != nil {
		r.Trace("  fault: %s", fault.Kind)
	}
	r.Faulted[fault.Kind]++
	switch fault.Kind {
	case FailWrite:
		return nil, Refused
	case LoseAnswer:
		_, _ = r.write(d, a)
		return nil, NoAnswer
	case LoseRequest:
		return nil, NoAnswer
	case Collide:
		r.collide(a)
		obj, why := r.write(d, a)
		if why == "" && a.ResourceVersion == "" {
			return obj, ""
		}
		return nil, Conflict
	case DieBefore, DieAfter:
		if fault.Kind == DieAfter {
			_, _ = r.write(d, a)
		}
		d.die(r.Cluster.now + fault.For)
		return nil, gone
	case HandOver:
		if r.handOver() {
			return nil, gone
		}
	case LoseWatch:
		d.View.Lose(fault.Watch)
		d.healed = r.Cluster.now + fault.For
	case Intrude:
		r.intrude(fault.For)
	}
	return r.write(d, a)
}

// collide lets somebody change the object of an action.
func (r *Run) collide(a *plan.Action) {
	_ = r.Cluster.Change("somebody", a.On.Kind, a.On.Namespace, a.On.Name, func(obj plan.Object) {
		notes := make(map[string]string, len(obj.GetAnnotations())+1)
		for k, v := range obj.GetAnnotations() {
			notes[k] = v
		}
		notes["somebody/was-here"] = "yes"
		obj.SetAnnotations(notes)
	})
}

func (r *Run) write(d *Driver, a *plan.Action) (plan.Object, Reason) {
	obj, err := r.Cluster.Do(d.Name, a)
	switch e := err.(type) {
	case nil:
		return obj, ""
	case *Error:
		return nil, e.Reason
	default:
		r.fail(err)
		return nil, Refused
	}
}
