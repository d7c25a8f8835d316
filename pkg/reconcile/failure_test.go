package reconcile_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/cluster/clustertest"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/reconcile"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/view"
)

func (w *world) condition(name string, of v1beta1.CloneSetConditionType) string {
	for _, c := range w.set(name).Status.Conditions {
		if c.Type == of && c.Status == corev1.ConditionTrue {
			return c.Message
		}
	}
	return ""
}

// A failure is tried again ever more slowly, at least once a minute, is told in the status meanwhile, and is forgotten
// when it is over.
func TestRunRetriesWithPatience(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		w := newWorld(t, web("web", 2))
		var tries atomic.Int32
		var heal atomic.Bool
		s := w.session("laptop/1")
		s.API = &clustertest.Faulty{API: w.server, Choose: func(call clustertest.Call) clustertest.Fault {
			if call.Verb == plan.Create && call.Kind == plan.PodKind && !heal.Load() {
				tries.Add(1)
				return clustertest.Forbidden
			}
			return clustertest.None
		}}
		ended := make(chan *reconcile.Result, 1)
		go func() { ended <- w.drive(t.Context(), s, "web", reconcile.RunOptions{Timeout: time.Hour}) }()
		time.Sleep(10 * time.Minute)
		// Doubling from 50 ms to a minute takes 11 tries and about 100 s; then one a minute.
		if n := tries.Load(); n < 15 || n > 25 {
			t.Errorf("%d tries in ten minutes", n)
		}
		if message := w.condition("web", v1beta1.CloneSetConditionFailedScale); !strings.Contains(message, "made to be forbidden") {
			t.Errorf("condition FailedScale says %q", message)
		}
		heal.Store(true)
		healed := time.Now()
		if result := <-ended; !result.Reached || len(result.Failures) > 0 {
			t.Fatalf("result %+v", result)
		}
		if took := time.Since(healed); took > 70*time.Second {
			t.Errorf("noticed after %s", took)
		}
		if message := w.condition("web", v1beta1.CloneSetConditionFailedScale); message != "" {
			t.Errorf("condition FailedScale still says %q", message)
		}
		failed := slices.IndexFunc(w.events, func(e view.Event) bool { _, ok := e.(view.ActionFailed); return ok })
		if failed < 0 {
			t.Error("the failure was not told")
		}
	})
}

// A change of the spec is acted on at once, whatever the retry waits for.
func TestRunTriesANewSpecAtOnce(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		w := newWorld(t, web("web", 1))
		s := w.session("laptop/1")
		var tries atomic.Int32
		s.API = &clustertest.Faulty{API: w.server, Choose: func(call clustertest.Call) clustertest.Fault {
			if call.Verb == plan.Create && call.Kind == plan.PodKind {
				tries.Add(1)
				return clustertest.Forbidden
			}
			return clustertest.None
		}}
		stop := w.reconcileAll(s, "shop")
		time.Sleep(10*time.Minute + 5*time.Second)
		before := tries.Load()
		w.edit("web", image("app:2"))
		time.Sleep(time.Second)
		if tries.Load() == before {
			t.Error("the new spec was not tried")
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// 429 says how long to wait, and that is how long nothing is asked again.
func TestRunWaitsAsLongAsTheServerAsks(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		w := newWorld(t, web("web", 1))
		s := w.session("laptop/1")
		var tries atomic.Int32
		s.API = &clustertest.Faulty{API: w.server, RetryAfter: 30, Choose: func(call clustertest.Call) clustertest.Fault {
			if call.Verb == plan.Create && call.Kind == plan.PodKind && tries.Add(1) == 1 {
				return clustertest.Busy
			}
			return clustertest.None
		}}
		started := time.Now()
		if result := w.drive(t.Context(), s, "web", reconcile.RunOptions{}); !result.Reached || tries.Load() != 2 {
			t.Fatalf("result %+v after %d tries", result, tries.Load())
		}
		if took := time.Since(started); took < 30*time.Second || took > 35*time.Second {
			t.Errorf("took %s", took)
		}
	})
}

// hanging is an API whose creations of pods are answered by nothing but the end of the request.
type hanging struct{ clustertest.API }

func (h hanging) Create(ctx context.Context, kind schema.GroupKind, obj plan.Object, dry bool) (plan.Object, error) {
	if kind != plan.PodKind {
		return h.API.Create(ctx, kind, obj, dry)
	}
	<-ctx.Done()
	return nil, fmt.Errorf("the server cannot be reached: %w", ctx.Err())
}

// Writes that a run breaks off itself, because it is stopped, are not told as failures.
func TestStoppedWritesAreNoFailures(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		w := newWorld(t, web("web", 2))
		s := w.session("laptop/1")
		s.API = hanging{w.server}
		var failed []view.Event
		s.Tell = func(e view.Event) {
			if _, ok := e.(view.ActionFailed); ok {
				failed = append(failed, e)
			}
		}
		ctx, stop := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, stop)
		w.drive(ctx, s, "web", reconcile.RunOptions{})
		if len(failed) > 0 {
			t.Errorf("told %v", failed)
		}
	})
}
