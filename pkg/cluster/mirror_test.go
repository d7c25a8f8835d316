package cluster_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/cluster"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/cluster/clustertest"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
)

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, 20*time.Second, true, func(context.Context) (bool, error) { return holds(), nil })
	if err != nil {
		t.Fatalf("not seen: %s", what)
	}
}

func names(list []plan.Object) []string {
	var all []string
	for _, obj := range list {
		all = append(all, obj.GetName())
	}
	slices.Sort(all)
	return all
}

func run(t *testing.T, m *cluster.Mirror) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- m.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("run: %v", err)
		}
	})
	select {
	case <-m.Synced():
	case <-t.Context().Done():
	}
}

func ownedPod(name string, owner string) plan.Object {
	p := pod(name)
	if owner != "" {
		p.OwnerReferences = []metav1.OwnerReference{{UID: "owner-" + "1", Kind: "CloneSet", Name: owner}}
	}
	return p
}

var webScope = cluster.Scope{Namespace: "shop", Labels: "app=web"}

func ownedByOne(obj plan.Object) bool {
	return slices.ContainsFunc(obj.GetOwnerReferences(), func(o metav1.OwnerReference) bool { return o.UID == "owner-1" })
}

func mirror(t *testing.T, source cluster.Source, options cluster.MirrorOptions) *cluster.Mirror {
	t.Helper()
	m, err := cluster.NewMirror(source, options)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestMirrorFollowsTheServer(t *testing.T) {
	t.Parallel()
	server := clustertest.New(pod("a"), pod("b"))
	other := pod("other")
	other.Labels = nil
	server.Put(other)
	m := mirror(t, server, cluster.MirrorOptions{Kind: plan.PodKind, Scope: webScope})
	run(t, m)
	if diff := cmp.Diff([]string{"a", "b"}, names(m.All())); diff != "" {
		t.Fatalf("after the first list (-want +got):\n%s", diff)
	}
	server.Put(pod("c"))
	server.Remove(plan.PodKind, "shop", "a")
	eventually(t, "b and c", func() bool { return cmp.Equal(names(m.All()), []string{"b", "c"}) })
	server.EndWatches(false)
	server.Put(pod("d"))
	eventually(t, "d after the watch ended", func() bool { return cmp.Equal(names(m.All()), []string{"b", "c", "d"}) })
	server.EndWatches(true)
	server.Remove(plan.PodKind, "shop", "b")
	eventually(t, "the loss of b after the watch expired", func() bool { return cmp.Equal(names(m.All()), []string{"c", "d"}) })
}

// A pod whose labels leave the selector is deleted for the watch; if it is still owned it has to be seen, so that it can
// be released (cloneset.md 10.4).
func TestMirrorKeepsOwnedPodsThatLeaveTheSelector(t *testing.T) {
	t.Parallel()
	server := clustertest.New(ownedPod("mine", "web"), ownedPod("free", ""))
	early := ownedPod("early", "web")
	early.SetLabels(map[string]string{"app": "other"})
	server.Put(early)
	m := mirror(t, server, cluster.MirrorOptions{Kind: plan.PodKind, Scope: webScope, Keep: ownedByOne})
	run(t, m)
	all := func(ctx context.Context, kind schema.GroupKind, namespace string) ([]plan.Object, error) {
		list, _, err := server.List(ctx, kind, cluster.Scope{Namespace: namespace})
		return list, err
	}
	if err := m.Find(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"early", "free", "mine"}, names(m.All())); diff != "" {
		t.Fatalf("after Find (-want +got):\n%s", diff)
	}
	leave := func(obj plan.Object) { obj.SetLabels(nil) }
	server.Edit(plan.PodKind, "shop", "mine", leave)
	server.Edit(plan.PodKind, "shop", "free", leave)
	eventually(t, "the kept pod without its labels, and not the free one", func() bool {
		list := m.Owned("owner-1")
		return cmp.Equal(names(m.All()), []string{"early", "mine"}) && len(list) == 2 &&
			list[0].GetLabels()["app"] != "web" && list[1].GetLabels()["app"] != "web"
	})
	server.Remove(plan.PodKind, "shop", "mine")
	server.Edit(plan.PodKind, "shop", "early", func(obj plan.Object) { obj.SetOwnerReferences(nil) })
	server.Bookmark()
	eventually(t, "nothing once they are gone or released", func() bool { return len(m.All()) == 0 })
}

// held is a source whose watch starts only when it is let go.
type held struct {
	cluster.Source
	open chan struct{}
}

func (h *held) Watch(ctx context.Context, kind schema.GroupKind, scope cluster.Scope, from string) (watch.Interface, error) {
	select {
	case <-h.open:
		return h.Source.Watch(ctx, kind, scope, from)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func TestMirrorShowsWritesBeforeTheWatch(t *testing.T) {
	t.Parallel()
	server := clustertest.New(pod("a"), pod("b"))
	source := &held{Source: server, open: make(chan struct{})}
	var mu sync.Mutex
	var changes []string
	m := mirror(t, source, cluster.MirrorOptions{Kind: plan.PodKind, Scope: webScope, Changed: func(old, now plan.Object) {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case old == nil:
			changes = append(changes, "+"+now.GetName())
		case now == nil:
			changes = append(changes, "-"+old.GetName())
		default:
			changes = append(changes, "~"+now.GetName())
		}
	}})
	run(t, m)
	x := &cluster.Executor{API: server, Overlay: cluster.Mirrors{m}}
	stored := server.Objects(plan.PodKind)
	x.Run(t.Context(), subject, []plan.Stage{
		{Actions: []plan.Action{create("c")}},
		{Actions: []plan.Action{{Verb: plan.Delete, On: podRef(stored[0].GetUID(), "a")}}},
		{Actions: []plan.Action{image(stored[1], "app:2")}},
	})
	if diff := cmp.Diff([]string{"b", "c"}, names(m.All())); diff != "" {
		t.Errorf("before the watch (-want +got):\n%s", diff)
	}
	close(source.open)
	server.Put(pod("d"))
	eventually(t, "d from the watch", func() bool { return cmp.Equal(names(m.All()), []string{"b", "c", "d"}) })
	mu.Lock()
	defer mu.Unlock()
	slices.Sort(changes[:2])
	if diff := cmp.Diff([]string{"+a", "+b", "+c", "-a", "~b"}, changes[:5]); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}

// denying refuses lists.
type denying struct {
	cluster.Source
	err error
}

func (d *denying) List(context.Context, schema.GroupKind, cluster.Scope) ([]plan.Object, string, error) {
	return nil, "", d.err
}

func TestMirrorGivesUpWithoutPermission(t *testing.T) {
	t.Parallel()
	denied := apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errors.New(`User "dev" cannot list resource "pods"`))
	m := mirror(t, &denying{clustertest.New(), denied}, cluster.MirrorOptions{Kind: plan.PodKind, Scope: webScope})
	err := m.Run(t.Context())
	if err == nil || !apierrors.IsForbidden(err) {
		t.Fatalf("run: %v", err)
	}
	if want := `read Pod of namespace shop: no permission: User "dev" cannot list resource "pods"`; err.Error() != want {
		t.Errorf("error %q, want %q", err, want)
	}
}
