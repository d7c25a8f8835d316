package v1beta1

import (
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/features"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/podtemplate"
)

// SetCloneSetDefaults fills in the unset fields of the spec apart from its
// templates (cloneset.md 13.1 items 1 and 4). Planners apply it to their own
// copy; the result is never written back. The rollingUpdate block of an
// OnDelete set is left alone.
func SetCloneSetDefaults(set *CloneSet) {
	spec := &set.Spec
	if spec.Replicas == nil {
		spec.Replicas = ptr.To(DefaultReplicas)
	}
	if spec.RevisionHistoryLimit == nil {
		spec.RevisionHistoryLimit = ptr.To(DefaultRevisionHistoryLimit)
	}
	if spec.UpdateStrategy.Type == "" {
		spec.UpdateStrategy.Type = RollingUpdateCloneSetUpdateStrategyType
	}
	if spec.UpdateStrategy.Type == RollingUpdateCloneSetUpdateStrategyType {
		if spec.UpdateStrategy.RollingUpdate == nil {
			spec.UpdateStrategy.RollingUpdate = &RollingUpdateCloneSetStrategy{}
		}
		setRollingUpdateDefaults(spec.UpdateStrategy.RollingUpdate)
	}
}

func setRollingUpdateDefaults(rolling *RollingUpdateCloneSetStrategy) {
	if rolling.PodUpdatePolicy == "" {
		rolling.PodUpdatePolicy = ReCreatePodUpdatePolicy
	}
	if rolling.Partition == nil {
		rolling.Partition = ptr.To(intstr.FromInt32(DefaultPartition))
	}
	if rolling.MaxUnavailable == nil {
		rolling.MaxUnavailable = ptr.To(intstr.FromString(DefaultMaxUnavailable))
	}
	if rolling.MaxSurge == nil {
		rolling.MaxSurge = ptr.To(intstr.FromInt32(DefaultMaxSurge))
	}
	inPlace := rolling.PodUpdatePolicy == InPlaceIfPossiblePodUpdatePolicy ||
		rolling.PodUpdatePolicy == InPlaceOnlyPodUpdatePolicy
	if inPlace && rolling.InPlaceUpdateStrategy == nil {
		rolling.InPlaceUpdateStrategy = &InPlaceUpdateStrategy{}
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
