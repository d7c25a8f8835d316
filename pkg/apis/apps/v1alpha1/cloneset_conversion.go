package v1alpha1

import (
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
)

// The conversions below lose nothing that either version can say (cloneset.md
// 3). What has a field in one version alone lives in labels and annotations of
// the other:
//
//	v1beta1 field                      on v1alpha1
//	excludePreparingDelete             label keys.ExcludePreparingDeleteLabel
//	imagePreDownload*                  annotations keys.ImagePreDownload*
//	rollingUpdate block of OnDelete    the fields, keys.OnDeletePolicyAnnotation
//	                                   with the policy
//
//	v1alpha1 field                     on v1beta1
//	update strategy fields of OnDelete keys.OnDeleteStrategyAnnotation
//
// Two spellings of one meaning come back as the common one: an empty or
// unknown type as its default, a parallelism such as "5" in quotes as the
// number, and pre-download values of v1alpha1 fields as annotations. An
// inPlaceUpdateStrategy without content stays one, which OpenKruise drops: a
// write of the status through v1alpha1 would change the spec.

// CloneSetToHub converts to v1beta1. The result shares no memory with its
// argument.
func CloneSetToHub(in *CloneSet) *v1beta1.CloneSet {
	in = in.DeepCopy()
	out := &v1beta1.CloneSet{
		ObjectMeta: in.ObjectMeta,
		Spec: v1beta1.CloneSetSpec{
			Replicas:                in.Spec.Replicas,
			Selector:                in.Spec.Selector,
			Template:                in.Spec.Template,
			VolumeClaimTemplates:    in.Spec.VolumeClaimTemplates,
			RevisionHistoryLimit:    in.Spec.RevisionHistoryLimit,
			MinReadySeconds:         in.Spec.MinReadySeconds,
			Lifecycle:               in.Spec.Lifecycle,
			ProgressDeadlineSeconds: in.Spec.ProgressDeadlineSeconds,
			ScaleStrategy: v1beta1.CloneSetScaleStrategy{
				PodsToDelete:           in.Spec.ScaleStrategy.PodsToDelete,
				MaxUnavailable:         in.Spec.ScaleStrategy.MaxUnavailable,
				EnablePVCReuse:         !in.Spec.ScaleStrategy.DisablePVCReuse,
				ExcludePreparingDelete: in.Labels[keys.ExcludePreparingDeleteLabel] == "true",
			},
		},
		Status: in.Status,
	}
	out.SetGroupVersionKind(v1beta1.SchemeGroupVersion.WithKind(v1beta1.CloneSetKind))
	out.Spec.UpdateStrategy = strategyToHub(in.Spec.UpdateStrategy, out)
	return out
}

// CloneSetFromHub converts from v1beta1. The result shares no memory with its
// argument.
func CloneSetFromHub(in *v1beta1.CloneSet) *CloneSet {
	in = in.DeepCopy()
	out := &CloneSet{
		ObjectMeta: in.ObjectMeta,
		Spec: CloneSetSpec{
			Replicas:                in.Spec.Replicas,
			Selector:                in.Spec.Selector,
			Template:                in.Spec.Template,
			VolumeClaimTemplates:    in.Spec.VolumeClaimTemplates,
			RevisionHistoryLimit:    in.Spec.RevisionHistoryLimit,
			MinReadySeconds:         in.Spec.MinReadySeconds,
			Lifecycle:               in.Spec.Lifecycle,
			ProgressDeadlineSeconds: in.Spec.ProgressDeadlineSeconds,
			ScaleStrategy: CloneSetScaleStrategy{
				PodsToDelete:    in.Spec.ScaleStrategy.PodsToDelete,
				MaxUnavailable:  in.Spec.ScaleStrategy.MaxUnavailable,
				DisablePVCReuse: !in.Spec.ScaleStrategy.EnablePVCReuse,
			},
		},
		Status: in.Status,
	}
	out.SetGroupVersionKind(SchemeGroupVersion.WithKind(v1beta1.CloneSetKind))
	if in.Spec.ScaleStrategy.ExcludePreparingDelete {
		put(&out.Labels, keys.ExcludePreparingDeleteLabel, "true")
	} else if out.Labels[keys.ExcludePreparingDeleteLabel] == "true" {
		delete(out.Labels, keys.ExcludePreparingDeleteLabel)
	}
	out.Spec.UpdateStrategy = strategyFromHub(in.Spec.UpdateStrategy, out)
	return out
}
