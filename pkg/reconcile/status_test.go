package reconcile_test

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/cluster/clustertest"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/reconcile"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/view"
)

// pruning is a server whose kind does not know a field of the status.
type pruning struct{ *clustertest.Server }

func (p pruning) Patch(ctx context.Context, ref plan.Ref, subresource string, as types.PatchType, body []byte, dry bool) (plan.Object, error) {
	obj, err := p.Server.Patch(ctx, ref, subresource, as, body, dry)
	if err != nil || ref.Kind != plan.CloneSetKind {
		return obj, err
	}
	p.Edit(ref.Kind, ref.Namespace, ref.Name, func(obj plan.Object) { obj.(*v1beta1.CloneSet).Status.LabelSelector = "" })
	return p.Get(ctx, ref.Kind, ref.Namespace, ref.Name)
}

// A status that cannot be kept is no reason never to be done: it is said once, and the pods are as wanted.
func TestRunEndsWithoutItsStatus(t *testing.T) {
	t.Parallel()
	for name, api := range map[string]func(*clustertest.Server) reconcile.API{
		"no right to write it": func(s *clustertest.Server) reconcile.API {
			return &clustertest.Faulty{API: s, Choose: func(call clustertest.Call) clustertest.Fault {
				if call.Kind == plan.CloneSetKind && call.Subresource == plan.StatusSubresource {
					return clustertest.Forbidden
				}
				return clustertest.None
			}}
		},
		"the kind drops a field": func(s *clustertest.Server) reconcile.API { return pruning{s} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				w := newWorld(t, web("web", 3))
				s := w.session("laptop/1")
				s.API = api(w.server)
				result := w.drive(t.Context(), s, "web", reconcile.RunOptions{Timeout: time.Minute})
				if !result.Reached {
					t.Fatalf("result %+v", result)
				}
				said := 0
				for _, e := range w.events {
					if trouble, ok := e.(view.Trouble); ok && strings.Contains(trouble.Err, "cannot be kept") {
						said++
					}
				}
				if said != 1 {
					t.Errorf("said %d times that the status cannot be kept", said)
				}
				if ready := w.tally("web")["app:1 restarts=0 ready=true"]; ready != 3 {
					t.Errorf("%d pods are ready", ready)
				}
			})
		})
	}
}

// undoing is a server with a webhook that takes a condition of pods back at once.
type undoing struct {
	*clustertest.Server
	n *atomic.Int32
}

func (u undoing) Patch(ctx context.Context, ref plan.Ref, subresource string, as types.PatchType, body []byte, dry bool) (plan.Object, error) {
	if ref.Kind == plan.PodKind && subresource == plan.StatusSubresource {
		u.n.Add(1)
		return u.Get(ctx, ref.Kind, ref.Namespace, ref.Name)
	}
	return u.Server.Patch(ctx, ref, subresource, as, body, dry)
}

// A write that somebody takes back is not repeated without a pause, although its time is another each time.
func TestRunPausesWhenItsWritesAreTakenBack(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		w := newWorld(t, web("web", 1))
		var n atomic.Int32
		s := w.session("laptop/1")
		s.API = undoing{w.server, &n}
		result := w.drive(t.Context(), s, "web", reconcile.RunOptions{Timeout: 10 * time.Minute})
		if result.Reached || result.Why != view.StopTimeout {
			t.Fatalf("result %+v", result)
		}
		if tries := n.Load(); tries < 5 || tries > 100 {
			t.Errorf("%d tries in ten minutes", tries)
		}
	})
}

// A name whose pod has just gone is dropped without a word; one that never was is told.
func TestNamesOfPodsThatWentAreDroppedQuietly(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		w := newWorld(t, web("web", 3))
		s := w.session("laptop/1")
		if result := w.drive(t.Context(), s, "web", reconcile.RunOptions{}); !result.Reached {
			t.Fatalf("not created: %+v", result)
		}
		names := slices.Collect(func(yield func(string) bool) {
			for _, obj := range w.server.Objects(plan.PodKind) {
				if !yield(obj.(*corev1.Pod).Name) {
					return
				}
			}
		})
		w.edit("web", func(set *v1beta1.CloneSet) {
			set.Spec.ScaleStrategy.PodsToDelete = []string{names[0], names[1], "nobody"}
		})
		w.events = nil
		if result := w.drive(t.Context(), s, "web", reconcile.RunOptions{}); !result.Reached {
			t.Fatalf("not replaced: %+v", result)
		}
		told := map[string]bool{}
		for _, e := range w.events {
			if p, ok := e.(view.Planned); ok {
				for _, warning := range p.Plan.Warnings {
					told[warning] = true
				}
			}
		}
		for _, name := range names[:2] {
			for warning := range told {
				if strings.Contains(warning, name) {
					t.Errorf("pod %s was there: %s", name, warning)
				}
			}
		}
		if !told["spec.scaleStrategy.podsToDelete: no pod of this set, dropped: nobody"] {
			t.Errorf("warnings %v", told)
		}
	})
}
