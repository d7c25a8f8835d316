package cluster

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
)

// Getter reads single objects.
type Getter interface {
	Get(ctx context.Context, kind schema.GroupKind, namespace, name string) (plan.Object, error)
}

const (
	maxName  = 253
	hashSize = 10
)

// SubjectLease is the name of a subject's own Lease: kubectl-kruise-<kind>-<name>, cut and completed with a hash where it
// would be too long for a name.
func SubjectLease(kind, name string) string {
	full := keys.SubjectLeasePrefix + strings.ToLower(kind) + "-" + name
	if len(full) <= maxName {
		return full
	}
	sum := sha256.Sum256([]byte(full))
	cut := strings.TrimRight(full[:maxName-hashSize-1], "-.")
	return cut + "-" + hex.EncodeToString(sum[:])[:hashSize]
}

// stateOf reads what a Lease object says; nil for nil.
func stateOf(obj plan.Object) *LeaseState {
	lease, ok := obj.(*coordinationv1.Lease)
	if !ok || lease == nil {
		return nil
	}
	state := &LeaseState{Namespace: lease.Namespace, Name: lease.Name}
	if lease.Spec.HolderIdentity != nil {
		state.Holder = *lease.Spec.HolderIdentity
	}
	if lease.Spec.AcquireTime != nil {
		state.Acquired = lease.Spec.AcquireTime.Time
	}
	if lease.Spec.RenewTime != nil {
		state.Renewed = lease.Spec.RenewTime.Time
	}
	if lease.Spec.LeaseDurationSeconds != nil {
		state.Duration = time.Duration(*lease.Spec.LeaseDurationSeconds) * time.Second
	}
	return state
}

// leaseName names one Lease that matters.
type leaseName struct {
	namespace, name string
	put             func(*LeaseFacts, *LeaseState)
}

// leaseNames are the Leases of a subject in a namespace; an empty lease name leaves out the subject's own, an empty
// namespace those of a namespace.
func leaseNames(namespace, lease string) []leaseName {
	names := []leaseName{
		{keys.InstallNamespace, keys.ManagerLease, func(f *LeaseFacts, s *LeaseState) { f.Manager = s }},
		{keys.InstallNamespace, keys.ReconcileLease, func(f *LeaseFacts, s *LeaseState) { f.ReconcileAll = s }},
	}
	if namespace != "" && namespace != keys.InstallNamespace {
		names = append(names, leaseName{namespace, keys.ReconcileLease, func(f *LeaseFacts, s *LeaseState) { f.Reconcile = s }})
	}
	if lease != "" {
		at := namespace
		if at == "" {
			at = keys.InstallNamespace
		}
		names = append(names, leaseName{at, lease, func(f *LeaseFacts, s *LeaseState) { f.Subject = s }})
	}
	return names
}

// ReadLeases reads the Leases that decide who drives a subject whose own Lease has the given name, and whether the
// webhooks of OpenKruise are there; ours have the same name and our mark. Who may not read them is taken to have none
// before them: the webhooks themselves refuse their writes then. Leases of the install namespace that may not be read are
// listed as unreadable; one of the subject's namespace that may not be read is an error, because to drive without it is
// impossible.
func ReadLeases(ctx context.Context, api Getter, namespace, lease string) (*LeaseFacts, error) {
	names := leaseNames(namespace, lease)
	states, errs := make([]*LeaseState, len(names)), make([]error, len(names))
	var webhooks bool
	var wg sync.WaitGroup
	for i, n := range names {
		wg.Go(func() {
			obj, err := api.Get(ctx, LeaseKind, n.namespace, n.name)
			if err == nil {
				states[i] = stateOf(obj)
			} else if !apierrors.IsNotFound(err) {
				errs[i] = err
			}
		})
	}
	wg.Go(func() {
		obj, err := api.Get(ctx, webhookKind, "", keys.MutatingConfiguration)
		webhooks = err == nil && obj.GetLabels()[keys.PartOfLabel] != keys.FieldManager && obj.GetLabels()[keys.ManagedByLabel] != keys.FieldManager
	})
	wg.Wait()
	facts := &LeaseFacts{Webhooks: webhooks}
	for i, n := range names {
		switch {
		case errs[i] == nil:
			n.put(facts, states[i])
		case apierrors.IsForbidden(errs[i]) && n.namespace == keys.InstallNamespace:
			facts.Unreadable = append(facts.Unreadable, n.namespace+"/"+n.name)
		default:
			return nil, fmt.Errorf("read lease %s/%s: %w", n.namespace, n.name, Explain(errs[i]))
		}
	}
	return facts, nil
}
