package reconcile

import (
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/batch"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/budget"
)

// heldByBatch is the set with the partition that its batched run wants for its present replicas, if that keeps more pods
// than the spec says: somebody changed the replicas, and whoever carries the run has not moved the partition yet. Until
// then no more pods may be updated than the batch allows. It is nil for every other set.
func heldByBatch(set *v1beta1.CloneSet, status *v1beta1.CloneSetStatus, now time.Time) *v1beta1.CloneSet {
	text, found := set.Annotations[keys.RunAnnotation]
	block := set.Spec.UpdateStrategy.RollingUpdate
	if !found || block == nil {
		return nil
	}
	run, err := batch.Parse(text)
	if err != nil {
		return nil
	}
	replicas := ptr.Deref(set.Spec.Replicas, v1beta1.DefaultReplicas)
	partition, err := budget.Partition(block.Partition, replicas)
	if err != nil {
		return nil
	}
	d := batch.Next(batch.State{Now: now, Run: run, UpdateRevision: status.UpdateRevision, Replicas: replicas, Partition: partition,
		Updated: status.UpdatedReplicas, UpdatedAvailable: status.UpdatedAvailableReplicas})
	if d.Step != batch.Adjust || d.Partition <= partition {
		return nil
	}
	held, strategy := *set, *block
	strategy.Partition = ptr.To(intstr.FromInt32(d.Partition))
	held.Spec.UpdateStrategy.RollingUpdate = &strategy
	return &held
}
