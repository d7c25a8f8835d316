package plan

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Plan is what a planner wants for one subject, seen from one snapshot. Kinds embed it and add their status.
type Plan struct {
	// Stages run in order.
	Stages []Stage
	// Verdicts has one entry for each pod or target: what happens to it and why.
	Verdicts []Verdict
	// Waits lists what must happen elsewhere before more can be done.
	Waits []Wait
	// Wake is the earliest time at which a plan could differ without an event; zero means never.
	Wake time.Time
	// Done says that the subject's goal holds. A plan that is done has no actions.
	Done bool
	// Unwritten says that the goal holds and that nothing but the subject's status is left to write.
	Unwritten bool
	// Stopped names why the goal cannot be reached until somebody changes the intent (ReasonPaused, ReasonOnDelete,
	// ReasonNotEligible, ReasonBadSpec); it is empty while the plan goes on by itself, and when it is done.
	Stopped Reason
	// Warnings are sentences about what was asked for and is not carried out.
	Warnings []string
}

// Actions returns the actions of all stages in order, each followed by those chained to it.
func (p *Plan) Actions() []Action {
	var all []Action
	for _, s := range p.Stages {
		for i := range s.Actions {
			for a := &s.Actions[i]; a != nil; a = a.Then {
				all = append(all, *a)
			}
		}
	}
	return all
}

// Empty says that the plan writes nothing.
func (p *Plan) Empty() bool {
	for _, s := range p.Stages {
		if len(s.Actions) > 0 {
			return false
		}
	}
	return true
}

// Add appends a stage unless it has no actions.
func (p *Plan) Add(name string, actions ...Action) {
	if len(actions) > 0 {
		p.Stages = append(p.Stages, Stage{Name: name, Actions: actions})
	}
}

// WakeAt moves Wake to t if that is earlier. A zero t is ignored.
func (p *Plan) WakeAt(t time.Time) {
	if !t.IsZero() && (p.Wake.IsZero() || t.Before(p.Wake)) {
		p.Wake = t
	}
}

// Fate is what a plan does to one target now.
type Fate string

// The fates of a target.
const (
	// Keep: nothing is done to it, now or later, unless the world changes.
	Keep Fate = "keep"
	// Hold: it would be changed, but has to wait; the reason says for what.
	Hold Fate = "hold"
	// Refresh: bookkeeping on it (labels, gate conditions, next container batch).
	Refresh Fate = "refresh"
	// UpdateInPlace: it moves to another revision without being replaced.
	UpdateInPlace Fate = "in-place"
	// Recreate: it is marked to be replaced by a pod of another revision.
	Recreate Fate = "recreate"
	// Remove: it is deleted.
	Remove Fate = "delete"
	// Make: it is created.
	Make Fate = "create"
	// Release: it stops being owned.
	Release Fate = "release"
)

// Reason is a stable code for why a target has its fate or why a plan waits. Views turn it into a sentence.
type Reason string

// Reasons shared by all workloads.
const (
	ReasonUpToDate       Reason = "UpToDate"       // at the wanted revision and available
	ReasonPartition      Reason = "Partition"      // the partition keeps it at its revision
	ReasonPaused         Reason = "Paused"         // updates are paused
	ReasonOnDelete       Reason = "OnDelete"       // the strategy waits for somebody to delete it
	ReasonMaxUnavailable Reason = "MaxUnavailable" // the disruption limit is used up
	ReasonScaleLimit     Reason = "ScaleLimit"     // scaleStrategy.maxUnavailable is used up
	ReasonNotReady       Reason = "NotReady"       // it is not ready yet
	ReasonMinReady       Reason = "MinReady"       // ready, but not for minReadySeconds yet
	ReasonUpdating       Reason = "Updating"       // an in-place update of it has not finished
	ReasonGrace          Reason = "Grace"          // the grace period of its in-place update runs
	ReasonHook           Reason = "Hook"           // a lifecycle hook holds it
	ReasonDeleting       Reason = "Deleting"       // somebody deleted it, it has not gone yet
	ReasonFinished       Reason = "Finished"       // it succeeded or failed and is no replica
	ReasonSpecified      Reason = "Specified"      // marked for deletion by name or label
	ReasonScaleIn        Reason = "ScaleIn"        // more pods than wanted
	ReasonScaleOut       Reason = "ScaleOut"       // fewer pods than wanted
	ReasonRevision       Reason = "Revision"       // at another revision than wanted
	ReasonRollback       Reason = "Rollback"       // goes back to the current revision
	ReasonNotEligible    Reason = "NotEligible"    // the change cannot be made in place
	ReasonBookkeeping    Reason = "Bookkeeping"    // labels or conditions of it are brought up to date
	ReasonSelector       Reason = "Selector"       // its labels left the selector
	ReasonNameTaken      Reason = "NameTaken"      // an inactive pod of ours still has the name
	ReasonBadSpec        Reason = "BadSpec"        // a stored value cannot be understood
	ReasonOrder          Reason = "Order"          // another step has to finish first
)

// Verdict says what happens to one target and why.
type Verdict struct {
	Name string
	UID  types.UID
	// Revision is the hash of the revision that the target runs, without the workload's name.
	Revision string
	// Updated says that Revision is the wanted one; Available that it serves by the workload's own rules.
	Updated, Available bool
	Fate               Fate
	Reason             Reason
	// Note has further words: the field that forces a recreate, the state of a container, its own message.
	Note string
	// Since is when the state that Reason names began; zero when unknown.
	Since time.Time
}

// Wait is something outside the plan that has to happen before more can be done.
type Wait struct {
	Reason Reason
	// Names are the pods or objects waited for, sorted; may be empty.
	Names []string
	// Note is one clause that completes the sentence "waits: …".
	Note string
	// Since is when the wait began as far as the objects tell; zero when unknown.
	Since time.Time
}
