package clustertest

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
)

// Fault is a way in which a request goes wrong.
type Fault string

// The faults.
const (
	// None: the request is carried out.
	None Fault = ""
	// Error500: the server has an internal error and does nothing.
	Error500 Fault = "500"
	// Conflict: the server says that the object has moved on.
	Conflict Fault = "conflict"
	// Busy: 429, with a time to wait.
	Busy Fault = "429"
	// Forbidden: no permission.
	Forbidden Fault = "forbidden"
	// Lost: the request never arrives.
	Lost Fault = "lost"
	// LostAnswer: the request is carried out and the answer never arrives.
	LostAnswer Fault = "lost answer"
)

// Call is one request, as far as faults are chosen by it.
type Call struct {
	// Verb is a verb of plan, or "get".
	Verb        plan.Verb
	Kind        schema.GroupKind
	Name        string
	Subresource string
}

// Get is the verb of reads of one object.
const Get plan.Verb = "get"

// Faulty passes requests on to an API unless Choose wants them to fail. Lists and watches never fail.
type Faulty struct {
	API
	// Choose is called for each request, from several goroutines at once.
	Choose func(Call) Fault
	// RetryAfter is what Busy asks for, in seconds.
	RetryAfter int
}

func (f *Faulty) around(call Call, do func() error) error {
	fault := f.Choose(call)
	group := resource(call.Kind)
	switch fault {
	case None:
		return do()
	case Error500:
		return errors.NewInternalError(fmt.Errorf("made to fail"))
	case Conflict:
		return errors.NewConflict(group, call.Name, fmt.Errorf("made to conflict"))
	case Busy:
		return errors.NewTooManyRequests("made to wait", f.RetryAfter)
	case Forbidden:
		return errors.NewForbidden(group, call.Name, fmt.Errorf("made to be forbidden"))
	case LostAnswer:
		_ = do()
	}
	return context.DeadlineExceeded
}

// Get implements cluster.Source.
func (f *Faulty) Get(ctx context.Context, kind schema.GroupKind, namespace, name string) (obj plan.Object, err error) {
	err = f.around(Call{Verb: Get, Kind: kind, Name: name}, func() error {
		obj, err = f.API.Get(ctx, kind, namespace, name)
		return err
	})
	return result(obj, err)
}

// Create implements cluster.Writer.
func (f *Faulty) Create(ctx context.Context, kind schema.GroupKind, in plan.Object, dry bool) (obj plan.Object, err error) {
	err = f.around(Call{Verb: plan.Create, Kind: kind, Name: in.GetName()}, func() error {
		obj, err = f.API.Create(ctx, kind, in, dry)
		return err
	})
	return result(obj, err)
}

// Patch implements cluster.Writer.
func (f *Faulty) Patch(ctx context.Context, ref plan.Ref, subresource string, as types.PatchType, body []byte, dry bool) (obj plan.Object, err error) {
	err = f.around(Call{Verb: plan.Patch, Kind: ref.Kind, Name: ref.Name, Subresource: subresource}, func() error {
		obj, err = f.API.Patch(ctx, ref, subresource, as, body, dry)
		return err
	})
	return result(obj, err)
}

// Delete implements cluster.Writer.
func (f *Faulty) Delete(ctx context.Context, ref plan.Ref, resourceVersion string, dry bool) (obj plan.Object, err error) {
	err = f.around(Call{Verb: plan.Delete, Kind: ref.Kind, Name: ref.Name}, func() error {
		obj, err = f.API.Delete(ctx, ref, resourceVersion, dry)
		return err
	})
	return result(obj, err)
}

// Evict implements cluster.Writer.
func (f *Faulty) Evict(ctx context.Context, ref plan.Ref, dry bool) error {
	return f.around(Call{Verb: plan.Evict, Kind: ref.Kind, Name: ref.Name}, func() error { return f.API.Evict(ctx, ref, dry) })
}

func result(obj plan.Object, err error) (plan.Object, error) {
	if err != nil {
		return nil, err
	}
	return obj, nil
}
