package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/features"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/podtemplate"
)

// SetCloneSetDefaults fills in the unset fields of the spec apart from its
// templates (cloneset.md 13.1 items 1 and 3).
func SetCloneSetDefaults(set *CloneSet) {
	spec, strategy := &set.Spec, &set.Spec.UpdateStrategy
	if spec.Replicas == nil {
		spec.Replicas = ptr.To(v1beta1.DefaultReplicas)
	}
	if spec.RevisionHistoryLimit == nil {
		spec.RevisionHistoryLimit = ptr.To(v1beta1.DefaultRevisionHistoryLimit)
	}
	if strategy.Type == "" {
		strategy.Type = ReCreateCloneSetUpdateStrategyType
	}
	if strategy.Partition == nil {
		strategy.Partition = ptr.To(intstr.FromInt32(v1beta1.DefaultPartition))
	}
	if strategy.MaxUnavailable == nil {
		strategy.MaxUnavailable = ptr.To(intstr.FromString(v1beta1.DefaultMaxUnavailable))
	}
	if strategy.MaxSurge == nil {
		strategy.MaxSurge = ptr.To(intstr.FromInt32(v1beta1.DefaultMaxSurge))
	}
	inPlace := strategy.Type == InPlaceIfPossibleCloneSetUpdateStrategyType ||
		strategy.Type == InPlaceOnlyCloneSetUpdateStrategyType
	if inPlace && strategy.InPlaceUpdateStrategy == nil {
		strategy.InPlaceUpdateStrategy = &v1beta1.InPlaceUpdateStrategy{}
	}
}

// SetCloneSetAdmissionDefaults is what admission writes: SetCloneSetDefaults,
// and on create (old is nil) or when the template differs from the old one,
// the defaults of the template and the claim templates.
func SetCloneSetAdmissionDefaults(set, old *CloneSet, gates features.Gates) {
	SetCloneSetDefaults(set)
	if old == nil || !equality.Semantic.DeepEqual(set.Spec.Template, old.Spec.Template) {
		podtemplate.SetAdmissionDefaults(&set.Spec.Template, set.Spec.VolumeClaimTemplates, gates)
	}
}
