package sim

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Fault is something that goes wrong at one write of a run.
type Fault struct {
	// At counts the writes that drivers attempt, from 0.
	At   int
	Kind FaultKind
	// For is how long a death or a lost watch lasts.
	For time.Duration
	// Watch is the kind whose watch is lost.
	Watch schema.GroupKind
}

// FaultKind says what goes wrong.
type FaultKind int

// The kinds of faults.
const (
	// FailWrite: the server refuses and nothing is written.
	FailWrite FaultKind = iota
	// LoseAnswer: the write takes effect, but its driver gets no answer.
	LoseAnswer
	// LoseRequest: the write does not take effect, and its driver gets no answer.
	LoseRequest
	// Collide: somebody else changes the object just before, and the write ends in a conflict.
	Collide
	// DieBefore and DieAfter end the driver's process on either side of the write; what it knew is gone.
	DieBefore
	DieAfter
	// HandOver: another driver gets the lease before the write.
	HandOver
	// LoseWatch: the driver sees no more events of one kind for a while.
	LoseWatch
	// Intrude: another driver acts without the lease for a while.
	Intrude

	// FaultKinds is how many kinds there are.
	FaultKinds = int(Intrude) + 1
)

var faultNames = [FaultKinds]string{"failed write", "lost answer", "lost request", "conflict", "death before a write",
	"death after a write", "hand-over", "lost watch", "intruder"}

// String names the fault.
func (k FaultKind) String() string {
	if k < 0 || int(k) >= FaultKinds {
		return "unknown fault"
	}
	return faultNames[k]
}

// Counts is how often each kind of fault took place.
type Counts [FaultKinds]int

// Total is the number of all faults.
func (c *Counts) Total() int {
	n := 0
	for _, k := range c {
		n += k
	}
	return n
}

// next is the fault of the write that is about to be attempted, if there is one.
func (r *Run) next() (Fault, bool) {
	at := r.writes
	r.writes++
	for i := range r.Faults {
		if r.Faults[i].At == at {
			return r.Faults[i], true
		}
	}
	return Fault{}, false
}
