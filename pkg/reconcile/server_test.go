package reconcile_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"github.com/kubectl-kruise/kubectl-kruise/internal/apiserver"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/features"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/cluster"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/reconcile"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/view"
)

// Rights are what a user needs in the namespace to roll out a CloneSet. The user guide lists the same.
var rights = []rbacv1.PolicyRule{
	{APIGroups: []string{"apps.kruise.io"}, Resources: []string{"clonesets"}, Verbs: []string{"get", "list", "watch", "patch"}},
	{APIGroups: []string{"apps.kruise.io"}, Resources: []string{"clonesets/status"}, Verbs: []string{"patch"}},
	{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get", "list", "watch", "create", "patch", "delete"}},
	{APIGroups: []string{""}, Resources: []string{"pods/status"}, Verbs: []string{"patch"}},
	{APIGroups: []string{"apps"}, Resources: []string{"controllerrevisions"}, Verbs: []string{"get", "list", "watch", "create", "patch", "delete"}},
	{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"get", "create", "patch"}},
	{APIGroups: []string{""}, Resources: []string{"events"}, Verbs: []string{"create", "patch"}},
}

// site is a namespace of a real cluster and a user on it.
type site struct {
	t      *testing.T
	server *apiserver.Server
	client *cluster.Client
	served reconcile.Served

	mu     sync.Mutex
	events []string
}

func newSite(t *testing.T, config func(*apiserver.Server) *rest.Config) *site {
	t.Helper()
	s := &site{t: t, server: apiserver.New(t)}
	client, served, err := reconcile.Connect(t.Context(), config(s.server), reconcile.CloneSet())
	if err != nil {
		t.Fatal(err)
	}
	s.client, s.served = client, served[0]
	return s
}

func (s *site) session(mode cluster.Mode) *reconcile.Session {
	return &reconcile.Session{
		API: s.client, Gates: features.Defaults(), Now: time.Now, Random: rand.Uint64, Mode: mode,
		Holder: fmt.Sprintf("kubectl-kruise/test@%s/%d", s.server.Namespace, rand.Uint64()),
		Tell: func(e view.Event) {
			s.mu.Lock()
			defer s.mu.Unlock()
			switch e := e.(type) {
			case view.ActionFailed:
				s.events = append(s.events, e.Err)
			case view.Trouble:
				s.events = append(s.events, e.Err)
			}
		},
	}
}

func (s *site) create(name string, replicas int64) {
	s.t.Helper()
	labels := map[string]any{"app": name}
	set := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps.kruise.io/v1alpha1", "kind": "CloneSet", "metadata": map[string]any{"name": name},
		"spec": map[string]any{
			"replicas": replicas, "selector": map[string]any{"matchLabels": labels},
			"updateStrategy": map[string]any{"type": "InPlaceIfPossible"},
			"template": map[string]any{
				"metadata": map[string]any{"labels": labels},
				"spec": map[string]any{
					"tolerations": []any{map[string]any{"operator": "Exists"}}, // fake nodes are tainted
					"containers":  []any{map[string]any{"name": "main", "image": "nginx:1.27"}},
				},
			},
		},
	}}
	if _, err := s.server.Dynamic.Resource(apiserver.CloneSets).Namespace(s.server.Namespace).Create(s.t.Context(), set, metav1.CreateOptions{}); err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) target(name string) reconcile.Target {
	return reconcile.Target{Served: s.served, Namespace: s.server.Namespace, Name: name}
}

// rollOut does what the verb does: claim, write the intent, run.
func (s *site) rollOut(ctx context.Context, mode cluster.Mode, name string, intent cluster.Intent) *reconcile.Result {
	s.t.Helper()
	claim, err := s.session(mode).Claim(ctx, s.target(name))
	if err != nil {
		s.t.Fatal(err)
	}
	defer claim.Release()
	raw, err := s.client.Raw(ctx, plan.CloneSetKind, s.server.Namespace, name)
	if err != nil {
		s.t.Fatal(err)
	}
	change, err := intent.Change(raw, "v1alpha1")
	if err != nil {
		s.t.Fatal(err)
	}
	object, err := s.client.Get(ctx, plan.CloneSetKind, s.server.Namespace, name)
	if err != nil {
		s.t.Fatal(err)
	}
	if len(change.Fields) > 0 {
		ref := plan.Ref{Kind: plan.CloneSetKind, Namespace: s.server.Namespace, Name: name, UID: object.GetUID()}
		report := (&cluster.Executor{API: s.client}).Run(ctx, cluster.Subject{}, []plan.Stage{{Actions: []plan.Action{{Verb: plan.Patch, On: ref, Change: change}}}})
		if report.Outcomes[0].Result != cluster.Done {
			s.t.Fatal(report.Outcomes[0].Err)
		}
		object = report.Outcomes[0].Object
	}
	return claim.Run(ctx, reconcile.RunOptions{Object: object, Timeout: 2 * time.Minute})
}

// pods lists the pods that are not being deleted: UID to image and restarts.
func (s *site) pods() map[types.UID]string {
	s.t.Helper()
	list, err := s.server.Kube.CoreV1().Pods(s.server.Namespace).List(s.t.Context(), metav1.ListOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	pods := map[types.UID]string{}
	for i := range list.Items {
		if p := &list.Items[i]; p.DeletionTimestamp == nil {
			pods[p.UID] = p.Spec.Containers[0].Image + fmt.Sprintf(" ready=%v", isReady(p))
		}
	}
	return pods
}

func (s *site) tally() map[string]int {
	count := map[string]int{}
	for _, what := range s.pods() {
		count[what]++
	}
	return count
}

func TestServerRollOutWithRightsInOneNamespace(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(server *apiserver.Server) *rest.Config { return server.User(t, rights...) })
	s.create("web", 5)
	if _, err := s.session(cluster.ModeAuto).Claim(t.Context(), s.target("web")); err == nil {
		t.Error("claimed without a mode although the leases of kruise-system may not be read")
	}
	if result := s.rollOut(t.Context(), cluster.ModeLocal, "web", cluster.Intent{}); !result.Reached {
		t.Fatalf("creation: %+v, %v", result, s.events)
	}
	before := s.pods()
	if diff := cmp.Diff(map[string]int{"nginx:1.27 ready=true": 5}, s.tally()); diff != "" {
		t.Errorf("pods (-want +got):\n%s", diff)
	}
	intent := cluster.Intent{Images: map[string]string{"main": "nginx:1.28"}, Partition: ptr.To(intstr.FromString("60%"))}
	if result := s.rollOut(t.Context(), cluster.ModeLocal, "web", intent); !result.Reached {
		t.Fatalf("rollout: %+v, %v", result, s.events)
	}
	after := s.pods()
	if diff := cmp.Diff(map[string]int{"nginx:1.27 ready=true": 3, "nginx:1.28 ready=true": 2}, s.tally()); diff != "" {
		t.Errorf("pods (-want +got):\n%s", diff)
	}
	for uid := range after {
		if before[uid] == "" {
			t.Errorf("pod %s is new", uid)
		}
	}
	if len(s.events) > 0 {
		t.Errorf("trouble: %v", s.events)
	}
}

func TestServerRecreate(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(server *apiserver.Server) *rest.Config { return server.User(t, rights...) })
	s.create("web", 4)
	if result := s.rollOut(t.Context(), cluster.ModeLocal, "web", cluster.Intent{Type: "ReCreate"}); !result.Reached {
		t.Fatalf("creation: %+v, %v", result, s.events)
	}
	before := s.pods()
	intent := cluster.Intent{Images: map[string]string{"main": "nginx:1.28"}, MaxSurge: ptr.To(intstr.FromInt32(2)), MaxUnavailable: ptr.To(intstr.FromInt32(0))}
	if result := s.rollOut(t.Context(), cluster.ModeLocal, "web", intent); !result.Reached {
		t.Fatalf("rollout: %+v, %v", result, s.events)
	}
	if diff := cmp.Diff(map[string]int{"nginx:1.28 ready=true": 4}, s.tally()); diff != "" {
		t.Errorf("pods (-want +got):\n%s", diff)
	}
	for uid := range s.pods() {
		if before[uid] != "" {
			t.Errorf("pod %s was kept", uid)
		}
	}
}

// A pod whose labels left the selector is released and replaced, also when it left before anybody looked.
func TestServerReleasesPods(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(server *apiserver.Server) *rest.Config { return server.Config })
	s.create("web", 2)
	if result := s.rollOut(t.Context(), cluster.ModeAuto, "web", cluster.Intent{}); !result.Reached {
		t.Fatalf("creation: %+v, %v", result, s.events)
	}
	pods := s.server.Kube.CoreV1().Pods(s.server.Namespace)
	list, err := pods.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	left := list.Items[0].Name
	if _, err := pods.Patch(t.Context(), left, types.MergePatchType, []byte(`{"metadata":{"labels":{"app":"left"}}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if result := s.rollOut(t.Context(), cluster.ModeAuto, "web", cluster.Intent{}); !result.Reached {
		t.Fatalf("second run: %+v, %v", result, s.events)
	}
	released := func() bool {
		p, err := pods.Get(t.Context(), left, metav1.GetOptions{})
		return err == nil && len(p.OwnerReferences) == 0
	}
	if n := len(s.pods()); n != 3 {
		t.Errorf("%d pods, want the released one and two of the set", n)
	}
	if !released() {
		// The set was complete before the look at the whole namespace had come back.
		if result := s.rollOut(t.Context(), cluster.ModeAuto, "web", cluster.Intent{}); !result.Reached || !released() {
			t.Errorf("%s is still owned", left)
		}
	}
}

func TestServerReconcilesANamespace(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(server *apiserver.Server) *rest.Config { return server.Config })
	s.create("a", 3)
	s.create("b", 2)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.session(cluster.ModeAuto).All(ctx, s.server.Namespace, s.served) }()
	settle := func(what string, want map[string]int) {
		t.Helper()
		deadline := time.Now().Add(time.Minute)
		for !cmp.Equal(want, s.tally()) {
			if time.Now().After(deadline) {
				t.Fatalf("%s: have %v, want %v; trouble: %v", what, s.tally(), want, s.events)
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	settle("created", map[string]int{"nginx:1.27 ready=true": 5})
	sets := s.server.Dynamic.Resource(apiserver.CloneSets).Namespace(s.server.Namespace)
	patch := []byte(`[{"op":"replace","path":"/spec/template/spec/containers/0/image","value":"nginx:1.28"},{"op":"replace","path":"/spec/replicas","value":1}]`)
	if _, err := sets.Patch(t.Context(), "b", types.JSONPatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	settle("b updated and scaled", map[string]int{"nginx:1.27 ready=true": 3, "nginx:1.28 ready=true": 1})
	// The template has no schema: the server takes what no pod could be made of. That is the matter of this set alone,
	// whether it turns up in the watch, as here, or in a list, as below.
	bad := []byte(`[{"op":"add","path":"/spec/template/spec/containers/0/ports","value":[{"containerPort":"eighty"}]}]`)
	if _, err := sets.Patch(t.Context(), "b", types.JSONPatchType, bad, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	grow := []byte(`{"spec":{"replicas":4}}`)
	if _, err := sets.Patch(t.Context(), "a", types.MergePatchType, grow, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	settle("a scaled beside an unreadable set", map[string]int{"nginx:1.27 ready=true": 4, "nginx:1.28 ready=true": 1})
	list, _, err := s.client.List(t.Context(), plan.CloneSetKind, cluster.Scope{Namespace: s.server.Namespace})
	if err != nil || len(list) != 2 {
		t.Fatalf("list of %d sets: %v", len(list), err)
	}
	// A verb finds the loop and lets it drive.
	claim, err := s.session(cluster.ModeAuto).Claim(t.Context(), s.target("a"))
	if err != nil {
		t.Fatal(err)
	}
	if claim.Choice.Role != cluster.Delegate || claim.Choice.Driver.Kind != cluster.ForegroundDriver {
		t.Errorf("choice %+v", claim.Choice)
	}
	claim.Release()
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("ended with %v", err)
	}
}
