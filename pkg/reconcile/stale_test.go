package reconcile_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/cluster"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/reconcile"
)

// late is a server whose watches of one kind are behind.
type late struct {
	reconcile.API
	kind schema.GroupKind
	by   time.Duration
}

func (l late) Watch(ctx context.Context, kind schema.GroupKind, scope cluster.Scope, from string) (watch.Interface, error) {
	in, err := l.API.Watch(ctx, kind, scope, from)
	if err != nil || kind != l.kind {
		return in, err
	}
	out := make(chan watch.Event)
	go func() {
		defer close(out)
		for event := range in.ResultChan() {
			select {
			case <-ctx.Done():
				return
			case <-time.After(l.by):
			}
			select {
			case <-ctx.Done():
				return
			case out <- event:
			}
		}
	}()
	return watch.NewProxyWatcher(out), nil
}

// A verb lets go of its Lease as soon as it is done. A loop that sees that before it sees the verb's pods must not make
// them once more.
func TestAllCatchesUpWithWhoDroveBefore(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		w := newWorld(t, web("web", 3))
		verb := w.session("bastion/2")
		verb.API = late{w.server, cluster.LeaseKind, 3 * time.Second} // it goes on for a while after the loop has begun
		claim, err := verb.Claim(t.Context(), w.target("web"))
		if err != nil {
			t.Fatal(err)
		}
		s := w.session("laptop/1")
		s.API = late{w.server, plan.PodKind, 20 * time.Second}
		stop := w.reconcileAll(s, "shop")
		time.Sleep(time.Second)
		ended := claim.Run(t.Context(), reconcile.RunOptions{Object: w.set("web"), Timeout: 30 * time.Second})
		claim.Release()
		time.Sleep(10 * time.Minute)
		if err := stop(); err != nil {
			t.Error(err)
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.most != 3 {
			t.Errorf("%d pods at a time, want 3; the verb ended with %+v", w.most, ended)
		}
	})
}

// deaf is a server that accepts a status and does not store it, as one does whose CRD lacks a field.
type deaf struct {
	reconcile.API
	heard *atomic.Int32
}

func (d deaf) Patch(ctx context.Context, ref plan.Ref, subresource string, as types.PatchType, body []byte, dry bool) (plan.Object, error) {
	if ref.Kind == plan.CloneSetKind && subresource == plan.StatusSubresource {
		d.heard.Add(1)
		return d.Get(ctx, ref.Kind, ref.Namespace, ref.Name)
	}
	return d.API.Patch(ctx, ref, subresource, as, body, dry)
}

func TestRunRepeatsWhatHasNoEffectEverMoreRarely(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		w := newWorld(t, web("web", 1))
		s := w.session("laptop/1")
		heard := &atomic.Int32{}
		s.API = deaf{w.server, heard}
		w.drive(t.Context(), s, "web", reconcile.RunOptions{Timeout: 10 * time.Minute, Forever: true})
		// Doubling from 50 ms to a minute takes 11 tries and about 100 s; then one a minute.
		if n := heard.Load(); n < 10 || n > 40 {
			t.Errorf("%d tries in ten minutes", n)
		}
	})
}
