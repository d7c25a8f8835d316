package reconcile_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/cluster"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/cluster/clustertest"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/reconcile"
)

// dying is an API that a process uses until it is killed: from its last request on, which may or may not be carried out,
// nothing gets through, the release of its Lease neither.
func dying(w *world, requests int32, carriedOut bool, kill func()) *clustertest.Faulty {
	var count atomic.Int32
	return &clustertest.Faulty{API: w.server, Choose: func(call clustertest.Call) clustertest.Fault {
		elsewhere := call.Kind == cluster.LeaseKind || call.Kind.Group == "admissionregistration.k8s.io"
		if elsewhere && count.Load() < requests {
			return clustertest.None
		}
		switch n := count.Add(1); {
		case n < requests:
			return clustertest.None
		case n == requests && carriedOut:
			kill()
			return clustertest.LostAnswer
		}
		kill()
		return clustertest.Lost
	}}
}

// Processes that are killed after one, two, three … requests, one after the other, lose no pod and restart no container
// twice; the one that is left alone comes to the same end.
func TestRunSurvivesKills(t *testing.T) {
	t.Parallel()
	for _, carriedOut := range []bool{true, false} {
		bubble(t, func(t *testing.T) {
			w := newWorld(t, web("web", 5))
			if result := w.drive(t.Context(), w.session("laptop/0"), "web", reconcile.RunOptions{}); !result.Reached {
				t.Fatalf("not created: %+v", result)
			}
			before := w.pods("web")
			w.edit("web", func(set *v1beta1.CloneSet) {
				image("app:2")(set)
				set.Spec.UpdateStrategy.RollingUpdate.MaxUnavailable = ptr.To(intstr.FromInt32(2))
			})
			w.mu.Lock()
			w.most, w.least = 0, 5
			w.mu.Unlock()
			for requests := int32(1); requests < 30; requests++ {
				ctx, kill := context.WithCancel(t.Context())
				s := w.session("laptop/" + strings.Repeat("x", int(requests)))
				s.API = dying(w, requests, carriedOut, kill)
				s.Tell = nil
				reached := w.drive(ctx, s, "web", reconcile.RunOptions{Timeout: time.Minute}).Reached
				kill()
				if reached {
					break
				}
			}
			if result := w.drive(t.Context(), w.session("laptop/0"), "web", reconcile.RunOptions{}); !result.Reached {
				t.Fatalf("not updated: %+v", result)
			}
			if diff := cmp.Diff(map[string]int{"app:2 restarts=1 ready=true": 5}, w.tally("web")); diff != "" {
				t.Errorf("pods (-want +got):\n%s", diff)
			}
			for uid := range w.pods("web") {
				if before[uid] == "" {
					t.Errorf("pod %s is new", uid)
				}
			}
			if w.most != 5 || w.least < 3 {
				t.Errorf("at most %d pods, at least %d ready", w.most, w.least)
			}
		})
	}
}
