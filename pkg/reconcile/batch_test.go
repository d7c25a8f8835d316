package reconcile_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/batch"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/reconcile"
)

// Replicas that change in the middle of a batch, while nobody is there to move the partition, let no more pods be updated
// than the batch allows. A run that is about another template holds nothing.
func TestReplicasFromOutsideStayWithinTheBatch(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		batches []string
		other   bool
		want    int
	}{
		"a batch of one pod":        {batches: []string{"1", "100%"}, want: 1},
		"a batch of a quarter":      {batches: []string{"25%", "100%"}, want: 2},
		"a run to another revision": {batches: []string{"1", "100%"}, other: true, want: 5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				w := newWorld(t, web("web", 4))
				s := w.session("laptop/1")
				if result := w.drive(t.Context(), s, "web", reconcile.RunOptions{}); !result.Reached {
					t.Fatalf("not created: %+v", result)
				}
				w.edit("web", func(set *v1beta1.CloneSet) {
					image("app:2")(set)
					set.Spec.UpdateStrategy.RollingUpdate.Partition = ptr.To(intstr.FromInt32(3))
				})
				result := w.drive(t.Context(), s, "web", reconcile.RunOptions{})
				if !result.Reached {
					t.Fatalf("first batch: %+v", result)
				}
				run := batch.Run{ID: "1", TargetRevision: result.Last.Counts.UpdateRevision, Batches: c.batches, Batch: 1, Version: batch.Version,
					Replicas: 4, Partition: 3}
				if c.other {
					run.TargetRevision = "web-other"
				}
				text, err := run.Encode()
				if err != nil {
					t.Fatal(err)
				}
				w.edit("web", func(set *v1beta1.CloneSet) {
					set.Annotations = map[string]string{keys.RunAnnotation: text}
					set.Spec.Replicas = ptr.To[int32](8)
				})
				if result := w.drive(t.Context(), s, "web", reconcile.RunOptions{}); !result.Reached {
					t.Fatalf("more replicas: %+v", result)
				}
				updated := 0
				for state, n := range w.tally("web") {
					if state[:5] == "app:2" {
						updated += n
					}
				}
				if all := len(w.server.Objects(plan.PodKind)); updated != c.want || all != 8 {
					t.Errorf("%d of %d pods are updated, want %d of 8", updated, all, c.want)
				}
			})
		})
	}
}
