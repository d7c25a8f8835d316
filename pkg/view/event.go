package view

import (
	"time"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
)

// Event is something that a loop tells about one subject. There is one type for each thing that can happen; the zero or
// more events of a subject come in order.
type Event interface {
	// When is the time of the event.
	When() time.Time
	// About is its subject.
	About() Subject
}

// Subject names the workload that a loop works on.
type Subject struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// Head is the part that all events have.
type Head struct {
	At      time.Time
	Subject Subject
}

// When implements Event.
func (h Head) When() time.Time { return h.At }

// About implements Event.
func (h Head) About() Subject { return h.Subject }

// Counts are the numbers of a workload at one moment.
type Counts struct {
	// Wanted is the number of pods that the spec asks for; ExpectedUpdated how many of them the partition lets move.
	Wanted          int32 `json:"wanted"`
	ExpectedUpdated int32 `json:"expectedUpdated"`

	Replicas         int32 `json:"replicas"`
	Ready            int32 `json:"ready"`
	Available        int32 `json:"available"`
	Updated          int32 `json:"updated"`
	UpdatedReady     int32 `json:"updatedReady"`
	UpdatedAvailable int32 `json:"updatedAvailable"`

	UpdateRevision  string `json:"updateRevision,omitempty"`
	CurrentRevision string `json:"currentRevision,omitempty"`
}

// Started: the loop has found out who drives and begins, as driver (DriverSelf) or as a watcher of another.
type Started struct {
	Head
	Driver Driver
}

// Planned: the subject was looked at and a plan was made. It comes for every look, before its actions are written.
type Planned struct {
	Head
	// Object is the subject as it was read, in the version that planners see. Nobody may change it.
	Object plan.Object
	Plan   *plan.Plan
	Counts Counts
}

// Acted: one action was written. In a dry run it was only checked by the server.
type Acted struct {
	Head
	Stage  string
	Action plan.Action
	DryRun bool
	Took   time.Duration
}

// ActionFailed: one action was refused or had no answer. The loop looks again and tries what is then right.
type ActionFailed struct {
	Head
	Stage  string
	Action plan.Action
	// Err says in words what went wrong.
	Err string
	// Unknown says that there was no answer, so that it may have been carried out.
	Unknown bool
}

// Waiting: what the plan waits for is no longer what it waited for before. An empty list says that it waits for nothing.
type Waiting struct {
	Head
	Waits []plan.Wait
	// Until is when the loop looks again if nothing happens; zero when only an event can help.
	Until time.Time
}

// Trouble: the connection to the cluster is disturbed, or planning failed; the loop goes on trying. An empty Err says that
// it is over.
type Trouble struct {
	Head
	Err string
}

// DriverChanged: somebody else drives from now on, or nobody does. A loop that drove has stopped writing.
type DriverChanged struct {
	Head
	Driver Driver
}

// Opened: at its end a loop that nobody follows has opened what was left of the launch order of pods, so that no container
// waits for ever. It comes after the end of the subject.
type Opened struct {
	Head
	// Pods are those whose levels are all open now, Left those of which it could not open all, Kept those that it was told to
	// leave as they are. Each list is sorted.
	Pods, Left, Kept []string
}

// Done: the goal of the subject holds.
type Done struct {
	Head
	Counts Counts
	Took   time.Duration
}

// StopReason says why a loop ended, or let go of a subject, before its goal held.
type StopReason string

// The reasons.
const (
	// StopTimeout: the time given to it is over.
	StopTimeout StopReason = "timeout"
	// StopInterrupted: it was asked to stop.
	StopInterrupted StopReason = "interrupted"
	// StopPaused: the subject is paused or moves pods only when somebody deletes them; see Plan.Stopped.
	StopPaused StopReason = "paused"
	// StopSuperseded: somebody changed the spec so that the goal is another.
	StopSuperseded StopReason = "superseded"
	// StopLeaseLost: the Lease was not renewed in time or taken by somebody else.
	StopLeaseLost StopReason = "lease-lost"
	// StopDriver: another driver turned up.
	StopDriver StopReason = "other-driver"
	// StopGone: the subject was deleted.
	StopGone StopReason = "gone"
	// StopFailed: it cannot go on, see Detail.
	StopFailed StopReason = "failed"
)

// Stopped: the loop has ended before the goal held. What was under way has been finished or is listed as a failure.
type Stopped struct {
	Head
	Why StopReason
	// Detail is one clause with the particulars, without a period.
	Detail string
	Counts Counts
}
