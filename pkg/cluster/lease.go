package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
)

// LeaseLabel marks our Leases, so that a loop can watch them alone. Its value is the kind of the subject in lower case, or
// "reconcile".
const LeaseLabel = keys.OwnPrefix + "lease"

// The times of our Leases (design: fixed once).
const (
	LeaseDuration = 15 * time.Second
	renewEvery    = 5 * time.Second
	// renewWithin is how long a holder goes on without a renewal. It is shorter than LeaseDuration, so that a holder has
	// stopped before another may begin.
	renewWithin = 10 * time.Second
	// renewTry is how long one attempt waits for its answer: a server that stands still for a moment must not use up all the
	// time there is.
	renewTry = 2 * time.Second
)

// LeaseAPI is what holding a Lease takes.
type LeaseAPI interface {
	Getter
	Create(ctx context.Context, kind schema.GroupKind, obj plan.Object, dry bool) (plan.Object, error)
	Patch(ctx context.Context, ref plan.Ref, subresource string, as types.PatchType, body []byte, dry bool) (plan.Object, error)
}

// LeaseLostError says that a Lease could not be renewed in time or that somebody else took it.
type LeaseLostError struct {
	Lease string
	// Holder is who has it now, as far as is known.
	Holder string
	Cause  error
}

// Error implements error.
func (e *LeaseLostError) Error() string {
	if e.Holder != "" {
		return fmt.Sprintf("lease %s was taken by %s", e.Lease, holderName(e.Holder))
	}
	return fmt.Sprintf("lease %s could not be renewed: %v", e.Lease, e.Cause)
}

// Unwrap gives the error of the last renewal.
func (e *LeaseLostError) Unwrap() error { return e.Cause }

// Held is a Lease that we hold.
type Held struct {
	api    LeaseAPI
	holder string
	now    func() time.Time

	mu    sync.Mutex
	lease *coordinationv1.Lease
}

// Acquire takes a Lease that is free or has run out, or returns a *LeaseHeldError. label is the value of LeaseLabel. The
// context of Keep must end before Release.
func Acquire(ctx context.Context, api LeaseAPI, namespace, name, holder, label string, now func() time.Time) (*Held, error) {
	h := &Held{api: api, holder: holder, now: now}
	obj, err := api.Get(ctx, LeaseKind, namespace, name)
	switch {
	case apierrors.IsNotFound(err):
		err = h.create(ctx, namespace, name, label)
	case err == nil:
		if state := stateOf(obj); state.Live(now()) && state.Holder != holder {
			return nil, &LeaseHeldError{Driver: driver(VerbDriver, state)}
		}
		lease := obj.(*coordinationv1.Lease)
		err = h.write(ctx, lease, h.claim(lease, label))
	}
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		// Somebody was faster; what they wrote says who.
		return nil, h.faster(ctx, namespace, name)
	}
	if err != nil {
		return nil, fmt.Errorf("take lease %s/%s: %w", namespace, name, Explain(err))
	}
	return h, nil
}

func (h *Held) faster(ctx context.Context, namespace, name string) error {
	obj, err := h.api.Get(ctx, LeaseKind, namespace, name)
	if err != nil {
		return fmt.Errorf("take lease %s/%s: %w", namespace, name, Explain(err))
	}
	return &LeaseHeldError{Driver: driver(VerbDriver, stateOf(obj))}
}

func (h *Held) create(ctx context.Context, namespace, name, label string) error {
	seconds, now := int32(LeaseDuration/time.Second), metav1.NewMicroTime(h.now())
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{LeaseLabel: label}},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: &h.holder, LeaseDurationSeconds: &seconds, AcquireTime: &now, RenewTime: &now,
		},
	}
	stored, err := h.api.Create(ctx, LeaseKind, lease, false)
	if err != nil {
		return err
	}
	return h.keep(stored)
}

// claim is the patch that makes a free Lease ours.
func (h *Held) claim(lease *coordinationv1.Lease, label string) map[string]any {
	var transitions int32
	if lease.Spec.LeaseTransitions != nil {
		transitions = *lease.Spec.LeaseTransitions
	}
	now := metav1.NewMicroTime(h.now())
	return map[string]any{
		"metadata": map[string]any{"labels": map[string]string{LeaseLabel: label}},
		"spec": map[string]any{
			"holderIdentity": h.holder, "leaseDurationSeconds": int32(LeaseDuration / time.Second),
			"acquireTime": now, "renewTime": now, "leaseTransitions": transitions + 1,
		},
	}
}

// write sends a patch that fails when the Lease has changed.
func (h *Held) write(ctx context.Context, lease *coordinationv1.Lease, patch map[string]any) error {
	body, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	ref := plan.Ref{Kind: LeaseKind, Namespace: lease.Namespace, Name: lease.Name, UID: lease.UID}
	if body, err = bind(types.MergePatchType, body, lease.UID, lease.ResourceVersion); err != nil {
		return err
	}
	stored, err := h.api.Patch(ctx, ref, "", types.MergePatchType, body, false)
	if err != nil {
		return err
	}
	return h.keep(stored)
}

func (h *Held) keep(stored plan.Object) error {
	lease, ok := stored.(*coordinationv1.Lease)
	if !ok {
		return fmt.Errorf("the server returned %T for a lease", stored)
	}
	h.mu.Lock()
	h.lease = lease
	h.mu.Unlock()
	return nil
}

func (h *Held) last() *coordinationv1.Lease {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.lease
}

// Name is the Lease as namespace/name.
func (h *Held) Name() string { return h.last().Namespace + "/" + h.last().Name }

// Keep renews the Lease until the context ends, and returns nil then. It returns a *LeaseLostError as soon as the Lease
// may be another's; nothing may be written after that.
func (h *Held) Keep(ctx context.Context) error {
	renewed := time.Now()
	for Pause(ctx, h.pause(renewed)) {
		asked := time.Now()
		attempt, cancel := context.WithDeadline(ctx, earlier(renewed.Add(renewWithin), asked.Add(renewTry)))
		err := h.renew(attempt)
		cancel()
		var lost *LeaseLostError
		if errors.As(err, &lost) {
			return lost
		}
		if err == nil {
			renewed = asked
		} else if ctx.Err() == nil && time.Since(renewed) >= renewWithin {
			return &LeaseLostError{Lease: h.Name(), Cause: Explain(err)}
		}
	}
	return nil
}

// pause is the time to the next renewal: soon again after one that did not succeed.
func (h *Held) pause(renewed time.Time) time.Duration {
	since := time.Since(renewed)
	if since < renewEvery {
		return renewEvery - since
	}
	return max(min(time.Second, renewWithin-since), 0)
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func (h *Held) renew(ctx context.Context) error {
	lease := h.last()
	err := h.touch(ctx)
	if !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
		return err
	}
	obj, err := h.api.Get(ctx, LeaseKind, lease.Namespace, lease.Name)
	if apierrors.IsNotFound(err) {
		return &LeaseLostError{Lease: h.Name(), Cause: errors.New("it was deleted")}
	}
	if err != nil {
		return err
	}
	state := stateOf(obj)
	if state.Holder != h.holder {
		return &LeaseLostError{Lease: h.Name(), Holder: cmp.Or(state.Holder, "another, who let go of it since")}
	}
	if err := h.keep(obj); err != nil || state.Renewed.After(stateOf(lease).Renewed) {
		return err // renewed by us: only the answer was lost
	}
	return h.touch(ctx)
}

// touch says that we are alive.
func (h *Held) touch(ctx context.Context) error {
	return h.write(ctx, h.last(), map[string]any{"spec": map[string]any{"renewTime": metav1.NewMicroTime(h.now())}})
}

// Release empties the Lease, so that the next driver need not wait. A Lease that is another's by now is left alone. One
// that only changed is still ours: the end of a run may come while a renewal is under way, whose answer is lost then.
func (h *Held) Release(ctx context.Context) error {
	err := h.empty(ctx)
	if apierrors.IsConflict(err) {
		err = h.releaseChanged(ctx)
	}
	if err == nil || apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil
	}
	return fmt.Errorf("let go of lease %s: %w", h.Name(), Explain(err))
}

func (h *Held) releaseChanged(ctx context.Context) error {
	lease := h.last()
	obj, err := h.api.Get(ctx, LeaseKind, lease.Namespace, lease.Name)
	if err != nil || stateOf(obj).Holder != h.holder {
		return err
	}
	if err := h.keep(obj); err != nil {
		return err
	}
	return h.empty(ctx)
}

func (h *Held) empty(ctx context.Context) error {
	return h.write(ctx, h.last(), map[string]any{"spec": map[string]any{"holderIdentity": "", "renewTime": metav1.NewMicroTime(h.now())}})
}
