package view

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
)

func snapshot() *Rollout {
	since := start.Add(-time.Minute)
	p := look(0, with(counts, 1, 0),
		pod("web-ccccc", plan.Keep, plan.ReasonPartition, false, true, ""),
		pod("web-bbbbb", plan.Keep, plan.ReasonPartition, false, true, ""),
		plan.Verdict{Name: "web-aaaaa", UID: "a", Revision: "6599fc6cdd", Updated: true, Fate: plan.Hold, Reason: plan.ReasonNotReady,
			Note: "nginx: CrashLoopBackOff: exit 1\n\x1b[31m", Since: since},
		plan.Verdict{Name: "web-zzzzz", Fate: plan.Make, Reason: plan.ReasonScaleOut})
	p.Plan.Waits = []plan.Wait{{Reason: plan.ReasonMaxUnavailable, Names: []string{"web-aaaaa"}, Note: "maxUnavailable 1 is used up", Since: since}}
	p.Plan.Warnings = []string{"3 pods stay updated"}
	return NewRollout(p, Driver{Kind: DriverVerb, Holder: "kubectl-kruise/ops@laptop/x", Lease: "shop/kubectl-kruise-cloneset-web", Since: since})
}

func texts(lines []Line) string {
	var list []string
	for _, l := range lines {
		list = append(list, l.Text)
	}
	return strings.Join(list, "\n") + "\n"
}

func TestStatusGroupsPodsThatAreAlike(t *testing.T) {
	t.Parallel()
	want := `cloneset/web in shop: 1 of 2 updated, 0 of them available at web-6599fc6cdd (partition 80%)
ops@laptop drives (lease shop/kubectl-kruise-cloneset-web)
waiting: maxUnavailable 1 is used up (web-aaaaa)
warning: 3 pods stay updated
   1 pod  web-aaaaa  updated, not available  not ready: nginx: CrashLoopBackOff: exit 1 \u001b[31m
  2 pods  web-bbbbb, web-ccccc  old, available  the partition keeps it
`
	if diff := cmp.Diff(want, texts(snapshot().WithoutPlans().Text())); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestPreviewTellsWhatWouldBeDoneNow(t *testing.T) {
	t.Parallel()
	p := look(0, counts, pod("web-aaaaa", plan.Recreate, plan.ReasonRevision, false, true, "spec.template.spec.containers[0].command"),
		pod("web-bbbbb", plan.Hold, plan.ReasonMaxUnavailable, false, true, ""))
	p.Plan.Waits = []plan.Wait{{Reason: plan.ReasonMaxUnavailable, Note: "maxUnavailable 1 is used up"}}
	want := `  web-aaaaa  to recreate   at another revision than wanted: spec.template.spec.containers[0].command
  waiting: maxUnavailable 1 is used up
1 pod of 2 would be changed now; nothing written
`
	if diff := cmp.Diff(want, texts(NewRollout(p, Driver{Kind: DriverNone}).Preview())); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestVersionText(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		version Version
		want    string
	}{
		"the client alone": {Version{Client: Build{Version: "v1.2.3", Commit: "0123456789abcdef", Go: "go1.26", Platform: "linux/amd64"}},
			"client  v1.2.3 (0123456789ab) go1.26 linux/amd64\n"},
		"a cluster without the kinds": {Version{Client: Build{Version: "v1"}, Server: "v1.37.2", Namespace: "shop", Driver: &Driver{Kind: DriverNone}},
			"client  v1  \nserver  v1.37.2\nserves  no kind of OpenKruise; next: kubectl kruise install --crds-only\ndriver  nobody drives; pods move when a rollout or reconcile runs (namespace shop)\n"},
		"a cluster with OpenKruise": {Version{Client: Build{Version: "v1"}, Server: "v1.37.2", Served: []ServedVersion{{"apps.kruise.io/v1beta1", []string{"clonesets", "sidecarsets"}}}},
			"client  v1  \nserver  v1.37.2\nserves  apps.kruise.io/v1beta1: clonesets, sidecarsets\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, test.version.Text()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestLimitsOfASpecThatSaysNothingAreTheDefaults(t *testing.T) {
	t.Parallel()
	want := Limits{Type: "ReCreate", Partition: "0", MaxUnavailable: "20%", MaxSurge: "0"}
	if diff := cmp.Diff(want, LimitsOf(&v1beta1.CloneSet{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	onDelete := &v1beta1.CloneSet{}
	onDelete.Spec.UpdateStrategy.Type = v1beta1.OnDeleteCloneSetUpdateStrategyType
	if got := LimitsOf(onDelete).Type; got != "OnDelete" {
		t.Errorf("type %q, want OnDelete", got)
	}
}

func TestChangesInWords(t *testing.T) {
	t.Parallel()
	tests := map[string]Change{
		"image nginx: nginx:1.26 -> nginx:1.27": {Field: "image nginx", From: "nginx:1.26", To: "nginx:1.27"},
		"partition 0, the default until now":    {Field: "partition", From: "0", To: "0"},
		"partition 0 -> 80%":                    {Field: "partition", From: "0", To: "80%"},
	}
	for want, change := range tests {
		if got := change.Sentence(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// The document is what users of the JSON build on: it names every field, and no field that is not there.
func TestTheDocumentNamesTheFieldsOfTheJSONForms(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/views.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	for line := range strings.SplitSeq(string(text), "\n") {
		if rest, ok := strings.CutPrefix(line, "| `"); ok {
			field, _, _ := strings.Cut(rest, "`")
			documented[field] = true
		}
	}
	fields := map[string]bool{}
	for kind, v := range map[string]any{"Rollout": Rollout{}, "Version": Version{}, "Outlook": Outlook{}, "Reasons": Reasons{}, "History": History{}, "Event": Entry{}, "Check": Check{}, "LaunchOrder": LaunchOrder{}} {
		collect(fields, kind, reflect.TypeOf(v))
	}
	if diff := cmp.Diff(fields, documented); diff != "" {
		t.Errorf("docs/views.md (-fields +documented):\n%s", diff)
	}
}

// collect names the JSON fields of a struct: Rollout.pods[].name.
func collect(fields map[string]bool, path string, typ reflect.Type) {
	switch typ.Kind() {
	case reflect.Pointer:
		collect(fields, path, typ.Elem())
		return
	case reflect.Slice:
		if typ.Elem().Kind() == reflect.Struct {
			collect(fields, path+"[]", typ.Elem())
		}
		return
	}
	if typ.Kind() != reflect.Struct || typ == reflect.TypeFor[time.Time]() {
		return
	}
	for i := range typ.NumField() {
		f := typ.Field(i)
		if f.Anonymous {
			collect(fields, path, f.Type)
			continue
		}
		if !f.IsExported() {
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		fields[path+"."+name] = true
		collect(fields, path+"."+name, f.Type)
	}
}

func TestARolloutSurvivesItsJSONForm(t *testing.T) {
	t.Parallel()
	want := snapshot()
	raw, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	got := &Rollout{}
	if err := json.Unmarshal(raw, got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
