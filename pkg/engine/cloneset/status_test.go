package cloneset

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
)

func TestStatusChange(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		from, to v1beta1.CloneSetStatus
		want     map[string]any
	}{
		{"the first status has every required field", v1beta1.CloneSetStatus{}, v1beta1.CloneSetStatus{UpdateRevision: "a"},
			map[string]any{"updateRevision": "a", "replicas": 0.0, "readyReplicas": 0.0, "availableReplicas": 0.0, "updatedReplicas": 0.0,
				"updatedReadyReplicas": 0.0, "updatedAvailableReplicas": 0.0}},
		{"what is gone is null", v1beta1.CloneSetStatus{UpdateRevision: "a", Conditions: []v1beta1.CloneSetCondition{{Type: "FailedUpdate"}}},
			v1beta1.CloneSetStatus{UpdateRevision: "a"}, map[string]any{"conditions": nil}},
		{"what stays is not sent", v1beta1.CloneSetStatus{LabelSelector: "app=web", ObservedGeneration: 1},
			v1beta1.CloneSetStatus{LabelSelector: "app=web", ObservedGeneration: 2}, map[string]any{"observedGeneration": 2.0}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			body, err := (&StatusChange{From: tt.from, To: tt.to}).Body()
			if err != nil {
				t.Fatal(err)
			}
			var got map[string]map[string]any
			if err := json.Unmarshal(body, &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got["status"]); diff != "" {
				t.Errorf("patch (-want +got):\n%s", diff)
			}
		})
	}
}

// A patch has the whole list of conditions: with it, the write is bound to the version that was judged.
func TestStatusIsBoundToItsVersionWhenConditionsChange(t *testing.T) {
	t.Parallel()
	s := newStage(t, 2)
	s.settle()
	s.change(replicas(3))
	for _, c := range []struct {
		rule     string
		failures []Failure
		want     string
	}{
		{"the numbers alone", nil, ""},
		{"a condition", []Failure{{Stage: StageScale, Message: "no"}}, s.w.Set.ResourceVersion},
	} {
		w := s.w
		w.Failures = c.failures
		p, err := Decide(w)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range p.Actions() {
			if a.Subresource == plan.StatusSubresource && a.On.Kind == plan.CloneSetKind && a.ResourceVersion != c.want {
				t.Errorf("%s: the status is bound to version %q, want %q", c.rule, a.ResourceVersion, c.want)
			}
		}
	}
}
