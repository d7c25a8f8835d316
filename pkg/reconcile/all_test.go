package reconcile_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/cluster"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/reconcile"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/view"
)

// reconcileAll runs a loop until stop is called, which returns how it ended.
func (w *world) reconcileAll(s *reconcile.Session, namespace string) (stop func() error) {
	ctx, cancel := context.WithCancel(w.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.All(ctx, namespace, served()) }()
	return func() error {
		cancel()
		return <-ended
	}
}

func (w *world) settled(name string, replicas int32) bool {
	status := w.set(name).Status
	return status.AvailableReplicas == replicas && status.Replicas == replicas && status.UpdatedReplicas == replicas
}

func TestAllDrivesEverySubject(t *testing.T) {
	t.Parallel()
	for _, namespace := range []string{"shop", ""} {
		bubble(t, func(t *testing.T) {
			w := newWorld(t, web("a", 2), web("b", 3))
			stop := w.reconcileAll(w.session("laptop/1"), namespace)
			until(t, "both sets available", func() bool { return w.settled("a", 2) && w.settled("b", 3) })
			w.server.Put(web("c", 1))
			until(t, "a set that came later", func() bool { return w.settled("c", 1) })
			w.edit("a", func(set *v1beta1.CloneSet) { set.Spec.Replicas = ptr.To[int32](4) })
			w.edit("b", image("app:2"))
			until(t, "a scaled and b updated", func() bool {
				return w.settled("a", 4) && w.settled("b", 3) && w.tally("b")["app:2 restarts=1 ready=true"] == 3
			})
			// A pod that somebody deletes is replaced.
			for _, obj := range w.server.Objects(plan.PodKind) {
				if obj.GetLabels()["app"] == "c" {
					w.server.Remove(plan.PodKind, "shop", obj.GetName())
				}
			}
			until(t, "the deleted pod replaced", func() bool { return len(w.pods("c")) == 1 && w.settled("c", 1) })
			w.server.Remove(plan.CloneSetKind, "shop", "c")
			until(t, "word that c is gone", func() bool {
				told := w.told()
				return told[len(told)-1] == "Stopped gone"
			})
			if err := stop(); err != nil {
				t.Errorf("ended with %v", err)
			}
			if diff := cmp.Diff("", w.holder("kubectl-kruise-reconcile")); diff != "" {
				t.Errorf("holder after the end (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAllLeavesSubjectsOfOthersAlone(t *testing.T) {
	t.Parallel()
	tests := []struct{ namespace, leaseNamespace, lease, label string }{
		{"shop", "shop", "kubectl-kruise-cloneset-a", "cloneset"},
		{"", "shop", "kubectl-kruise-cloneset-a", "cloneset"},
		{"", "shop", "kubectl-kruise-reconcile", "reconcile"},
	}
	for _, tt := range tests {
		bubble(t, func(t *testing.T) {
			b := web("b", 1)
			b.Namespace = "market"
			if tt.namespace != "" {
				b.Namespace = "shop"
			}
			w := newWorld(t, web("a", 1), b)
			held, err := cluster.Acquire(t.Context(), w.server, tt.leaseNamespace, tt.lease, "kubectl-kruise/dev@bastion/9", tt.label, time.Now)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			kept := make(chan error, 1)
			go func() { kept <- held.Keep(ctx) }()
			stop := w.reconcileAll(w.session("laptop/1"), tt.namespace)
			until(t, "the free set available", func() bool { return len(w.pods("b")) == 1 })
			time.Sleep(30 * time.Second)
			if n := len(w.pods("a")); n != 0 {
				t.Errorf("%d pods of a set that another drives", n)
			}
			cancel()
			<-kept
			if err := held.Release(t.Context()); err != nil {
				t.Fatal(err)
			}
			until(t, "the set driven after its release", func() bool { return w.settled("a", 1) })
			if err := stop(); err != nil {
				t.Errorf("ended with %v", err)
			}
		})
	}
}

// A holder that died lets go without a word: its Lease runs out.
func TestAllTakesOverFromTheDead(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		w := newWorld(t, web("a", 1))
		w.lease("shop", "kubectl-kruise-cloneset-a", "kubectl-kruise/dev@bastion/9")
		started := time.Now()
		stop := w.reconcileAll(w.session("laptop/1"), "shop")
		until(t, "the set driven", func() bool { return w.settled("a", 1) })
		if took := time.Since(started); took < 15*time.Second || took > 20*time.Second {
			t.Errorf("after %s", took)
		}
		if err := stop(); err != nil {
			t.Errorf("ended with %v", err)
		}
	})
}

func TestAllRefusesAndStops(t *testing.T) {
	t.Parallel()
	const openKruise = "kruise-manager-0"
	t.Run("another loop runs", func(t *testing.T) {
		t.Parallel()
		bubble(t, func(t *testing.T) {
			w := newWorld(t, web("a", 1))
			w.lease("shop", "kubectl-kruise-reconcile", "kubectl-kruise/dev@bastion/9")
			var held *cluster.LeaseHeldError
			if err := w.session("laptop/1").All(t.Context(), "shop", served()); !errors.As(err, &held) {
				t.Errorf("ended with %v", err)
			}
		})
	})
	t.Run("OpenKruise drives", func(t *testing.T) {
		t.Parallel()
		bubble(t, func(t *testing.T) {
			w := newWorld(t, web("a", 1))
			w.lease("kruise-system", "kruise-manager", openKruise)
			var held *cluster.LeaseHeldError
			if err := w.session("laptop/1").All(t.Context(), "", served()); !errors.As(err, &held) || held.Driver.Kind != cluster.OpenKruiseDriver {
				t.Errorf("ended with %v", err)
			}
			if n := w.server.Writes(); n != 0 {
				t.Errorf("%d writes", n)
			}
		})
	})
	t.Run("OpenKruise appears", func(t *testing.T) {
		t.Parallel()
		bubble(t, func(t *testing.T) {
			w := newWorld(t, web("a", 1))
			ended := make(chan error, 1)
			go func() { ended <- w.session("laptop/1").All(t.Context(), "shop", served()) }()
			until(t, "the set driven", func() bool { return w.settled("a", 1) })
			w.lease("kruise-system", "kruise-manager", openKruise)
			var stopped *reconcile.StoppedError
			if err := <-ended; !errors.As(err, &stopped) || stopped.Why != view.StopDriver {
				t.Errorf("ended with %v", err)
			}
		})
	})
	t.Run("the lease is taken", func(t *testing.T) {
		t.Parallel()
		bubble(t, func(t *testing.T) {
			w := newWorld(t, web("a", 1))
			ended := make(chan error, 1)
			go func() { ended <- w.session("laptop/1").All(t.Context(), "shop", served()) }()
			until(t, "the set driven", func() bool { return w.settled("a", 1) })
			w.server.Edit(cluster.LeaseKind, "shop", "kubectl-kruise-reconcile", func(obj plan.Object) {
				lease := obj.(*coordinationv1.Lease)
				now := metav1.NewMicroTime(time.Now())
				lease.Spec.HolderIdentity, lease.Spec.RenewTime = ptr.To("kubectl-kruise/dev@bastion/9"), &now
			})
			var stopped *reconcile.StoppedError
			err := <-ended
			if !errors.As(err, &stopped) || stopped.Why != view.StopDriver && stopped.Why != view.StopLeaseLost {
				t.Errorf("ended with %v", err)
			}
		})
	})
}
