package cloneset

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
)

func TestStatusPatches(t *testing.T) {
	t.Parallel()
	written := v1beta1.CloneSetStatus{ObservedGeneration: 1, Replicas: 3, UpdateRevision: "web-a"}
	tests := map[string]struct {
		from, to v1beta1.CloneSetStatus
		want     string
	}{
		"the first status has every required counter": {v1beta1.CloneSetStatus{}, written,
			`{"status":{"availableReplicas":0,"observedGeneration":1,"readyReplicas":0,"replicas":3,"updateRevision":"web-a","updatedAvailableReplicas":0,"updatedReadyReplicas":0,"updatedReplicas":0}}`},
		"a later one has what differs": {written, v1beta1.CloneSetStatus{ObservedGeneration: 1, Replicas: 2},
			`{"status":{"replicas":2,"updateRevision":null}}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := (&StatusChange{From: test.from, To: test.to}).Body()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, string(got)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
