package validation

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1alpha1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/features"
)

// PodLookup finds a pod of the workload's namespace by name; nil when there is
// none. A caller that cannot look pods up passes a nil PodLookup, and names in
// podsToDelete are then taken as they are.
type PodLookup func(name string) *corev1.Pod

// CloneSetCreate judges a new CloneSet.
func CloneSetCreate(set *v1beta1.CloneSet, pods PodLookup) field.ErrorList {
	return create(set, betaStrategy(set.Spec.UpdateStrategy), pods)
}

// CloneSetUpdate judges a change of a CloneSet.
func CloneSetUpdate(set, old *v1beta1.CloneSet, pods PodLookup, gates features.Gates) field.ErrorList {
	return update(set, old, betaStrategy(set.Spec.UpdateStrategy), pods, gates)
}

// CloneSetDelete is an error when the set is protected from deletion.
func CloneSetDelete(set *v1beta1.CloneSet, gates features.Gates) error {
	replicas := v1beta1.DefaultReplicas
	if set.Spec.Replicas != nil {
		replicas = *set.Spec.Replicas
	}
	return deletion(&set.ObjectMeta, replicas, gates)
}

// AlphaCloneSetCreate is CloneSetCreate for v1alpha1.
func AlphaCloneSetCreate(set *v1alpha1.CloneSet, pods PodLookup) field.ErrorList {
	return create(v1alpha1.CloneSetToHub(set), alphaStrategy(set.Spec.UpdateStrategy), pods)
}

// AlphaCloneSetUpdate is CloneSetUpdate for v1alpha1.
func AlphaCloneSetUpdate(set, old *v1alpha1.CloneSet, pods PodLookup, gates features.Gates) field.ErrorList {
	return update(v1alpha1.CloneSetToHub(set), v1alpha1.CloneSetToHub(old), alphaStrategy(set.Spec.UpdateStrategy), pods, gates)
}

// AlphaCloneSetDelete is CloneSetDelete for v1alpha1.
func AlphaCloneSetDelete(set *v1alpha1.CloneSet, gates features.Gates) error {
	return CloneSetDelete(v1alpha1.CloneSetToHub(set), gates)
}

// create judges the fields that stand at the same place in both versions from
// set, and the update strategy from its own version.
func create(set *v1beta1.CloneSet, s strategy, pods PodLookup) field.ErrorList {
	errs := apivalidation.ValidateObjectMeta(&set.ObjectMeta, true, apivalidation.NameIsDNSSubdomain, field.NewPath("metadata"))
	errs = append(errs, cloneSetSpec(set, s)...)
	return append(errs, addedPodsToDelete(set, nil, pods)...)
}

func update(set, old *v1beta1.CloneSet, s strategy, pods PodLookup, gates features.Gates) field.ErrorList {
	errs := apivalidation.ValidateObjectMetaUpdate(&set.ObjectMeta, &old.ObjectMeta, field.NewPath("metadata"))
	errs = append(errs, apivalidation.ValidateImmutableField(set.Spec.Selector, old.Spec.Selector, field.NewPath("spec", "selector"))...)
	errs = append(errs, cloneSetSpec(set, s)...)
	if s.inPlaceOnly {
		errs = append(errs, inPlaceOnly(&set.Spec.Template, &old.Spec.Template, gates)...)
	}
	return append(errs, addedPodsToDelete(set, old.Spec.ScaleStrategy.PodsToDelete, pods)...)
}

func cloneSetSpec(set *v1beta1.CloneSet, s strategy) field.ErrorList {
	path, spec := field.NewPath("spec"), &set.Spec
	errs := notNegative(spec.Replicas, path.Child("replicas"))
	errs = append(errs, selector(spec.Selector, &spec.Template, path)...)
	errs = append(errs, template(&spec.Template, path.Child("template"))...)
	errs = append(errs, claimTemplates(spec.VolumeClaimTemplates, path.Child("volumeClaimTemplates"))...)
	errs = append(errs, podsToDelete(spec.ScaleStrategy.PodsToDelete, path.Child("scaleStrategy", "podsToDelete"))...)
	errs = append(errs, number(spec.ScaleStrategy.MaxUnavailable, path.Child("scaleStrategy", "maxUnavailable"))...)
	errs = append(errs, s.validate(spec.Replicas)...)
	return append(errs, progressDeadline(spec, path.Child("progressDeadlineSeconds"))...)
}

func progressDeadline(spec *v1beta1.CloneSetSpec, path *field.Path) field.ErrorList {
	deadline := spec.ProgressDeadlineSeconds
	switch {
	case deadline == nil || *deadline == v1beta1.NoProgressDeadline:
		return nil
	case *deadline < 0:
		return notNegative(deadline, path)
	case *deadline <= spec.MinReadySeconds:
		return field.ErrorList{field.Invalid(path, *deadline, fmt.Sprintf("must be greater than minReadySeconds (%d)", spec.MinReadySeconds))}
	default:
		return nil
	}
}

func podsToDelete(names []string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	seen := make(map[string]bool, len(names))
	for i, name := range names {
		if seen[name] {
			errs = append(errs, field.Duplicate(path.Index(i), name))
		}
		seen[name] = true
	}
	return errs
}

// addedPodsToDelete judges the names that the old list lacks: one that stood
// there before may be gone by now.
func addedPodsToDelete(set *v1beta1.CloneSet, old []string, pods PodLookup) field.ErrorList {
	if pods == nil {
		return nil
	}
	path := field.NewPath("spec", "scaleStrategy", "podsToDelete")
	var errs field.ErrorList
	for i, name := range set.Spec.ScaleStrategy.PodsToDelete {
		if slices.Contains(old, name) {
			continue
		}
		pod := pods(name)
		switch {
		case pod == nil:
			errs = append(errs, field.Invalid(path.Index(i), name, "there is no such pod"))
		case pod.DeletionTimestamp != nil:
			errs = append(errs, field.Invalid(path.Index(i), name, "the pod is already being deleted"))
		case !metav1.IsControlledBy(pod, set):
			errs = append(errs, field.Invalid(path.Index(i), name, "the pod is not controlled by this CloneSet"))
		}
	}
	return errs
}
