package cluster_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/cluster"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/cluster/clustertest"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
)

const webLease = "kubectl-kruise-cloneset-web"

func acquire(ctx context.Context, api cluster.LeaseAPI, holder string) (*cluster.Held, error) {
	return cluster.Acquire(ctx, api, "shop", webLease, holder, "cloneset", time.Now)
}

func leaseHolder(server *clustertest.Server) string {
	for _, obj := range server.Objects(cluster.LeaseKind) {
		return *obj.(*coordinationv1.Lease).Spec.HolderIdentity
	}
	return "no lease"
}

func TestLeaseHandOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := clustertest.New()
		mine, err := acquire(t.Context(), server, self)
		if err != nil {
			t.Fatal(err)
		}
		stored := server.Objects(cluster.LeaseKind)[0].(*coordinationv1.Lease)
		if *stored.Spec.LeaseDurationSeconds != 15 || stored.Labels[cluster.LeaseLabel] != "cloneset" {
			t.Errorf("stored lease %v", stored)
		}
		var held *cluster.LeaseHeldError
		if _, err := acquire(t.Context(), server, other); !errors.As(err, &held) || held.Driver.Holder != self {
			t.Fatalf("a second holder: %v", err)
		}
		if err := mine.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		if holder := leaseHolder(server); holder != "" {
			t.Errorf("holder %q after the release", holder)
		}
		if _, err := acquire(t.Context(), server, other); err != nil {
			t.Fatalf("after the release: %v", err)
		}
		// A release that comes late takes nothing from the next holder.
		if err := mine.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(other, leaseHolder(server)); diff != "" {
			t.Errorf("holder (-want +got):\n%s", diff)
		}
	})
}

func TestLeaseOfADeadProcessRunsOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := clustertest.New()
		if _, err := acquire(t.Context(), server, self); err != nil {
			t.Fatal(err)
		}
		time.Sleep(14 * time.Second)
		if _, err := acquire(t.Context(), server, other); err == nil {
			t.Fatal("taken before it ran out")
		}
		time.Sleep(time.Second)
		if _, err := acquire(t.Context(), server, other); err != nil {
			t.Fatalf("after it ran out: %v", err)
		}
	})
}

func TestLeaseIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := clustertest.New()
		mine, err := acquire(t.Context(), server, self)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		kept := make(chan error, 1)
		go func() { kept <- mine.Keep(ctx) }()
		time.Sleep(time.Hour)
		if _, err := acquire(t.Context(), server, other); err == nil {
			t.Error("taken although it is renewed")
		}
		cancel()
		if err := <-kept; err != nil {
			t.Errorf("keep: %v", err)
		}
		// One create and one renewal every five seconds.
		if writes := server.Writes(); writes < 715 || writes > 721 {
			t.Errorf("%d writes in an hour", writes)
		}
	})
}

func TestLeaseIsLost(t *testing.T) {
	t.Parallel()
	const lost = "lease shop/kubectl-kruise-cloneset-web "
	tests := []struct {
		name  string
		upset func(*clustertest.Server, *atomic.Value)
		want  string
		after time.Duration
	}{
		{
			"taken by another", func(s *clustertest.Server, _ *atomic.Value) {
				s.Edit(cluster.LeaseKind, "shop", webLease, func(obj plan.Object) {
					obj.(*coordinationv1.Lease).Spec.HolderIdentity = ptr.To(other)
				})
			}, lost + "was taken by dev@bastion", 5 * time.Second,
		},
		{
			"deleted", func(s *clustertest.Server, _ *atomic.Value) { s.Remove(cluster.LeaseKind, "shop", webLease) },
			lost + "could not be renewed: it was deleted", 5 * time.Second,
		},
		{
			"the server is away, and the holder stops before the lease runs out", func(_ *clustertest.Server, fault *atomic.Value) {
				fault.Store(clustertest.Lost)
			}, lost + "could not be renewed: no answer in time", 10 * time.Second,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := clustertest.New()
				var fault atomic.Value
				fault.Store(clustertest.None)
				api := &clustertest.Faulty{API: server, Choose: func(clustertest.Call) clustertest.Fault { return fault.Load().(clustertest.Fault) }}
				mine, err := acquire(t.Context(), api, self)
				if err != nil {
					t.Fatal(err)
				}
				tt.upset(server, &fault)
				started := time.Now()
				err = mine.Keep(t.Context())
				var gone *cluster.LeaseLostError
				if !errors.As(err, &gone) || err.Error() != tt.want {
					t.Errorf("keep: %v, want %s", err, tt.want)
				}
				if took := time.Since(started); took != tt.after {
					t.Errorf("stopped after %s, want %s", took, tt.after)
				}
			})
		})
	}
}

// A renewal whose answer is lost makes the next one conflict; the Lease is ours all the same.
func TestLeaseSurvivesALostAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := clustertest.New()
		var patches atomic.Int32
		api := &clustertest.Faulty{API: server, Choose: func(call clustertest.Call) clustertest.Fault {
			if call.Verb == plan.Patch && patches.Add(1)%2 == 1 {
				return clustertest.LostAnswer
			}
			return clustertest.None
		}}
		mine, err := acquire(t.Context(), api, self)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := mine.Keep(ctx); err != nil {
			t.Errorf("keep: %v", err)
		}
	})
}

// standing is an API that does not answer for a while.
type standing struct {
	*clustertest.Server
	until func() time.Time
}

func (s *standing) Patch(ctx context.Context, ref plan.Ref, sub string, as types.PatchType, body []byte, dry bool) (plan.Object, error) {
	if wait := time.Until(s.until()); wait > 0 {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(time.Hour): // what was sent meanwhile is lost
		}
	}
	return s.Server.Patch(ctx, ref, sub, as, body, dry)
}

// A server that stands still for some seconds costs one attempt, not the Lease.
func TestLeaseSurvivesAStandstill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		started := time.Now()
		api := &standing{Server: clustertest.New(), until: func() time.Time { return started.Add(-time.Hour) }}
		mine, err := acquire(t.Context(), api, self)
		if err != nil {
			t.Fatal(err)
		}
		api.until = func() time.Time { return started.Add(7500 * time.Millisecond) }
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := mine.Keep(ctx); err != nil {
			t.Errorf("keep: %v", err)
		}
	})
}

// A run may end while a renewal is under way: its answer is lost, and the version that we know is an old one.
func TestLeaseIsReleasedAfterALostAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := clustertest.New()
		mine, err := acquire(t.Context(), server, self)
		if err != nil {
			t.Fatal(err)
		}
		server.Edit(cluster.LeaseKind, "shop", webLease, func(obj plan.Object) {
			obj.(*coordinationv1.Lease).Spec.RenewTime = ptr.To(metav1.NewMicroTime(time.Now()))
		})
		if err := mine.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		if holder := leaseHolder(server); holder != "" {
			t.Errorf("holder %q after the release", holder)
		}
	})
}

// Who puts a label on a Lease makes the next renewal conflict. It has to be made all the same: what counts for others is
// the time that the Lease tells.
func TestLeaseIsRenewedAfterAnEdit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := clustertest.New()
		mine, err := acquire(t.Context(), server, self)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 6*time.Second)
		defer cancel()
		server.Edit(cluster.LeaseKind, "shop", webLease, func(obj plan.Object) { obj.SetLabels(map[string]string{"team": "shop"}) })
		if err := mine.Keep(ctx); err != nil {
			t.Fatal(err)
		}
		lease := server.Objects(cluster.LeaseKind)[0].(*coordinationv1.Lease)
		if age := time.Since(lease.Spec.RenewTime.Time); age != time.Second {
			t.Errorf("renewed %s ago, want 1s", age)
		}
	})
}

func TestReadLeases(t *testing.T) {
	t.Parallel()
	now := metav1.NewMicroTime(noon)
	stored := func(namespace, name string) *coordinationv1.Lease {
		return &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
			Spec:       coordinationv1.LeaseSpec{HolderIdentity: ptr.To("x"), AcquireTime: &now, RenewTime: &now, LeaseDurationSeconds: ptr.To[int32](15)},
		}
	}
	state := func(namespace, name string) *cluster.LeaseState {
		return &cluster.LeaseState{Namespace: namespace, Name: name, Holder: "x", Acquired: noon, Renewed: noon, Duration: 15 * time.Second}
	}
	all := []plan.Object{
		stored("kruise-system", "kruise-manager"), stored("kruise-system", "kubectl-kruise-reconcile"),
		stored("shop", "kubectl-kruise-reconcile"), stored("shop", webLease),
	}
	tests := []struct {
		name   string
		stored []plan.Object
		faults map[string]clustertest.Fault
		want   *cluster.LeaseFacts
		err    string
	}{
		{"none", nil, nil, &cluster.LeaseFacts{}, ""},
		{"all", all, nil, &cluster.LeaseFacts{
			Manager: state("kruise-system", "kruise-manager"), ReconcileAll: state("kruise-system", "kubectl-kruise-reconcile"),
			Reconcile: state("shop", "kubectl-kruise-reconcile"), Subject: state("shop", webLease),
		}, ""},
		{
			"rights in one namespace", nil, map[string]clustertest.Fault{"kruise-manager": clustertest.Forbidden},
			&cluster.LeaseFacts{Unreadable: []string{"kruise-system/kruise-manager"}}, "",
		},
		{
			"no right to the subject's lease", nil, map[string]clustertest.Fault{webLease: clustertest.Forbidden}, nil,
			"read lease shop/kubectl-kruise-cloneset-web: refused: made to be forbidden",
		},
		{
			"a server in trouble is no permission problem", nil, map[string]clustertest.Fault{"kruise-manager": clustertest.Lost}, nil,
			"read lease kruise-system/kruise-manager: no answer in time",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			api := &clustertest.Faulty{API: clustertest.New(tt.stored...), Choose: fail(tt.faults)}
			facts, err := cluster.ReadLeases(t.Context(), api, "shop", webLease)
			if diff := cmp.Diff(tt.want, facts); diff != "" {
				t.Errorf("facts (-want +got):\n%s", diff)
			}
			if got := errorText(err); got != tt.err {
				t.Errorf("error %q, want %q", got, tt.err)
			}
		})
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
