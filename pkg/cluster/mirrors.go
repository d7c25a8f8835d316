package cluster

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
)

// Mirrors are the mirrors that one loop reads from. They are the Overlay of its executor.
type Mirrors []*Mirror

// Wrote implements Overlay.
func (ms Mirrors) Wrote(kind schema.GroupKind, obj plan.Object) {
	for _, m := range ms {
		if m.Shows(kind, obj.GetNamespace()) {
			m.Wrote(obj)
		}
	}
}

// Gone implements Overlay.
func (ms Mirrors) Gone(ref plan.Ref) {
	for _, m := range ms {
		if m.Shows(ref.Kind, ref.Namespace) {
			m.Gone(ref.UID)
		}
	}
}

// Resolve reads objects from the server itself and lays what it finds over the mirrors, so that the next plan knows what
// became of writes that conflicted or had no answer (see Report.Doubts). It returns the doubts that remain, with the
// first error.
func (ms Mirrors) Resolve(ctx context.Context, source Source, doubts []plan.Ref) ([]plan.Ref, error) {
	for i, ref := range doubts {
		obj, err := source.Get(ctx, ref.Kind, ref.Namespace, ref.Name)
		switch {
		case err == nil:
			if ref.UID != "" && obj.GetUID() != ref.UID {
				ms.Gone(ref)
			}
			ms.Wrote(ref.Kind, obj)
		case apierrors.IsNotFound(err):
			if ref.UID != "" {
				ms.Gone(ref)
			}
		default:
			return doubts[i:], fmt.Errorf("read %s %s: %w", ref.Kind.Kind, ref.Name, Explain(err))
		}
	}
	return nil, nil
}
