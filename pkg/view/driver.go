package view

import (
	"fmt"
	"time"
)

// DriverKind says who moves pods.
type DriverKind string

// The drivers (design.md "Who drives").
const (
	// DriverNone: nobody; a verb would drive itself.
	DriverNone DriverKind = "none"
	// DriverOpenKruise: the manager of OpenKruise.
	DriverOpenKruise DriverKind = "openkruise"
	// DriverHosted: our loop inside the cluster.
	DriverHosted DriverKind = "hosted"
	// DriverForeground: somebody's `kubectl kruise reconcile`.
	DriverForeground DriverKind = "reconcile"
	// DriverVerb: somebody's verb holds the subject.
	DriverVerb DriverKind = "verb"
	// DriverSelf: this process.
	DriverSelf DriverKind = "self"
	// DriverUnknown: the Leases may not be read.
	DriverUnknown DriverKind = "unknown"
)

// Driver is who moves the pods of a subject, as its Lease says.
type Driver struct {
	Kind   DriverKind `json:"kind"`
	Holder string     `json:"holder,omitempty"`
	// Lease is namespace/name.
	Lease   string    `json:"lease,omitempty"`
	Since   time.Time `json:"since,omitzero"`
	Renewed time.Time `json:"renewed,omitzero"`
}

// Sentence says who drives in one clause.
func (d Driver) Sentence() string {
	holder := Holder(d.Holder)
	switch d.Kind {
	case DriverOpenKruise:
		return fmt.Sprintf("OpenKruise drives (lease %s)", Clean(d.Lease))
	case DriverHosted:
		return fmt.Sprintf("the loop in the cluster drives (%s, lease %s)", holder, Clean(d.Lease))
	case DriverForeground:
		return fmt.Sprintf("%s drives with kubectl kruise reconcile (lease %s)", holder, Clean(d.Lease))
	case DriverVerb:
		return fmt.Sprintf("%s drives (lease %s)", holder, Clean(d.Lease))
	case DriverSelf:
		return "driving here (nobody else does)"
	case DriverUnknown:
		return "who drives is unknown: its leases may not be read"
	}
	return "nobody drives; pods move when a rollout or reconcile runs"
}
