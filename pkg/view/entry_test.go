package view

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
)

// lineOf is an entry without what all have.
func lineOf(t *testing.T, e Entry) string {
	t.Helper()
	raw, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	const head = `{"apiVersion":"view.kubectl-kruise.github.io/v1","kind":"Event",`
	text, ok := strings.CutPrefix(string(raw), head)
	if !ok {
		t.Fatalf("%s does not begin with %s", raw, head)
	}
	return "{" + strings.Replace(text, `"at":"2030-01-01T12:00:00Z","subject":{"kind":"CloneSet","name":"web"}`, "HEAD", 1)
}

func TestStreamTellsWhatDiffers(t *testing.T) {
	t.Parallel()
	head := Head{At: time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC), Subject: Subject{Kind: "CloneSet", Name: "web"}}
	pod := func(name string, updated bool) plan.Verdict {
		v := plan.Verdict{Name: name, UID: types.UID(name), Updated: updated, Fate: plan.Keep, Reason: plan.ReasonPartition}
		if updated {
			v.Reason = plan.ReasonUpToDate
		}
		return v
	}
	look := func(updated int32, warnings []string, verdicts ...plan.Verdict) Planned {
		return Planned{Head: head, Plan: &plan.Plan{Verdicts: verdicts, Warnings: warnings}, Counts: Counts{Wanted: 2, Updated: updated}}
	}
	patch := plan.Action{Verb: plan.Patch, On: plan.Ref{Kind: plan.PodKind, Name: "a"}, Why: "because"}
	made := plan.Verdict{Name: "new", Fate: plan.Make, Reason: plan.ReasonScaleOut}
	counts := func(updated string) string {
		return `{"type":"progress",HEAD,"counts":{"wanted":2,"expectedUpdated":0,"replicas":0,"ready":0,"available":0,"updated":` + updated +
			`,"updatedReady":0,"updatedAvailable":0}}`
	}
	old := func(name string) string {
		return `"pod":{"name":"` + name + `","updated":false,"available":false,"fate":"keep","reason":"Partition","text":"the partition keeps it"}`
	}
	s := &Stream{}
	for _, step := range []struct {
		rule  string
		event Event
		want  []string
	}{
		{"who drives", Started{head, Driver{Kind: DriverSelf}}, []string{`{"type":"driver",HEAD,"driver":{"kind":"self"}}`}},
		{"the same driver is not told again", Started{head, Driver{Kind: DriverSelf}}, nil},
		{"the first look tells all pods that are there", look(0, []string{"w"}, pod("a", false), pod("b", false), made),
			[]string{counts("0"), `{"type":"warning",HEAD,"text":"w"}`, `{"type":"pod",HEAD,` + old("a") + `}`, `{"type":"pod",HEAD,` + old("b") + `}`}},
		{"nothing differs", look(0, []string{"w"}, pod("a", false), pod("b", false)), nil},
		{"a write", Acted{Head: head, Stage: "update", Action: patch},
			[]string{`{"type":"write",HEAD,"action":{"stage":"update","verb":"patch","kind":"Pod","name":"a","why":"because"}}`}},
		{"a failure", ActionFailed{Head: head, Stage: "update", Action: patch, Err: "no", Unknown: true},
			[]string{`{"type":"failure",HEAD,"action":{"stage":"update","verb":"patch","kind":"Pod","name":"a","why":"because"},"error":"no","unknown":true}`}},
		{"one pod differs, one is gone", look(1, nil, pod("a", true)), []string{counts("1"),
			`{"type":"pod",HEAD,"pod":{"name":"a","updated":true,"available":false,"fate":"keep","reason":"UpToDate","text":"up to date"}}`,
			`{"type":"pod",HEAD,` + old("b") + `,"gone":true}`}},
		{"a wait", Waiting{Head: head, Waits: []plan.Wait{{Reason: plan.ReasonPaused, Note: "n"}}}, []string{`{"type":"wait",HEAD,"waits":[{"reason":"Paused","text":"n"}]}`}},
		{"and its end", Waiting{Head: head}, []string{`{"type":"wait",HEAD}`}},
		{"trouble", Trouble{head, "gone"}, []string{`{"type":"trouble",HEAD,"error":"gone"}`}},
		{"launch orders that were opened", Opened{Head: head, Pods: []string{"a"}, Left: []string{"b"}},
			[]string{`{"type":"warning",HEAD,"text":"opened what was left of the launch order of 1 pod (a), ready or not: nobody would do it later"}`,
				`{"type":"warning",HEAD,"text":"could not open all of the launch order of 1 pod (b): containers wait until somebody drives"}`}},
		{"the end of one loop need not be the end", Done{Head: head}, nil},
	} {
		var got []string
		for _, e := range s.Tell(step.event) {
			got = append(got, lineOf(t, e))
		}
		if diff := cmp.Diff(step.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.rule, diff)
		}
	}
	run := &RunView{ID: "1", Batch: 1, Step: "hold"}
	if len(s.Batch(run, head.At, head.Subject)) != 1 || len(s.Batch(run, head.At, head.Subject)) != 0 {
		t.Error("a run is told once for each step")
	}
	end := lineOf(t, EndOf(&Rollout{Subject: head.Subject, Stopped: StopPaused, Detail: "d"}, head.At))
	if want := `,"end":{"done":false,"stopped":"paused","detail":"d"}}`; !strings.HasSuffix(end, want) {
		t.Errorf("%s does not end with %s", end, want)
	}
}
