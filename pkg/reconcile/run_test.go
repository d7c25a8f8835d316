package reconcile_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/cluster"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/cluster/clustertest"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/reconcile"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/view"
)

func image(to string) func(*v1beta1.CloneSet) {
	return func(set *v1beta1.CloneSet) { set.Spec.Template.Spec.Containers[0].Image = to }
}

func partition(text string) func(*v1beta1.CloneSet) {
	return func(set *v1beta1.CloneSet) {
		value := intstr.Parse(text)
		set.Spec.UpdateStrategy.RollingUpdate.Partition = &value
	}
}

func TestRunCreatesAndUpdatesInPlace(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		w := newWorld(t, web("web", 5))
		s := w.session("laptop/1")
		result := w.drive(t.Context(), s, "web", reconcile.RunOptions{})
		if !result.Reached {
			t.Fatalf("not reached: %+v", result)
		}
		if diff := cmp.Diff(map[string]int{"app:1 restarts=0 ready=true": 5}, w.tally("web")); diff != "" {
			t.Errorf("pods after the creation (-want +got):\n%s", diff)
		}
		before := w.pods("web")
		if got := w.set("web").Status; got.AvailableReplicas != 5 || got.ObservedGeneration != 1 {
			t.Errorf("status %+v", got)
		}
		if diff := cmp.Diff("", w.holder("kubectl-kruise-cloneset-web")); diff != "" {
			t.Errorf("holder of the lease after the run (-want +got):\n%s", diff)
		}

		w.edit("web", image("app:2"))
		w.edit("web", partition("60%"))
		w.mu.Lock()
		w.events, w.most, w.least = nil, 0, 5
		w.mu.Unlock()
		result = w.drive(t.Context(), s, "web", reconcile.RunOptions{})
		if !result.Reached {
			t.Fatalf("not reached: %+v", result)
		}
		if diff := cmp.Diff(map[string]int{"app:1 restarts=0 ready=true": 3, "app:2 restarts=1 ready=true": 2}, w.tally("web")); diff != "" {
			t.Errorf("pods after the rollout (-want +got):\n%s", diff)
		}
		for uid := range w.pods("web") {
			if before[uid] == "" {
				t.Errorf("pod %s is new", uid)
			}
		}
		if w.most != 5 || w.least != 4 {
			t.Errorf("at most %d pods and at least %d ready, want 5 and 4", w.most, w.least)
		}
		if diff := cmp.Diff("Started", w.told()[0]); diff != "" {
			t.Errorf("first event (-want +got):\n%s", diff)
		}
		if told := w.told(); told[len(told)-1] != "Done" {
			t.Errorf("told %v", told)
		}
		// Once more: there is nothing to do, and nothing is written but the Lease.
		writes := w.server.Writes()
		if result = w.drive(t.Context(), s, "web", reconcile.RunOptions{}); !result.Reached || w.server.Writes() != writes+2 {
			t.Errorf("a second run wrote %d times", w.server.Writes()-writes)
		}
	})
}

func TestRunWritesAFewTimesPerPod(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		w := newWorld(t, web("web", 200))
		if result := w.drive(t.Context(), w.session("laptop/1"), "web", reconcile.RunOptions{}); !result.Reached {
			t.Fatalf("not reached: %+v", result)
		}
		// Two per pod, and a few for the revision, the status, the Lease and the events.
		if writes := w.server.Writes(); writes > 2*200+45 {
			t.Errorf("%d writes for 200 pods", writes)
		}
	})
}

func TestRunEndsEarly(t *testing.T) {
	t.Parallel()
	paused := web("web", 2)
	tests := []struct {
		name    string
		disturb func(w *world, cancel func())
		options reconcile.RunOptions
		sick    bool
		why     view.StopReason
		detail  string
	}{
		{
			name: "timeout", sick: true, options: reconcile.RunOptions{Timeout: 5 * time.Second},
			disturb: func(*world, func()) {}, why: view.StopTimeout,
		},
		{
			name: "interrupted", sick: true, disturb: func(_ *world, cancel func()) { cancel() }, why: view.StopInterrupted,
		},
		{
			name: "the intent was changed by another", sick: true,
			options: reconcile.RunOptions{Missing: func(obj plan.Object) []string {
				return (&cluster.Intent{Partition: ptr.To(intstr.FromInt32(0))}).Missing(obj.(*v1beta1.CloneSet))
			}},
			disturb: func(w *world, _ func()) { w.edit("web", partition("1")) },
			why:     view.StopSuperseded, detail: "changed by somebody else: partition",
		},
		{
			name: "the template was changed by another", sick: true,
			disturb: func(w *world, _ func()) { w.edit("web", image("app:9")) },
			why:     view.StopSuperseded, detail: "the template was changed by somebody else: revision",
		},
		{
			name: "deleted", sick: true,
			disturb: func(w *world, _ func()) { w.server.Remove(plan.CloneSetKind, "shop", "web") },
			why:     view.StopGone, detail: "it was deleted",
		},
		{
			name: "the lease was taken", sick: true, why: view.StopLeaseLost, detail: "lease shop/kubectl-kruise-cloneset-web was taken by dev@bastion",
			disturb: func(w *world, _ func()) {
				w.server.Edit(cluster.LeaseKind, "shop", "kubectl-kruise-cloneset-web", func(obj plan.Object) {
					obj.(*coordinationv1.Lease).Spec.HolderIdentity = ptr.To("kubectl-kruise/dev@bastion/7")
				})
			},
		},
		{
			name: "OpenKruise appears", sick: true, why: view.StopDriver, detail: "kruise-manager-0 (lease kruise-system/kruise-manager) drives from now on",
			disturb: func(w *world, _ func()) { w.lease("kruise-system", "kruise-manager", "kruise-manager-0") },
		},
		{
			name: "a foreground loop appears", sick: true, why: view.StopDriver,
			detail:  "kubectl-kruise/dev@bastion/7 (lease shop/kubectl-kruise-reconcile) drives from now on",
			disturb: func(w *world, _ func()) { w.lease("shop", "kubectl-kruise-reconcile", "kubectl-kruise/dev@bastion/7") },
		},
		{
			name: "paused with pods left to update", why: view.StopPaused, detail: "updates are paused",
			disturb: func(w *world, _ func()) {
				w.edit("web", func(set *v1beta1.CloneSet) { set.Spec.UpdateStrategy.RollingUpdate.Paused = true })
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				w := newWorld(t, paused)
				if result := w.drive(t.Context(), w.session("laptop/1"), "web", reconcile.RunOptions{}); !result.Reached {
					t.Fatalf("not reached: %+v", result)
				}
				if tt.sick {
					w.sick = func(pod *corev1.Pod) bool { return pod.Spec.Containers[0].Image == "app:2" }
				}
				if tt.why == view.StopPaused {
					tt.disturb(w, nil)
				}
				w.edit("web", image("app:2"))
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				ended := make(chan *reconcile.Result, 1)
				go func() { ended <- w.drive(ctx, w.session("laptop/1"), "web", tt.options) }()
				if tt.why != view.StopPaused {
					until(t, "a pod at the new image", func() bool { return w.tally("web")["app:2 restarts=1 ready=false"] == 1 })
					tt.disturb(w, cancel)
				}
				result := <-ended
				if result.Reached || result.Why != tt.why || !strings.HasPrefix(result.Detail, tt.detail) {
					t.Errorf("result %+v", result)
				}
				told := w.told()
				if want := "Stopped " + string(tt.why); told[len(told)-1] != want {
					t.Errorf("told %v, want %s at the end", told, want)
				}
				writes := w.pods("web")
				time.Sleep(10 * time.Second)
				if diff := cmp.Diff(writes, w.pods("web")); diff != "" {
					t.Errorf("pods changed after the end (-before +after):\n%s", diff)
				}
			})
		})
	}
}

// lease stores a Lease that was renewed just now.
func (w *world) lease(namespace, name, holder string) {
	now := metav1.NewMicroTime(time.Now())
	w.server.Put(&coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{cluster.LeaseLabel: "reconcile"}},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder, AcquireTime: &now, RenewTime: &now, LeaseDurationSeconds: ptr.To[int32](15)},
	})
}

func TestRunDelegates(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		w := newWorld(t, web("web", 3))
		w.lease("kruise-system", "kruise-manager", "kruise-manager-0")
		claim, err := w.session("laptop/1").Claim(t.Context(), w.target("web"))
		if err != nil {
			t.Fatal(err)
		}
		defer claim.Release()
		ended := make(chan *reconcile.Result, 1)
		go func() { ended <- claim.Run(t.Context(), reconcile.RunOptions{Object: w.set("web")}) }()
		time.Sleep(2 * time.Second)
		if n := w.server.Writes(); n != 0 {
			t.Errorf("%d writes although OpenKruise drives", n)
		}
		// OpenKruise does its work.
		w.server.Edit(plan.CloneSetKind, "shop", "web", func(obj plan.Object) {
			set := obj.(*v1beta1.CloneSet)
			set.Status = v1beta1.CloneSetStatus{
				ObservedGeneration: 1, Replicas: 3, ReadyReplicas: 3, AvailableReplicas: 3, UpdatedReplicas: 3, UpdatedReadyReplicas: 3,
				UpdatedAvailableReplicas: 3, ExpectedUpdatedReplicas: 3,
			}
		})
		if result := <-ended; !result.Reached {
			t.Errorf("result %+v", result)
		}
		started := w.events[0].(view.Started)
		if started.Driver.Kind != view.DriverOpenKruise || started.Driver.Holder != "kruise-manager-0" {
			t.Errorf("driver %+v", started.Driver)
		}
	})
}

func TestClaimIsExclusive(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		w := newWorld(t, web("web", 1))
		first, err := w.session("laptop/1").Claim(t.Context(), w.target("web"))
		if err != nil {
			t.Fatal(err)
		}
		var held *cluster.LeaseHeldError
		if _, err := w.session("bastion/2").Claim(t.Context(), w.target("web")); !errors.As(err, &held) {
			t.Fatalf("second claim: %v", err)
		}
		// The same user elsewhere on the same machine: it is in use, which shows within a renewal.
		started := time.Now()
		if _, err := w.session("laptop/3").Claim(t.Context(), w.target("web")); !errors.As(err, &held) || time.Since(started) > 6*time.Second {
			t.Fatalf("claim beside a live one after %s: %v", time.Since(started), err)
		}
		first.Release()
		second, err := w.session("bastion/2").Claim(t.Context(), w.target("web"))
		if err != nil {
			t.Fatalf("claim after the release: %v", err)
		}
		second.Release()
	})
}

// A process that was killed leaves its Lease behind; the same user goes on as soon as it has run out.
func TestClaimAfterAKill(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		w := newWorld(t, web("web", 1))
		if _, err := cluster.Acquire(t.Context(), w.server, "shop", "kubectl-kruise-cloneset-web", "kubectl-kruise/ops@laptop/0", "cloneset", time.Now); err != nil {
			t.Fatal(err)
		}
		started := time.Now()
		claim, err := w.session("laptop/1").Claim(t.Context(), w.target("web"))
		if err != nil {
			t.Fatal(err)
		}
		claim.Release()
		if took := time.Since(started); took < 14*time.Second || took > 16*time.Second {
			t.Errorf("waited %s", took)
		}
	})
}

// chance picks faults by a fixed sequence.
type chance struct {
	mu   sync.Mutex
	seed uint64
}

func (c *chance) next(n uint64) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seed = c.seed*6364136223846793005 + 1442695040888963407
	return c.seed >> 33 % n
}

var faults = []clustertest.Fault{
	clustertest.Error500, clustertest.Conflict, clustertest.Busy, clustertest.Forbidden, clustertest.Lost, clustertest.LostAnswer,
}

// Whatever a fourth of the requests does, the run comes to its end, with neither a pod too many nor one too few at any
// time, and no container is restarted twice.
func TestRunThroughFaults(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		bubble(t, func(t *testing.T) {
			w := newWorld(t, web("web", 6))
			s := w.session("laptop/1")
			dice := &chance{seed: seed}
			s.API = &clustertest.Faulty{API: w.server, RetryAfter: 1, Choose: func(call clustertest.Call) clustertest.Fault {
				if call.Kind == cluster.LeaseKind || call.Kind == (schema.GroupKind{Kind: "Event"}) || dice.next(4) > 0 {
					return clustertest.None
				}
				return faults[dice.next(uint64(len(faults)))]
			}}
			if result := w.drive(t.Context(), s, "web", reconcile.RunOptions{Timeout: time.Hour}); !result.Reached {
				t.Fatalf("seed %d: not created: %+v", seed, result)
			}
			if w.most != 6 {
				t.Errorf("seed %d: %d pods at a time", seed, w.most)
			}
			w.edit("web", image("app:2"))
			w.mu.Lock()
			w.least = 6
			w.mu.Unlock()
			if result := w.drive(t.Context(), s, "web", reconcile.RunOptions{Timeout: time.Hour}); !result.Reached {
				t.Fatalf("seed %d: not updated: %+v", seed, result)
			}
			if diff := cmp.Diff(map[string]int{"app:2 restarts=1 ready=true": 6}, w.tally("web")); diff != "" {
				t.Errorf("seed %d: pods (-want +got):\n%s", seed, diff)
			}
			if w.most != 6 || w.least < 5 {
				t.Errorf("seed %d: at most %d pods, at least %d ready", seed, w.most, w.least)
			}
		})
	}
}

// A status that cannot be written is tried again a few times, ever more rarely, and holds up nothing: neither the pods nor
// the end of the run.
func TestRunWithoutStatus(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		w := newWorld(t, web("web", 3))
		s := w.session("laptop/1")
		tries := 0
		s.API = &clustertest.Faulty{API: w.server, Choose: func(call clustertest.Call) clustertest.Fault {
			if call.Kind == plan.CloneSetKind && call.Verb == "patch" {
				tries++
				return clustertest.Forbidden
			}
			return clustertest.None
		}}
		result := w.drive(t.Context(), s, "web", reconcile.RunOptions{Timeout: 10 * time.Minute})
		if !result.Reached || tries < 5 || tries > 10 || result.Took > 10*time.Second {
			t.Errorf("reached %v after %d tries", result.Reached, tries)
		}
		if diff := cmp.Diff(map[string]int{"app:1 restarts=0 ready=true": 3}, w.tally("web")); diff != "" {
			t.Errorf("pods (-want +got):\n%s", diff)
		}
	})
}

// A run that is stopped again and again, each time taken up by another process, comes to the same end.
func TestRunIsTakenUpByOthers(t *testing.T) {
	t.Parallel()
	for seed := range uint64(10) {
		bubble(t, func(t *testing.T) {
			w := newWorld(t, web("web", 6))
			dice := &chance{seed: seed}
			w.edit("web", func(set *v1beta1.CloneSet) {
				set.Spec.UpdateStrategy.RollingUpdate.MaxUnavailable = ptr.To(intstr.FromInt32(2))
			})
			for process := 0; ; process++ {
				if process == 3 {
					w.edit("web", image("app:2"))
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(dice.next(700))*time.Millisecond)
				result := w.drive(ctx, w.session("laptop/"+string(rune('a'+process%26))), "web", reconcile.RunOptions{})
				cancel()
				if result.Reached && process > 3 {
					break
				}
				if process > 500 {
					t.Fatalf("seed %d: no end: %+v", seed, result)
				}
			}
			got := w.tally("web")
			for what, n := range got {
				if !strings.HasPrefix(what, "app:2") || !strings.HasSuffix(what, "ready=true") {
					t.Errorf("seed %d: %d pods %s", seed, n, what)
				}
			}
			if n := len(w.pods("web")); n != 6 || w.most != 6 {
				t.Errorf("seed %d: %d pods, %d at most", seed, n, w.most)
			}
		})
	}
}

// A reader that takes nothing holds nothing up.
func TestRunDoesNotWaitForItsReader(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		w := newWorld(t, web("web", 2))
		s := w.session("laptop/1")
		left := make(chan struct{})
		defer close(left)
		s.Tell = func(view.Event) { <-left }
		if result := w.drive(t.Context(), s, "web", reconcile.RunOptions{Timeout: time.Minute}); !result.Reached {
			t.Errorf("result %+v", result)
		}
	})
}
