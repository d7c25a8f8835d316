package view

import (
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
