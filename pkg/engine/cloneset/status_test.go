package cloneset

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
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
