package cluster_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/cluster"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/cluster/clustertest"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
)

func pod(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Labels: map[string]string{"app": "web"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "app:1"}}},
	}
}

func podRef(uid types.UID, name string) plan.Ref {
	return plan.Ref{Kind: plan.PodKind, Namespace: "shop", Name: name, UID: uid}
}

func create(name string) plan.Action {
	return plan.Action{Verb: plan.Create, On: podRef("", name), Object: pod(name)}
}

func creates(from, to int) []plan.Action {
	var list []plan.Action
	for i := from; i < to; i++ {
		list = append(list, create(fmt.Sprintf("p-%03d", i)))
	}
	return list
}

func image(stored plan.Object, image string) plan.Action {
	return plan.Action{
		Verb: plan.Patch, On: podRef(stored.GetUID(), stored.GetName()),
		Change: &plan.PodChange{Images: map[string]string{"main": image}},
	}
}

func results(report *cluster.Report) []string {
	var list []string
	for _, o := range report.Outcomes {
		list = append(list, fmt.Sprintf("%s %s %s: %s", o.Stage, o.Action.Verb, o.Action.On.Name, o.Result))
	}
	return list
}

func wantResults(t *testing.T, report *cluster.Report, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, results(report)); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
}

// overlay records what the executor tells it.
type overlay struct {
	mu    sync.Mutex
	lines map[string]string
}

func (o *overlay) Wrote(_ schema.GroupKind, obj plan.Object) { o.set(obj.GetName(), "wrote") }
func (o *overlay) Gone(ref plan.Ref)                         { o.set(ref.Name, "gone") }

func (o *overlay) set(name, what string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.lines == nil {
		o.lines = map[string]string{}
	}
	o.lines[name] = what
}

var subject = cluster.Subject{
	Ref:        plan.Ref{Kind: plan.CloneSetKind, Namespace: "shop", Name: "web", UID: "set-1"},
	APIVersion: "apps.kruise.io/v1alpha1", Component: "cloneset-controller",
}

func TestExecutorWrites(t *testing.T) {
	t.Parallel()
	server := clustertest.New(pod("old"), pod("doomed"))
	stored, doomed := server.Objects(plan.PodKind)[1], server.Objects(plan.PodKind)[0]
	seen := &overlay{}
	x := &cluster.Executor{API: server, Overlay: seen}
	first := image(stored, "app:2")
	first.Then = &plan.Action{
		Verb: plan.Patch, On: first.On, Subresource: plan.StatusSubresource,
		Change: &plan.PodChange{Conditions: []corev1.PodCondition{{Type: "Gate", Status: corev1.ConditionFalse}}},
	}
	report := x.Run(t.Context(), subject, []plan.Stage{
		{Name: "scale", Actions: []plan.Action{create("new"), {Verb: plan.Delete, On: podRef(doomed.GetUID(), "doomed")}}},
		{Name: "update", Actions: []plan.Action{first}},
	})
	wantResults(t, report, "scale create new: done", "scale delete doomed: done", "update patch old: done", "update patch old: done")
	if len(report.Doubts) > 0 {
		t.Errorf("doubts about %v", report.Doubts)
	}
	got := map[string]string{}
	for _, obj := range server.Objects(plan.PodKind) {
		p := obj.(*corev1.Pod)
		got[p.Name] = fmt.Sprint(p.Spec.Containers[0].Image, " ", len(p.Status.Conditions))
	}
	if diff := cmp.Diff(map[string]string{"new": "app:1 0", "old": "app:2 1"}, got); diff != "" {
		t.Errorf("pods (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"new": "wrote", "old": "wrote", "doomed": "gone"}, seen.lines); diff != "" {
		t.Errorf("overlay (-want +got):\n%s", diff)
	}
}

// fail lets requests for the named objects fail.
func fail(faults map[string]clustertest.Fault) func(clustertest.Call) clustertest.Fault {
	return func(call clustertest.Call) clustertest.Fault { return faults[call.Name] }
}

func TestExecutorFailures(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		faults map[string]clustertest.Fault
		want   []string
		doubts []string
		err    string
		retry  time.Duration
	}{
		{
			name: "the rest of the group finishes, later groups and stages are skipped", faults: map[string]clustertest.Fault{"p-001": clustertest.Error500},
			want: []string{
				"a create p-000: done", "a create p-001: unknown", "a create p-002: done", "a create p-003: skipped", "b create p-004: skipped",
			},
			doubts: []string{"p-001"}, err: "create Pod p-001: Internal error occurred: made to fail; it may have been carried out",
		},
		{
			name: "a refusal stops the stage and leaves no doubt", faults: map[string]clustertest.Fault{"p-000": clustertest.Forbidden},
			want: []string{
				"a create p-000: failed", "a create p-001: skipped", "a create p-002: skipped", "a create p-003: skipped", "b create p-004: skipped",
			},
			err: "create Pod p-000: refused: made to be forbidden",
		},
		{
			name: "a conflict holds up no other object, only the later stages", faults: map[string]clustertest.Fault{"p-001": clustertest.Conflict},
			want: []string{
				"a create p-000: done", "a create p-001: conflict", "a create p-002: done", "a create p-003: done", "b create p-004: skipped",
			},
			doubts: []string{"p-001"}, err: "create Pod p-001: changed by somebody else in the meantime",
		},
		{
			name: "429 says how long to wait", faults: map[string]clustertest.Fault{"p-000": clustertest.Busy},
			want: []string{
				"a create p-000: failed", "a create p-001: skipped", "a create p-002: skipped", "a create p-003: skipped", "b create p-004: skipped",
			},
			err: "create Pod p-000: the server asks to wait 7s: made to wait", retry: 7 * time.Second,
		},
		{
			name: "a lost answer is a doubt", faults: map[string]clustertest.Fault{"p-004": clustertest.LostAnswer},
			want: []string{
				"a create p-000: done", "a create p-001: done", "a create p-002: done", "a create p-003: done", "b create p-004: unknown",
			},
			doubts: []string{"p-004"}, err: "create Pod p-004: no answer in time; it may have been carried out",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			x := &cluster.Executor{API: &clustertest.Faulty{API: clustertest.New(), Choose: fail(tt.faults), RetryAfter: 7}}
			report := x.Run(t.Context(), subject, []plan.Stage{{Name: "a", Actions: creates(0, 4)}, {Name: "b", Actions: creates(4, 5)}})
			wantResults(t, report, tt.want...)
			var doubts, errs []string
			for _, ref := range report.Doubts {
				doubts = append(doubts, ref.Name)
			}
			for _, o := range report.Outcomes {
				if o.Err != nil {
					errs = append(errs, o.Err.Error())
				}
			}
			if diff := cmp.Diff(tt.doubts, doubts); diff != "" {
				t.Errorf("doubts (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]string{tt.err}, errs); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
			if report.RetryAfter != tt.retry {
				t.Errorf("retry after %v, want %v", report.RetryAfter, tt.retry)
			}
		})
	}
}

func TestExecutorPreconditions(t *testing.T) {
	t.Parallel()
	server := clustertest.New(pod("a"))
	stored := server.Objects(plan.PodKind)[0]
	old := stored.GetResourceVersion()
	server.Edit(plan.PodKind, "shop", "a", func(obj plan.Object) { obj.SetLabels(map[string]string{"app": "web", "x": "y"}) })

	judged := image(stored, "app:2")
	judged.ResourceVersion = old
	replaced := image(stored, "app:2")
	replaced.On.UID = "another"
	missing := image(stored, "app:2")
	missing.On.Name = "b"
	anonymous := image(stored, "app:2")
	anonymous.On.UID = ""
	tests := []struct {
		name   string
		action plan.Action
		want   cluster.Result
	}{
		{"a patch judged on an older version conflicts", judged, cluster.Conflicted},
		{"a patch of a replaced object conflicts", replaced, cluster.Conflicted},
		{"a patch of a missing object conflicts", missing, cluster.Conflicted},
		{"a patch without a UID is refused", anonymous, cluster.Failed},
		{"a delete of a replaced object conflicts", plan.Action{Verb: plan.Delete, On: replaced.On}, cluster.Conflicted},
		{"a delete without a UID is refused", plan.Action{Verb: plan.Delete, On: anonymous.On}, cluster.Failed},
		{"a delete of a missing object is done", plan.Action{Verb: plan.Delete, On: missing.On}, cluster.Done},
		{"an eviction without a UID is refused", plan.Action{Verb: plan.Evict, On: anonymous.On}, cluster.Failed},
		{"a create over an existing object conflicts", create("a"), cluster.Conflicted},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			x := &cluster.Executor{API: server}
			report := x.Run(t.Context(), subject, []plan.Stage{{Actions: []plan.Action{tt.action}}})
			if got := report.Outcomes[0].Result; got != tt.want {
				t.Errorf("result %q (%v), want %q", got, report.Outcomes[0].Err, tt.want)
			}
		})
	}
	if writes := server.Writes(); writes != 0 {
		t.Errorf("%d writes were carried out", writes)
	}
}

// A chained action that was judged on the same version as the one before it goes with the version that one left behind.
func TestExecutorChainKeepsJudgement(t *testing.T) {
	t.Parallel()
	server := clustertest.New(pod("a"))
	stored := server.Objects(plan.PodKind)[0]
	first := image(stored, "app:2")
	first.ResourceVersion = stored.GetResourceVersion()
	second := image(stored, "app:3")
	second.ResourceVersion = stored.GetResourceVersion()
	first.Then = &second
	report := (&cluster.Executor{API: server}).Run(t.Context(), subject, []plan.Stage{{Actions: []plan.Action{first}}})
	wantResults(t, report, " patch a: done", " patch a: done")
}

func TestExecutorDryRun(t *testing.T) {
	t.Parallel()
	tests := []struct {
		mode cluster.DryRun
		want []string
	}{
		{cluster.DryRunClient, []string{"a create p-000: skipped", "b create p-001: skipped"}},
		{cluster.DryRunServer, []string{"a create p-000: checked", "b create p-001: skipped"}},
	}
	for _, tt := range tests {
		t.Run(string(tt.mode), func(t *testing.T) {
			t.Parallel()
			server, seen := clustertest.New(), &overlay{}
			action := create("p-000")
			action.Done = &plan.Event{Type: "Normal", Reason: "R", Message: "m"}
			x := &cluster.Executor{API: server, DryRun: tt.mode, Overlay: seen, Events: cluster.NewRecorder(server, time.Now)}
			report := x.Run(t.Context(), subject, []plan.Stage{{Name: "a", Actions: []plan.Action{action}}, {Name: "b", Actions: creates(1, 2)}})
			x.Events.Flush(t.Context())
			wantResults(t, report, tt.want...)
			if n := server.Writes(); n != 0 || len(seen.lines) > 0 {
				t.Errorf("%d writes, overlay %v", n, seen.lines)
			}
		})
	}
}

// gauge counts how many writes are under way at a time.
type gauge struct {
	cluster.Writer
	now, most atomic.Int32
	hold      func(n int32)
}

func (g *gauge) Create(ctx context.Context, kind schema.GroupKind, obj plan.Object, dry bool) (plan.Object, error) {
	n := g.now.Add(1)
	defer g.now.Add(-1)
	for {
		most := g.most.Load()
		if n <= most || g.most.CompareAndSwap(most, n) {
			break
		}
	}
	if g.hold != nil {
		g.hold(n)
	}
	return g.Writer.Create(ctx, kind, obj, dry)
}

func TestExecutorSlowStart(t *testing.T) {
	t.Parallel()
	server := clustertest.New()
	// The writes of a group wait for each other, so that the group's size shows.
	var mu sync.Mutex
	arrived, sizes := 0, []int{1, 2, 4, 4, 2}
	group, open := 0, make(chan struct{})
	g := &gauge{Writer: server, hold: func(int32) {
		mu.Lock()
		arrived++
		gate := open
		if arrived == sizes[group] {
			arrived, group, open = 0, group+1, make(chan struct{})
			close(gate)
		}
		mu.Unlock()
		<-gate
	}}
	x := &cluster.Executor{API: g, Parallel: 4}
	report := x.Run(t.Context(), subject, []plan.Stage{{Name: "a", Actions: creates(0, 13)}})
	if n := len(server.Objects(plan.PodKind)); n != 13 || len(report.Failures()) > 0 {
		t.Errorf("%d pods, failures %v", n, report.Failures())
	}
	if most := g.most.Load(); most != 4 {
		t.Errorf("at most %d at a time, want 4", most)
	}
}

func TestExecutorStopBeginsNothing(t *testing.T) {
	t.Parallel()
	server := clustertest.New()
	ctx, cancel := context.WithCancel(t.Context())
	g := &gauge{Writer: server, hold: func(int32) { cancel() }}
	x := &cluster.Executor{API: g}
	report := x.Run(ctx, subject, []plan.Stage{{Name: "a", Actions: creates(0, 4)}, {Name: "b", Actions: creates(4, 5)}})
	wantResults(t, report, "a create p-000: done", "a create p-001: skipped", "a create p-002: skipped", "a create p-003: skipped", "b create p-004: skipped")
}

// bodies records patches on the wire.
type bodies struct {
	cluster.Writer
	got []string
}

func (b *bodies) Patch(_ context.Context, _ plan.Ref, _ string, as types.PatchType, body []byte, _ bool) (plan.Object, error) {
	b.got = append(b.got, string(as)+" "+string(body))
	return pod("a"), nil
}

type jsonChange struct{ body string }

func (jsonChange) PatchType() types.PatchType { return types.JSONPatchType }
func (c jsonChange) Body() ([]byte, error)    { return json.RawMessage(c.body), nil }
func (jsonChange) Apply(plan.Object) error    { return nil }

func TestExecutorBindsPatches(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		action plan.Action
		want   string
	}{
		{
			"uid beside other metadata",
			plan.Action{Change: &plan.ObjectChange{Meta: plan.MetaChange{Labels: map[string]*string{"a": plan.Set("b")}}}},
			`application/merge-patch+json {"metadata":{"labels":{"a":"b"},"uid":"u"}}`,
		},
		{
			"uid and version without other metadata",
			plan.Action{ResourceVersion: "7", Change: &plan.PodChange{Images: map[string]string{"c": "i"}}},
			`application/strategic-merge-patch+json {"metadata":{"resourceVersion":"7","uid":"u"},"spec":{"containers":[{"image":"i","name":"c"}]}}`,
		},
		{
			"null metadata", plan.Action{Change: &plan.ObjectChange{}},
			`application/merge-patch+json {"metadata":{"uid":"u"}}`,
		},
		{
			"operations", plan.Action{ResourceVersion: "7", Change: jsonChange{`[{"op":"remove","path":"/spec/x"}]`}},
			`application/json-patch+json [{"op":"replace","path":"/metadata/uid","value":"u"},` +
				`{"op":"replace","path":"/metadata/resourceVersion","value":"7"},{"op":"remove","path":"/spec/x"}]`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := &bodies{}
			tt.action.Verb, tt.action.On = plan.Patch, podRef("u", "a")
			(&cluster.Executor{API: b}).Run(t.Context(), subject, []plan.Stage{{Actions: []plan.Action{tt.action}}})
			if diff := cmp.Diff([]string{tt.want}, b.got); diff != "" {
				t.Errorf("patch (-want +got):\n%s", diff)
			}
		})
	}
}

func eventLines(server *clustertest.Server) []string {
	var lines []string
	for _, obj := range server.Objects(schema.GroupKind{Kind: "Event"}) {
		e := obj.(*corev1.Event)
		lines = append(lines, fmt.Sprintf("%dx %s %s %s: %s (%s %s)", e.Count, e.Source.Component, e.Type, e.Reason, e.Message, e.InvolvedObject.APIVersion, e.InvolvedObject.Name))
	}
	return lines
}

func TestEvents(t *testing.T) {
	t.Parallel()
	about := func(name string) plan.Action {
		a := create(name)
		a.Done = &plan.Event{Type: "Normal", Reason: "SuccessfulCreate", Message: "succeed to create pod " + name}
		a.Failed = &plan.Event{Type: "Warning", Reason: "FailedCreate", Message: "pod " + name + " was not created"}
		return a
	}
	tests := []struct {
		name    string
		actions []plan.Action
		fault   clustertest.Fault
		want    []string
	}{
		{
			"success", []plan.Action{about("a")}, clustertest.None,
			[]string{"1x cloneset-controller Normal SuccessfulCreate: succeed to create pod a (apps.kruise.io/v1alpha1 web)"},
		},
		{
			"failure is completed with the reason", []plan.Action{about("a")}, clustertest.Busy,
			[]string{"1x cloneset-controller Warning FailedCreate: pod a was not created: the server asks to wait 1s: made to wait (apps.kruise.io/v1alpha1 web)"},
		},
		{"a conflict is no event", []plan.Action{about("a")}, clustertest.Conflict, nil},
		{
			"equal events are counted", []plan.Action{
				{Verb: plan.Record, Event: &plan.Event{Type: "Warning", Reason: "ScaleUpLimited", Message: "limit: 1"}},
				{Verb: plan.Record, Event: &plan.Event{Type: "Warning", Reason: "ScaleUpLimited", Message: "limit: 1"}},
			}, clustertest.None,
			[]string{"2x cloneset-controller Warning ScaleUpLimited: limit: 1 (apps.kruise.io/v1alpha1 web)"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			server := clustertest.New()
			x := &cluster.Executor{Events: cluster.NewRecorder(server, time.Now)}
			x.API = &clustertest.Faulty{API: server, Choose: func(clustertest.Call) clustertest.Fault { return tt.fault }, RetryAfter: 1}
			x.Run(t.Context(), subject, []plan.Stage{{Name: "scale", Actions: tt.actions}})
			x.Events.Flush(t.Context())
			if diff := cmp.Diff(tt.want, eventLines(server)); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEventFloodsAreCutOff(t *testing.T) {
	t.Parallel()
	server := clustertest.New()
	events := cluster.NewRecorder(server, time.Now)
	for i := range 200 {
		events.Record(subject, plan.Event{Type: "Normal", Reason: "SuccessfulCreate", Message: fmt.Sprint("succeed to create pod ", i)})
	}
	events.Flush(t.Context())
	lines := eventLines(server)
	if writes := server.Writes(); writes > 30 {
		t.Errorf("%d requests for 200 events", writes)
	}
	if all := strings.Join(lines, "\n"); !strings.Contains(all, "combined from similar events") {
		t.Errorf("similar events were not joined:\n%s", all)
	}
}

func TestEventsStopWithoutPermission(t *testing.T) {
	t.Parallel()
	var tries atomic.Int32
	api := &clustertest.Faulty{API: clustertest.New(), Choose: func(clustertest.Call) clustertest.Fault {
		tries.Add(1)
		return clustertest.Forbidden
	}}
	events := cluster.NewRecorder(api, time.Now)
	for i := range 10 {
		events.Record(subject, plan.Event{Type: "Normal", Reason: "R", Message: fmt.Sprint(i)})
		events.Flush(t.Context())
	}
	if n := tries.Load(); n != 1 {
		t.Errorf("tried %d times", n)
	}
}
