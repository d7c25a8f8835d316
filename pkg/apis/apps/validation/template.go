package validation

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// selector judges spec.selector and that the template's pods stay owned.
func selector(in *metav1.LabelSelector, template *corev1.PodTemplateSpec, spec *field.Path) field.ErrorList {
	path := spec.Child("selector")
	if in == nil {
		return field.ErrorList{field.Required(path, "which pods belong to the workload")}
	}
	if len(in.MatchLabels)+len(in.MatchExpressions) == 0 {
		return field.ErrorList{field.Invalid(path, "", "must not be empty: it would match every pod")}
	}
	errs := metav1validation.ValidateLabelSelector(in, metav1validation.LabelSelectorValidationOptions{}, path)
	if len(errs) > 0 {
		return errs
	}
	matcher, err := metav1.LabelSelectorAsSelector(in)
	if err != nil {
		return field.ErrorList{field.Invalid(path, metav1.FormatLabelSelector(in), err.Error())}
	}
	if !matcher.Matches(labels.Set(template.Labels)) {
		return field.ErrorList{field.Invalid(spec.Child("template", "metadata", "labels"), template.Labels,
			fmt.Sprintf("must match the selector %s", matcher))}
	}
	return nil
}

// template judges what the API server does not say about a pod made from it.
func template(in *corev1.PodTemplateSpec, path *field.Path) field.ErrorList {
	meta, spec := path.Child("metadata"), path.Child("spec")
	errs := metav1validation.ValidateLabels(in.Labels, meta.Child("labels"))
	errs = append(errs, apivalidation.ValidateAnnotations(in.Annotations, meta.Child("annotations"))...)
	if policy := in.Spec.RestartPolicy; policy != "" && policy != corev1.RestartPolicyAlways {
		errs = append(errs, field.NotSupported(spec.Child("restartPolicy"), policy, []corev1.RestartPolicy{corev1.RestartPolicyAlways}))
	}
	if in.Spec.ActiveDeadlineSeconds != nil {
		errs = append(errs, field.Forbidden(spec.Child("activeDeadlineSeconds"), "the pods of this workload have no deadline"))
	}
	if len(in.Spec.Containers) == 0 {
		errs = append(errs, field.Required(spec.Child("containers"), "at least one container"))
	}
	seen := map[string]bool{}
	errs = append(errs, containerNames(in.Spec.InitContainers, seen, spec.Child("initContainers"))...)
	return append(errs, containerNames(in.Spec.Containers, seen, spec.Child("containers"))...)
}

func containerNames(containers []corev1.Container, seen map[string]bool, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i := range containers {
		errs = append(errs, name(containers[i].Name, seen, path.Index(i).Child("name"))...)
		if containers[i].Image == "" {
			errs = append(errs, field.Required(path.Index(i).Child("image"), "the image of the container"))
		}
	}
	return errs
}

func claimTemplates(claims []corev1.PersistentVolumeClaim, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	seen := map[string]bool{}
	for i := range claims {
		errs = append(errs, name(claims[i].Name, seen, path.Index(i).Child("metadata", "name"))...)
	}
	return errs
}

// name judges one of several names that must differ, and notes it.
func name(value string, seen map[string]bool, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, problem := range validation.IsDNS1123Label(value) {
		errs = append(errs, field.Invalid(path, value, problem))
	}
	if seen[value] {
		errs = append(errs, field.Duplicate(path, value))
	}
	seen[value] = true
	return errs
}
