package view

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/sim/estimate"
)

func textOf(lines []Line) string {
	var list []string
	for _, l := range lines {
		list = append(list, l.Text)
	}
	return strings.Join(list, "\n")
}

func TestOutlookText(t *testing.T) {
	t.Parallel()
	diffs, err := DiffJSON([]byte(`{"spec":{"containers":[{"name":"nginx","image":"nginx:1.26"}]}}`), []byte(`{"spec":{"containers":[{"name":"nginx","image":"nginx:1.27"}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	o := &Outlook{From: "web-7cb9c88699", To: "web-6599fc6cdd", New: true, Template: diffs,
		Changes:  []Change{{Field: "image nginx", From: "nginx:1.26", To: "nginx:1.27"}, {Field: "partition", From: "0", To: "80%"}},
		Watchers: []Watcher{{Kind: "hpa", Name: "web", Note: "min 8"}, {Kind: "pdb", Name: "web", Note: "allows 2"}}, Driver: Driver{Kind: DriverNone}}
	o.SetEstimate(&estimate.Estimate{Total: 12 * time.Second, Batches: []estimate.Batch{
		{Goal: 1, InPlace: []string{"a"}, Worst: 1, Took: 2 * time.Second},
		{Goal: 10, InPlace: []string{"b"}, Recreated: []string{"c", "d"}, Worst: 2, Took: 70 * time.Second}}}, 10)
	want := `revision  web-7cb9c88699 -> web-6599fc6cdd (new)
template  spec.containers[nginx].image  nginx:1.26 -> nginx:1.27
change    partition 0 -> 80%
batch  pods  way                      at worst unavailable  about
1      1     in place                 1 of 10               2s
2      3     1 in place, 2 recreated  2 of 10               1m10s
watched by  hpa/web (min 8), pdb/web (allows 2)
driver    nobody drives; pods move when a rollout or reconcile runs
4 pods change, 2 of them recreated; nothing written`
	if diff := cmp.Diff(want, textOf(o.Text())); diff != "" {
		t.Error(diff)
	}
	nothing := &Outlook{From: "web-a", To: "web-a", Driver: Driver{Kind: DriverNone}}
	nothing.SetEstimate(&estimate.Estimate{Batches: []estimate.Batch{{Goal: 3}}}, 3)
	if nothing.Differs() {
		t.Error("an outlook without changes differs")
	}
	if got := textOf(nothing.Text()); !strings.HasSuffix(got, "\nnothing to do; nothing written") {
		t.Error(got)
	}
}

func TestReasonsText(t *testing.T) {
	t.Parallel()
	now := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	p := &plan.Plan{
		Verdicts: []plan.Verdict{
			{Name: "web-a", Updated: true, Available: true, Fate: plan.Keep, Reason: plan.ReasonUpToDate},
			{Name: "web-b", Updated: true, Available: true, Fate: plan.Keep, Reason: plan.ReasonUpToDate},
			{Name: "web-9qk7d", Updated: true, Fate: plan.Hold, Reason: plan.ReasonNotReady, Since: now.Add(-192 * time.Second)},
			{Name: "web-x2b5n", Available: true, Fate: plan.Hold, Reason: plan.ReasonMaxUnavailable},
			{Name: "web-c", Available: true, Fate: plan.Keep, Reason: plan.ReasonPartition},
			{Name: "web-new", Fate: plan.Make, Reason: plan.ReasonScaleOut},
			{Name: "web-d", Available: true, Fate: plan.Recreate, Reason: plan.ReasonRevision, Note: "spec.containers[0].env: added"},
		},
		Waits: []plan.Wait{{Reason: plan.ReasonMaxUnavailable, Names: []string{"web-9qk7d"}, Note: "maxUnavailable 1 is used up, 1 pod to update"}},
	}
	driver := Driver{Kind: DriverVerb, Holder: "kubectl-kruise/ops@laptop/x", Lease: "default/web", Renewed: now.Add(-2 * time.Second)}
	r := NewReasons(Planned{Head: Head{At: now}, Plan: p}, driver, map[string]string{"web-9qk7d": "readiness probe failed: HTTP 503"}, "")
	want := `2 pods  updated, ready                             nothing more to do
1 pod   web-9qk7d  updated, not ready for 3m12s    readiness probe failed: HTTP 503
1 pod   web-d  old, ready                          next: it is recreated: spec.containers[0].env: added
1 pod   web-x2b5n  old, ready                      waits: maxUnavailable 1 is used up by web-9qk7d
1 pod   web-c  old, ready                          stays: the partition keeps it
held by ops@laptop (lease default/web, renewed 2s ago)`
	strip := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	if diff := cmp.Diff(strip(want), strip(textOf(r.Text()))); diff != "" {
		t.Errorf("%s\n%s", diff, textOf(r.Text()))
	}
	if one := NewReasons(Planned{Head: Head{At: now}, Plan: p}, driver, nil, "web-c"); len(one.Groups) != 1 || one.Groups[0].Pods[0] != "web-c" {
		t.Errorf("asked for web-c, got %+v", one.Groups)
	}
}

func TestHistoryText(t *testing.T) {
	t.Parallel()
	now := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	h := &History{At: now, Revisions: []RevisionView{
		{Number: 2, Name: "web-b", Update: true, Pods: 2, Created: now.Add(-5 * time.Second), Images: []string{"nginx=nginx:1.27", "agent=agent:1"}},
		{Number: 1, Name: "web-a", Current: true, Pods: 8, Created: now.Add(-9 * 24 * time.Hour), Images: []string{"nginx=nginx:1.26"}, Cause: "first"},
	}}
	want := `revision  name   pods  age  images                           note
2         web-b  2     5s   nginx=nginx:1.27, agent=agent:1  update
1         web-a  8     9d   nginx=nginx:1.26                 current, first`
	if diff := cmp.Diff(want, textOf(h.Text())); diff != "" {
		t.Error(diff)
	}
	h.Diff = &RevisionDiff{From: RevisionRef{1, "web-a"}, To: RevisionRef{2, "web-b"}}
	if diff := cmp.Diff("web-a (1) -> web-b (2)\nthe templates are the same", textOf(h.Text())); diff != "" {
		t.Error(diff)
	}
}
