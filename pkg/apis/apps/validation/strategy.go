package validation

import (
	"slices"
	"strconv"

	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1alpha1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
)

// strategy is what an update strategy says, whichever version says it, with
// the path of its limits.
type strategy struct {
	path                                *field.Path
	limits                              *v1beta1.RollingUpdateCloneSetStrategy // nil when nothing is said
	needsPartition, surgeless, preloads bool
	inPlaceOnly                         bool
	errs                                field.ErrorList // about type and policy
}

func betaStrategy(in v1beta1.CloneSetUpdateStrategy) strategy {
	path := field.NewPath("spec", "updateStrategy")
	types := []v1beta1.CloneSetUpdateStrategyType{
		v1beta1.RollingUpdateCloneSetUpdateStrategyType, v1beta1.OnDeleteCloneSetUpdateStrategyType,
	}
	policies := []v1beta1.PodUpdatePolicy{
		v1beta1.ReCreatePodUpdatePolicy, v1beta1.InPlaceIfPossiblePodUpdatePolicy, v1beta1.InPlaceOnlyPodUpdatePolicy,
	}
	s := strategy{path: path.Child("rollingUpdate"), limits: in.RollingUpdate, preloads: true}
	if in.Type != "" && !slices.Contains(types, in.Type) {
		s.errs = append(s.errs, field.NotSupported(path.Child("type"), in.Type, types))
	}
	if in.RollingUpdate == nil {
		return s
	}
	policy, onDelete := in.RollingUpdate.PodUpdatePolicy, in.Type == v1beta1.OnDeleteCloneSetUpdateStrategyType
	if policy != "" && !slices.Contains(policies, policy) {
		s.errs = append(s.errs, field.NotSupported(s.path.Child("podUpdatePolicy"), policy, policies))
	}
	s.needsPartition = !onDelete
	s.surgeless = policy == v1beta1.InPlaceOnlyPodUpdatePolicy
	s.inPlaceOnly = s.surgeless && !onDelete
	return s
}

func alphaStrategy(in v1alpha1.CloneSetUpdateStrategy) strategy {
	path := field.NewPath("spec", "updateStrategy")
	types := []v1alpha1.CloneSetUpdateStrategyType{
		v1alpha1.ReCreateCloneSetUpdateStrategyType, v1alpha1.InPlaceIfPossibleCloneSetUpdateStrategyType,
		v1alpha1.InPlaceOnlyCloneSetUpdateStrategyType, v1alpha1.OnDeleteCloneSetUpdateStrategyType,
	}
	s := strategy{path: path, limits: &v1beta1.RollingUpdateCloneSetStrategy{
		Partition:        in.Partition,
		MaxUnavailable:   in.MaxUnavailable,
		MaxSurge:         in.MaxSurge,
		PriorityStrategy: in.PriorityStrategy,
		ScatterStrategy:  in.ScatterStrategy,
	}}
	if !slices.Contains(types, in.Type) {
		s.errs = append(s.errs, field.NotSupported(path.Child("type"), in.Type, types))
	}
	s.needsPartition = in.Type != v1alpha1.OnDeleteCloneSetUpdateStrategyType
	s.surgeless = in.Type == v1alpha1.InPlaceOnlyCloneSetUpdateStrategyType
	s.inPlaceOnly = s.surgeless
	return s
}

func (s strategy) validate(replicas *int32) field.ErrorList {
	errs := s.errs
	if s.limits == nil {
		return errs
	}
	partition := s.path.Child("partition")
	if s.limits.Partition == nil && s.needsPartition {
		errs = append(errs, field.Required(partition, "how many pods to keep at another revision, 0 for none"))
	}
	errs = append(errs, number(s.limits.Partition, partition)...)
	errs = append(errs, s.unavailableAndSurge(replicas)...)
	errs = append(errs, priority(s.limits.PriorityStrategy, s.path.Child("priorityStrategy"))...)
	errs = append(errs, scatter(s.limits.ScatterStrategy, s.path.Child("scatterStrategy"))...)
	if s.preloads {
		errs = append(errs, preDownload(s.limits.InPlaceUpdateStrategy, s.path.Child("inPlaceUpdateStrategy"))...)
	}
	return errs
}

func (s strategy) unavailableAndSurge(replicas *int32) field.ErrorList {
	unavailable, surge := s.path.Child("maxUnavailable"), s.path.Child("maxSurge")
	errs := number(s.limits.MaxUnavailable, unavailable)
	errs = append(errs, number(s.limits.MaxSurge, surge)...)
	if len(errs) > 0 {
		return errs
	}
	surges := s.limits.MaxSurge != nil && !isZero(*s.limits.MaxSurge)
	if s.surgeless && surges {
		errs = append(errs, field.Invalid(surge, s.limits.MaxSurge.String(), "must be 0 with InPlaceOnly"))
	}
	some := replicas == nil || *replicas > 0
	if some && !surges && s.limits.MaxUnavailable != nil && isZero(*s.limits.MaxUnavailable) {
		errs = append(errs, field.Invalid(unavailable, s.limits.MaxUnavailable.String(), "must not be 0 while maxSurge is 0"))
	}
	return errs
}

func priority(in *v1beta1.UpdatePriorityStrategy, path *field.Path) field.ErrorList {
	if in == nil {
		return nil
	}
	var errs field.ErrorList
	if len(in.OrderPriority) > 0 && len(in.WeightPriority) > 0 {
		errs = append(errs, field.Forbidden(path, "has either orderPriority or weightPriority, not both"))
	}
	for i, term := range in.OrderPriority {
		if term.OrderedKey == "" {
			errs = append(errs, field.Required(path.Child("orderPriority").Index(i).Child("orderedKey"), "the key of a label"))
		}
	}
	for i, term := range in.WeightPriority {
		at := path.Child("weightPriority").Index(i)
		if term.Weight < 0 || term.Weight > 100 {
			errs = append(errs, field.Invalid(at.Child("weight"), term.Weight, "must be from 0 to 100"))
		}
		match := at.Child("matchSelector")
		if len(term.MatchSelector.MatchLabels)+len(term.MatchSelector.MatchExpressions) == 0 {
			errs = append(errs, field.Required(match, "an empty selector would match every pod"))
		}
		errs = append(errs, metav1validation.ValidateLabelSelector(&term.MatchSelector, metav1validation.LabelSelectorValidationOptions{}, match)...)
	}
	return errs
}

func scatter(terms v1beta1.UpdateScatterStrategy, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, term := range terms {
		if term.Key == "" {
			errs = append(errs, field.Required(path.Index(i).Child("key"), "the key of a label"))
		}
		if slices.Contains(terms[:i], term) {
			errs = append(errs, field.Duplicate(path.Index(i), term.Key+":"+term.Value))
		}
	}
	return errs
}

func preDownload(in *v1beta1.InPlaceUpdateStrategy, path *field.Path) field.ErrorList {
	if in == nil {
		return nil
	}
	var errs field.ErrorList
	if value := in.ImagePreDownloadParallelism; value != nil {
		count := int(value.IntVal)
		var err error
		if value.Type == intstr.String {
			count, err = strconv.Atoi(value.StrVal)
		}
		if err != nil || count < 0 {
			errs = append(errs, field.Invalid(path.Child("imagePreDownloadParallelism"), value.String(), "must be a number of 0 or more, not a percentage"))
		}
	}
	errs = append(errs, notNegative(in.ImagePreDownloadTimeoutSeconds, path.Child("imagePreDownloadTimeoutSeconds"))...)
	return append(errs, notNegative(in.ImagePreDownloadMinUpdatedReadyPods, path.Child("imagePreDownloadMinUpdatedReadyPods"))...)
}
