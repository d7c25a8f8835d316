package view

import (
	"strings"
	"testing"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
)

func TestWay(t *testing.T) {
	t.Parallel()
	recreated := []plan.Verdict{{Name: "a", Fate: plan.Hold}, {Name: "b", Fate: plan.Recreate, Note: "spec.containers[0].command: no change in place"}}
	for _, tt := range []struct {
		name, policy, want string
		verdicts           []plan.Verdict
	}{
		{"by the policy", "InPlaceIfPossible", "in place", nil},
		{"the field that forces a recreate is named", "InPlaceIfPossible", "by recreating (spec.containers[0].command: no change in place)", recreated},
		{"always recreated", "ReCreate", "by recreating", []plan.Verdict{{Fate: plan.Recreate}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := way(tt.policy, tt.verdicts); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// A pod that goes back is not counted among those that go forward.
func TestAPodThatGoesBackIsNoProgress(t *testing.T) {
	t.Parallel()
	for reason, want := range map[plan.Reason]string{
		plan.ReasonRevision: "in place      3 of 4", plan.ReasonRollback: "in place      back to the current revision",
	} {
		n := &Narrator{Prefix: " "}
		head := Head{Subject: Subject{Name: "web"}}
		n.Tell(Planned{Head: head, Plan: &plan.Plan{Verdicts: []plan.Verdict{{Name: "web-a", UID: "a", Fate: plan.UpdateInPlace, Reason: reason}}},
			Counts: Counts{Updated: 2, ExpectedUpdated: 4}})
		lines := n.Tell(Acted{Head: head, Action: plan.Action{Verb: plan.Patch, On: plan.Ref{Kind: plan.PodKind, Name: "web-a", UID: "a"}}})
		if len(lines) != 1 || !strings.HasSuffix(lines[0].Text, want) {
			t.Errorf("%s: %+v, want %q", reason, lines, want)
		}
	}
}
