package reconcile_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/reconcile"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/view"
)

// The first request to stop, or a timeout, touches no further pod, and leaves none of those it has touched out of service.
func TestRunFinishesWhatItHasBegun(t *testing.T) {
	t.Parallel()
	for _, why := range []view.StopReason{view.StopInterrupted, view.StopTimeout} {
		t.Run(string(why), func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				w := newWorld(t, web("web", 4))
				if result := w.drive(t.Context(), w.session("laptop/1"), "web", reconcile.RunOptions{}); !result.Reached {
					t.Fatalf("not created: %+v", result)
				}
				w.edit("web", image("app:2"))
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				s, options := w.session("laptop/1"), reconcile.RunOptions{}
				tell := s.Tell
				s.Tell = func(e view.Event) {
					tell(e)
					if a, ok := e.(view.Acted); ok && a.Action.Done != nil && a.Action.Done.Reason == "SuccessfulUpdatePodInPlace" && why == view.StopInterrupted {
						cancel()
					}
				}
				if why == view.StopTimeout {
					options.Timeout = 30 * time.Millisecond
				}
				result := w.drive(ctx, s, "web", options)
				if result.Reached || result.Why != why {
					t.Fatalf("result %+v", result)
				}
				if diff := cmp.Diff(map[string]int{"app:1 restarts=0 ready=true": 3, "app:2 restarts=1 ready=true": 1}, w.tally("web")); diff != "" {
					t.Errorf("pods at the end (-want +got):\n%s", diff)
				}
				if last := result.Last; last == nil || last.Counts.Available != 4 {
					t.Errorf("the result tells of %+v", last)
				}
				if got := w.set("web").Status; got.UpdatedAvailableReplicas != 1 || got.ObservedGeneration != w.set("web").Generation {
					t.Errorf("the status does not say where it stopped: %+v", got)
				}
				for _, obj := range w.server.Objects(plan.PodKind) {
					if state := obj.GetLabels()["lifecycle.apps.kruise.io/state"]; state != "Normal" {
						t.Errorf("pod %s is left in state %s", obj.GetName(), state)
					}
				}
			})
		})
	}
}
