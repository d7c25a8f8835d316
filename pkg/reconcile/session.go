package reconcile

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/features"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/cluster"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/inplace"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/view"
)

// API is everything that loops need of a cluster. cluster.Client offers it.
type API interface {
	cluster.Source
	cluster.Writer
	Metadata(ctx context.Context, kind schema.GroupKind, namespace string) ([]plan.Object, error)
}

// Served is a kind as one cluster serves it.
type Served struct {
	*Kind
	APIVersion string
}

// Session is what all loops of a process share. The zero value of a field is not usable unless its comment says so.
type Session struct {
	API   API
	Gates features.Gates
	// Now is the clock.
	Now func() time.Time
	// Random gives seeds for new names.
	Random func() uint64
	// Holder is who we are in Leases: kubectl-kruise/<user>@<host>/<random>.
	Holder string
	// Mode decides who drives where Leases may not be read. The zero value lets the Leases decide.
	Mode cluster.Mode
	// Resize is how the server changes the resources of running pods; the zero value leaves them as they are.
	Resize inplace.ResizeMode
	// KeepOrders leaves launch orders that are not through to the next driver; else what is left of them is opened at the end.
	KeepOrders bool
	// Parallel limits the writes at a time for one subject; 0 is the executor's default.
	Parallel int
	// Tell hears of what happens, one event at a time and in order. It may be nil. A reader that is slow or gone holds
	// nothing up.
	Tell func(view.Event)
	// Meter hears how long things took. It may be nil.
	Meter Meter
}

// Meter hears how long things took, from several goroutines at once.
type Meter interface {
	// Planned: one decision about a subject of the kind.
	Planned(kind string, took time.Duration)
	// Waited: the time from the first unseen event about a subject to the look at it.
	Waited(kind string, age time.Duration)
}

// Connect finds the version in which the cluster serves each kind and prepares a client for them. The error wraps a
// *cluster.NotServedError when a kind's CRD is missing.
func Connect(ctx context.Context, config *rest.Config, kinds ...*Kind) (*cluster.Client, []Served, error) {
	scout, err := cluster.Connect(config)
	if err != nil {
		return nil, nil, err
	}
	var served []Served
	var wire []cluster.Kind
	for _, kind := range kinds {
		if kind.Cluster == nil {
			served = append(served, Served{Kind: kind, APIVersion: schema.GroupVersion{Group: kind.Group, Version: kind.Versions[0]}.String()})
			continue
		}
		version, err := scout.Served(ctx, kind.GroupKind, kind.Resource, kind.Versions...)
		if err != nil {
			return nil, nil, err
		}
		w, err := kind.Cluster(version)
		if err != nil {
			return nil, nil, err
		}
		wire = append(wire, w)
		served = append(served, Served{Kind: kind, APIVersion: w.APIVersion()})
	}
	client, err := cluster.Connect(config, wire...)
	return client, served, err
}

// Target is one subject of a loop.
type Target struct {
	Served
	Namespace, Name string
}

// String is the target in kubectl's form, such as cloneset.apps.kruise.io/web.
func (t Target) String() string {
	return fmt.Sprintf("%s/%s", schema.GroupKind{Group: t.Group, Kind: t.Kind.GroupKind.Kind}, t.Name)
}

func (t Target) lease() string { return cluster.SubjectLease(t.Kind.GroupKind.Kind, t.Name) }

func (t Target) view() view.Subject {
	return view.Subject{Kind: t.Kind.GroupKind.Kind, Namespace: t.Namespace, Name: t.Name}
}

func (s *Session) head(t Target) view.Head { return view.Head{At: s.Now(), Subject: t.view()} }

// driverView is a driver as it is shown.
func driverView(d cluster.Driver) view.Driver {
	return view.Driver{Kind: view.DriverKind(d.Kind), Holder: d.Holder, Lease: d.Lease, Since: d.Since, Renewed: d.Renewed}
}
