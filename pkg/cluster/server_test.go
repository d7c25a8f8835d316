package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/kubectl-kruise/kubectl-kruise/internal/apiserver"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/cluster"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
)

func client(t *testing.T, config *rest.Config) *cluster.Client {
	t.Helper()
	kind, err := cluster.CloneSets("v1alpha1")
	if err != nil {
		t.Fatal(err)
	}
	c, err := cluster.Connect(config, kind)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func serverPod(s *apiserver.Server, name string) *corev1.Pod {
	p := pod(name)
	p.Namespace = s.Namespace
	p.Spec.NodeName = "nowhere" // it stays as it is and is deleted at once
	p.Spec.TerminationGracePeriodSeconds = new(int64)
	return p
}

func serverRef(obj plan.Object) plan.Ref {
	return plan.Ref{Kind: plan.PodKind, Namespace: obj.GetNamespace(), Name: obj.GetName(), UID: obj.GetUID()}
}

func TestServerDiscovery(t *testing.T) {
	t.Parallel()
	s := apiserver.New(t)
	nobody := s.User(t)
	c, err := cluster.Connect(nobody)
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.Served(t.Context(), plan.CloneSetKind, "clonesets", "v1beta1", "v1alpha1")
	if err != nil || got != "v1alpha1" {
		t.Errorf("served %q, %v", got, err)
	}
	var missing *cluster.NotServedError
	for _, kind := range []schema.GroupKind{{Group: "apps.kruise.io", Kind: "Teapot"}, {Group: "nowhere.example", Kind: "Teapot"}} {
		if _, err := c.Served(t.Context(), kind, "teapots", "v1"); !errors.As(err, &missing) {
			t.Errorf("%s: %v", kind, err)
		}
	}
	_, err = c.Served(t.Context(), plan.CloneSetKind, "clonesets", "v9")
	if want := "the cluster serves CloneSet.apps.kruise.io only as v1alpha1, which this version does not know"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

// The preconditions that the executor adds work as it expects on a real server, for every kind of patch.
func TestServerPreconditions(t *testing.T) {
	t.Parallel()
	s := apiserver.New(t)
	c := client(t, s.Config)
	x := &cluster.Executor{API: c}
	created := x.Run(t.Context(), subject, []plan.Stage{{Actions: []plan.Action{
		{Verb: plan.Create, On: plan.Ref{Kind: plan.PodKind, Namespace: s.Namespace, Name: "a"}, Object: serverPod(s, "a")},
	}}})
	if created.Outcomes[0].Result != cluster.Done {
		t.Fatal(created.Outcomes[0].Err)
	}
	stored := created.Outcomes[0].Object
	ref, replaced, missing := serverRef(stored), serverRef(stored), serverRef(stored)
	replaced.UID, missing.Name = "00000000-0000-0000-0000-000000000000", "b"
	label := func(value string) plan.Change {
		return &plan.ObjectChange{Meta: plan.MetaChange{Labels: map[string]*string{"x": &value}}}
	}
	condition := &plan.PodChange{Conditions: []corev1.PodCondition{{Type: "Gate", Status: "False"}}}
	tests := []struct {
		name   string
		action plan.Action
		want   cluster.Result
	}{
		{"create over an existing object", plan.Action{Verb: plan.Create, On: ref, Object: serverPod(s, "a")}, cluster.Conflicted},
		{"merge patch of another UID", plan.Action{Verb: plan.Patch, On: replaced, Change: label("1")}, cluster.Conflicted},
		{"merge patch of a missing object", plan.Action{Verb: plan.Patch, On: missing, Change: label("1")}, cluster.Conflicted},
		{"merge patch", plan.Action{Verb: plan.Patch, On: ref, Change: label("1"), ResourceVersion: stored.GetResourceVersion()}, cluster.Done},
		{"merge patch of an old version", plan.Action{Verb: plan.Patch, On: ref, Change: label("2"), ResourceVersion: stored.GetResourceVersion()}, cluster.Conflicted},
		{"strategic patch of another UID", plan.Action{Verb: plan.Patch, On: replaced, Subresource: "status", Change: condition}, cluster.Conflicted},
		{"strategic patch of an old version", plan.Action{Verb: plan.Patch, On: ref, Subresource: "status", Change: condition, ResourceVersion: stored.GetResourceVersion()}, cluster.Conflicted},
		{"strategic patch of the status", plan.Action{Verb: plan.Patch, On: ref, Subresource: "status", Change: condition}, cluster.Done},
		{"JSON patch of another UID", plan.Action{Verb: plan.Patch, On: replaced, Change: jsonChange{`[]`}}, cluster.Conflicted},
		{"JSON patch of an old version", plan.Action{Verb: plan.Patch, On: ref, Change: jsonChange{`[]`}, ResourceVersion: stored.GetResourceVersion()}, cluster.Conflicted},
		{"JSON patch whose test fails", plan.Action{Verb: plan.Patch, On: ref, Change: jsonChange{`[{"op":"test","path":"/metadata/name","value":"z"}]`}}, cluster.Conflicted},
		{"JSON patch of a missing path", plan.Action{Verb: plan.Patch, On: ref, Change: jsonChange{`[{"op":"test","path":"/spec/z/y","value":"z"}]`}}, cluster.Conflicted},
		{"JSON patch", plan.Action{Verb: plan.Patch, On: ref, Change: jsonChange{`[{"op":"test","path":"/metadata/name","value":"a"},{"op":"add","path":"/metadata/labels/y","value":"1"}]`}}, cluster.Done},
		{"a value that is not valid", plan.Action{Verb: plan.Patch, On: ref, Change: label("not valid!")}, cluster.Failed},
		{"delete of another UID", plan.Action{Verb: plan.Delete, On: replaced}, cluster.Conflicted},
		{"delete of an old version", plan.Action{Verb: plan.Delete, On: ref, ResourceVersion: stored.GetResourceVersion()}, cluster.Conflicted},
		{"delete", plan.Action{Verb: plan.Delete, On: ref}, cluster.Done},
		{"delete of a missing object", plan.Action{Verb: plan.Delete, On: ref}, cluster.Done},
	}
	for _, tt := range tests {
		report := x.Run(t.Context(), subject, []plan.Stage{{Actions: []plan.Action{tt.action}}})
		if got := report.Outcomes[0].Result; got != tt.want {
			t.Errorf("%s: %s (%v), want %s", tt.name, got, report.Outcomes[0].Err, tt.want)
		}
	}
}

func TestServerDryRunChangesNothing(t *testing.T) {
	t.Parallel()
	s := apiserver.New(t)
	c := client(t, s.Config)
	a := serverPod(s, "a")
	created, err := c.Create(t.Context(), plan.PodKind, a, false)
	if err != nil {
		t.Fatal(err)
	}
	before, at, err := c.List(t.Context(), plan.PodKind, cluster.Scope{Namespace: s.Namespace})
	if err != nil {
		t.Fatal(err)
	}
	x := &cluster.Executor{API: c, DryRun: cluster.DryRunServer}
	report := x.Run(t.Context(), subject, []plan.Stage{{Name: "all", Actions: []plan.Action{
		{Verb: plan.Create, On: plan.Ref{Kind: plan.PodKind, Name: "b"}, Object: serverPod(s, "b")},
		{Verb: plan.Patch, On: serverRef(created), Change: &plan.PodChange{Images: map[string]string{"main": "app:2"}}},
		{Verb: plan.Evict, On: serverRef(created)},
		{Verb: plan.Delete, On: serverRef(created)},
	}}})
	wantResults(t, report, "all create b: checked", "all patch a: checked", "all evict a: checked", "all delete a: checked")
	after, _, err := c.List(t.Context(), plan.PodKind, cluster.Scope{Namespace: s.Namespace})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("pods at version %s (-before +after):\n%s", at, diff)
	}
}

// The mirror sees what a real watch sends: own writes, foreign ones, and pods whose labels leave the selector.
func TestServerMirror(t *testing.T) {
	t.Parallel()
	s := apiserver.New(t)
	c := client(t, s.Config)
	owned := func(name string) *corev1.Pod {
		p := serverPod(s, name)
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "owner", UID: "owner-1"}}
		p.Finalizers = []string{"example.com/stay"} // the garbage collector finds no such owner
		return p
	}
	early := owned("early")
	early.Labels = map[string]string{"app": "other"}
	for _, p := range []*corev1.Pod{owned("mine"), serverPod(s, "free"), early} {
		if _, err := c.Create(t.Context(), plan.PodKind, p, false); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		none := []byte(`{"metadata":{"finalizers":null}}`)
		for _, name := range []string{"mine", "early"} {
			_, _ = c.Patch(context.Background(), plan.Ref{Kind: plan.PodKind, Namespace: s.Namespace, Name: name}, "", "application/merge-patch+json", none, false)
		}
	})
	m := mirror(t, c, cluster.MirrorOptions{
		Kind: plan.PodKind, Scope: cluster.Scope{Namespace: s.Namespace, Labels: "app=web"},
		Keep: func(obj plan.Object) bool { return ownedByOne(obj) && obj.GetDeletionTimestamp() == nil },
	})
	run(t, m)
	if diff := cmp.Diff([]string{"free", "mine"}, names(m.All())); diff != "" {
		t.Errorf("listed (-want +got):\n%s", diff)
	}
	x := &cluster.Executor{API: c, Overlay: cluster.Mirrors{m}}
	x.Run(t.Context(), subject, []plan.Stage{{Actions: []plan.Action{
		{Verb: plan.Create, On: plan.Ref{Kind: plan.PodKind, Name: "new"}, Object: serverPod(s, "new")},
	}}})
	if diff := cmp.Diff([]string{"free", "mine", "new"}, names(m.All())); diff != "" {
		t.Errorf("with our write (-want +got):\n%s", diff)
	}
	for _, obj := range m.All() {
		if managed := obj.GetManagedFields(); len(managed) > 0 {
			t.Errorf("%s carries managed fields", obj.GetName())
		}
		if obj.GetName() != "new" {
			if _, err := c.Patch(t.Context(), serverRef(obj), "", "application/merge-patch+json", []byte(`{"metadata":{"labels":{"app":"left"}}}`), false); err != nil {
				t.Fatal(err)
			}
		}
	}
	eventually(t, "free gone, and mine kept unless the garbage collector was faster", func() bool {
		list := names(m.All())
		return !slices.Contains(list, "free") && slices.Contains(list, "new")
	})
	x.Run(t.Context(), subject, []plan.Stage{{Actions: []plan.Action{{Verb: plan.Delete, On: serverRef(m.Named(s.Namespace, "new"))}}}})
	if slices.Contains(names(m.All()), "new") {
		t.Errorf("new is shown after its deletion")
	}
}

func (s *storedSet) create(t *testing.T) *v1beta1.CloneSet {
	t.Helper()
	set := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps.kruise.io/v1alpha1", "kind": "CloneSet",
		"metadata": map[string]any{"name": "web"},
		"spec": map[string]any{
			"replicas": int64(2), "selector": map[string]any{"matchLabels": map[string]any{"app": "web"}},
			"template": map[string]any{
				"metadata": map[string]any{"labels": map[string]any{"app": "web"}},
				"spec": map[string]any{"containers": []any{
					map[string]any{"name": "log", "image": "l:1", "futureField": "kept"}, map[string]any{"name": "main", "image": "m:1"},
				}},
			},
		},
	}}
	if _, err := s.server.Dynamic.Resource(apiserver.CloneSets).Namespace(s.server.Namespace).Create(t.Context(), set, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return s.get(t)
}

// storedSet is a CloneSet on a real server.
type storedSet struct {
	server *apiserver.Server
	client *cluster.Client
}

func (s *storedSet) get(t *testing.T) *v1beta1.CloneSet {
	t.Helper()
	obj, err := s.client.Get(t.Context(), plan.CloneSetKind, s.server.Namespace, "web")
	if err != nil {
		t.Fatal(err)
	}
	return obj.(*v1beta1.CloneSet)
}

func (s *storedSet) write(t *testing.T, intent cluster.Intent, raw []byte, uid plan.Ref) cluster.Outcome {
	t.Helper()
	change, err := intent.Change(raw, "v1alpha1")
	if err != nil {
		t.Fatal(err)
	}
	x := &cluster.Executor{API: s.client}
	report := x.Run(t.Context(), subject, []plan.Stage{{Actions: []plan.Action{{Verb: plan.Patch, On: uid, Change: change}}}})
	return report.Outcomes[0]
}

func TestServerIntent(t *testing.T) {
	t.Parallel()
	s := &storedSet{server: apiserver.New(t)}
	s.client = client(t, s.server.Config)
	set := s.create(t)
	ref := plan.Ref{Kind: plan.CloneSetKind, Namespace: set.Namespace, Name: set.Name, UID: set.UID}
	raw, err := s.client.Raw(t.Context(), plan.CloneSetKind, set.Namespace, set.Name)
	if err != nil {
		t.Fatal(err)
	}
	intent := cluster.Intent{Partition: share("50%"), MaxSurge: number(1), Type: "InPlaceIfPossible", Images: map[string]string{"main": "m:2", "log": "l:2"}}
	if out := s.write(t, intent, raw, ref); out.Result != cluster.Done {
		t.Fatalf("%s: %v", out.Result, out.Err)
	}
	if missing := intent.Missing(s.get(t)); len(missing) > 0 {
		t.Errorf("not stored: %v", missing)
	}
	stored, err := s.server.Dynamic.Resource(apiserver.CloneSets).Namespace(set.Namespace).Get(t.Context(), set.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	containers, _, err := unstructured.NestedSlice(stored.Object, "spec", "template", "spec", "containers")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]any{"name": "log", "image": "l:2", "futureField": "kept"}, containers[0]); diff != "" {
		t.Errorf("container (-want +got):\n%s", diff)
	}
	// What was read is old by now: the image is not what the patch expects.
	if out := s.write(t, cluster.Intent{Images: map[string]string{"main": "m:3"}}, raw, ref); out.Result != cluster.Conflicted {
		t.Errorf("write on an old reading: %s (%v)", out.Result, out.Err)
	}
}

func TestServerEvents(t *testing.T) {
	t.Parallel()
	s := apiserver.New(t)
	events := cluster.NewRecorder(client(t, s.Config), time.Now)
	about := subject
	about.Namespace = s.Namespace
	for range 3 {
		events.Record(about, plan.Event{Type: "Warning", Reason: "ScaleUpLimited", Message: "limit: 1"})
	}
	events.Flush(t.Context())
	list, err := s.Kube.CoreV1().Events(s.Namespace).List(t.Context(), metav1.ListOptions{FieldSelector: "involvedObject.name=web"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range list.Items {
		got = append(got, fmt.Sprint(e.Count, " ", e.Source.Component, " ", e.Reason, " ", e.Message))
	}
	if diff := cmp.Diff([]string{"3 cloneset-controller ScaleUpLimited limit: 1"}, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// A user with rights in one namespace only gets on: Leases elsewhere are unreadable, which is no error, and what may not
// be watched is read now and then.
func TestServerRightsInOneNamespace(t *testing.T) {
	t.Parallel()
	s := apiserver.New(t)
	c := client(t, s.User(t, rbacv1.PolicyRule{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"get", "create", "patch"}}))
	facts, err := cluster.ReadLeases(t.Context(), c, s.Namespace, "kubectl-kruise-cloneset-web")
	if err != nil {
		t.Fatal(err)
	}
	want := &cluster.LeaseFacts{Unreadable: []string{"kruise-system/kruise-manager", "kruise-system/kubectl-kruise-reconcile"}}
	if diff := cmp.Diff(want, facts); diff != "" {
		t.Errorf("facts (-want +got):\n%s", diff)
	}
	held, err := cluster.Acquire(t.Context(), c, s.Namespace, "kubectl-kruise-cloneset-web", self, "cloneset", time.Now)
	if err != nil {
		t.Fatal(err)
	}
	watch, err := cluster.WatchDrivers(c, s.Namespace, false)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { watch.Run(ctx); close(ended) }()
	if err := watch.Synced(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := cluster.Acquire(t.Context(), client(t, s.Config), s.Namespace, "kubectl-kruise-reconcile", other, "reconcile", time.Now); err != nil {
		t.Fatal(err)
	}
	select {
	case <-watch.Changed():
	case <-time.After(30 * time.Second):
		t.Error("the loop's lease was not noticed")
	}
	if d, found := cluster.Above(watch.Facts(s.Namespace, "kubectl-kruise-cloneset-web"), self, time.Now()); !found || d.Holder != other {
		t.Errorf("driver %+v", d)
	}
	cancel()
	<-ended
	if err := held.Release(t.Context()); err != nil {
		t.Error(err)
	}
	err = mirror(t, c, cluster.MirrorOptions{Kind: plan.PodKind, Scope: cluster.Scope{Namespace: s.Namespace}}).Run(t.Context())
	if err == nil {
		t.Error("pods were read without permission")
	}
}
