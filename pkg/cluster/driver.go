package cluster

import (
	"fmt"
	"strings"
	"time"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
)

// LeaseState is what a Lease says.
type LeaseState struct {
	Namespace, Name string
	// Holder is empty for a Lease that was let go.
	Holder   string
	Acquired time.Time
	Renewed  time.Time
	Duration time.Duration
}

// Live says that somebody holds the Lease and renewed it within its duration. Holders stop well before that by their own
// clock, so some seconds between the clocks of two machines do no harm.
func (s *LeaseState) Live(now time.Time) bool {
	return s != nil && s.Holder != "" && now.Before(s.Until())
}

// Until is when the Lease ends unless it is renewed.
func (s *LeaseState) Until() time.Time { return s.Renewed.Add(s.Duration) }

// LeaseFacts are the Leases that decide who drives one subject. A nil state is a Lease that does not exist.
type LeaseFacts struct {
	// Manager is kruise-system/kruise-manager.
	Manager *LeaseState
	// Reconcile is the foreground loop's in the subject's namespace, ReconcileAll the one in kruise-system.
	Reconcile, ReconcileAll *LeaseState
	// Subject is the subject's own.
	Subject *LeaseState
	// Unreadable lists the Leases that we may not read, as namespace/name.
	Unreadable []string
	// Webhooks says that OpenKruise's webhook configuration is there.
	Webhooks bool
}

// Mode is the user's word about who drives where Leases may not be read (--mode).
type Mode string

// The modes.
const (
	// ModeAuto lets the Leases decide.
	ModeAuto Mode = ""
	// ModeLocal drives here.
	ModeLocal Mode = "local"
	// ModeDelegate writes intent only.
	ModeDelegate Mode = "delegate"
)

// DriverKind says what sort of driver there is.
type DriverKind string

// The drivers (design: who drives).
const (
	NoDriver         DriverKind = "none"
	OpenKruiseDriver DriverKind = "openkruise"
	HostedDriver     DriverKind = "hosted"
	ForegroundDriver DriverKind = "reconcile"
	VerbDriver       DriverKind = "verb"
	// UnknownDriver is whoever drives when the Leases may not be read.
	UnknownDriver DriverKind = "unknown"
)

// Driver is who writes the pods of a subject.
type Driver struct {
	Kind   DriverKind
	Holder string
	// Lease is namespace/name.
	Lease          string
	Since, Renewed time.Time
	// Until is when the Lease ends unless it is renewed.
	Until time.Time
}

func driver(kind DriverKind, lease *LeaseState) Driver {
	return Driver{
		Kind: kind, Holder: lease.Holder, Lease: lease.Namespace + "/" + lease.Name,
		Since: lease.Acquired, Renewed: lease.Renewed, Until: lease.Until(),
	}
}

// Role is what a loop may do for a subject.
type Role string

// The roles.
const (
	// Drive: nobody else writes pods; take the subject's Lease and do it.
	Drive Role = "drive"
	// Delegate: another does; write intent, watch and explain.
	Delegate Role = "delegate"
)

// Choice is the answer of Choose.
type Choice struct {
	Role Role
	// Driver is who drives instead when the role is Delegate.
	Driver Driver
}

// Choose says who drives a subject (design: who drives). self is our own holder identity, whose Leases do not count as
// another's. The error is a *LeaseHeldError, a *NotRunningError, an *UnreadableError or a *ModeError: then nothing may be
// written, intent neither.
func Choose(facts *LeaseFacts, self string, mode Mode, now time.Time) (Choice, error) {
	other, found := Above(facts, self, now)
	switch {
	case found && mode == ModeLocal:
		return Choice{}, &ModeError{Driver: other}
	case found:
		return Choice{Delegate, other}, nil
	case mode == ModeDelegate && len(facts.Unreadable) > 0:
		return Choice{Delegate, Driver{Kind: UnknownDriver}}, nil
	case mode == ModeDelegate:
		return Choice{Delegate, Driver{Kind: NoDriver}}, nil
	case len(facts.Unreadable) > 0 && mode == ModeAuto:
		return Choice{}, &UnreadableError{Leases: facts.Unreadable}
	case facts.Webhooks:
		return Choice{}, &NotRunningError{}
	case facts.Subject.Live(now) && facts.Subject.Holder != self:
		return Choice{}, &LeaseHeldError{Driver: driver(VerbDriver, facts.Subject)}
	}
	return Choice{Role: Drive}, nil
}

// Above finds the driver of the rules (a) to (c), which verbs and loops make room for.
func Above(facts *LeaseFacts, self string, now time.Time) (Driver, bool) {
	if facts.Manager.Live(now) && facts.Manager.Holder != self {
		if strings.HasPrefix(facts.Manager.Holder, keys.HolderPrefix) {
			return driver(HostedDriver, facts.Manager), true
		}
		return driver(OpenKruiseDriver, facts.Manager), true
	}
	for _, lease := range []*LeaseState{facts.Reconcile, facts.ReconcileAll} {
		if lease.Live(now) && lease.Holder != self {
			return driver(ForegroundDriver, lease), true
		}
	}
	return Driver{}, false
}

// Holding is who keeps a loop from driving a subject: another loop, or the verb that holds the subject's own Lease.
func Holding(facts *LeaseFacts, self string, now time.Time) (Driver, bool) {
	if other, found := Above(facts, self, now); found {
		return other, true
	}
	if facts.Subject.Live(now) && facts.Subject.Holder != self {
		return driver(VerbDriver, facts.Subject), true
	}
	return Driver{}, false
}

// LeaseHeldError says that another process holds a Lease that we need.
type LeaseHeldError struct{ Driver Driver }

// Error implements error.
func (e *LeaseHeldError) Error() string {
	return fmt.Sprintf("being driven by %s since %s (lease %s)", holderName(e.Driver.Holder), e.Driver.Since.Local().Format("15:04"), e.Driver.Lease)
}

// holderName is <user>@<host> of a holder of ours.
func holderName(holder string) string {
	name := strings.TrimPrefix(holder, keys.HolderPrefix)
	if i := strings.LastIndexByte(name, '/'); i > 0 && name != holder {
		name = name[:i]
	}
	return name
}

// SameUser says that two holders are the same user on the same machine.
func SameUser(a, b string) bool { return a != "" && holderName(a) == holderName(b) }

// UnreadableError says that it cannot be known who drives.
type UnreadableError struct{ Leases []string }

// Error implements error.
func (e *UnreadableError) Error() string {
	return fmt.Sprintf("no permission to read the lease %s, so it is not known who drives; say it with --mode=local (this process) or --mode=delegate (another does)",
		strings.Join(e.Leases, ", "))
}

// NotRunningError says that OpenKruise is installed but its manager does not run: its webhooks refuse writes, and it may
// come back at any moment.
type NotRunningError struct{}

// Error implements error.
func (*NotRunningError) Error() string {
	return "OpenKruise is installed but not running: its webhooks are there and the lease " +
		keys.InstallNamespace + "/" + keys.ManagerLease + " is not live"
}

// ModeError says that --mode=local would make two drivers.
type ModeError struct{ Driver Driver }

// Error implements error.
func (e *ModeError) Error() string {
	return fmt.Sprintf("--mode=local: %s drives already (lease %s); leave the flag out to let it", holderName(e.Driver.Holder), e.Driver.Lease)
}
