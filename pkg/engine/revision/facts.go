package revision

import (
	"bytes"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// Facts is what comparing revisions needs to know of a template. Facts of a revision hold as long as its UID lives, for
// its data never changes; facts of a workload hold for one generation. Both hold for one Defaults function only.
type Facts struct {
	// Data is the template as it is stored, in the normal form.
	Data Data
	// Defaulted is the same with defaults filled in. Templates are equal when these are.
	Defaulted Data
}

// Defaults fills in what Kubernetes would fill in. It changes the template that it is given.
type Defaults func(*corev1.PodTemplateSpec)

// FactsOf computes the facts of a template. Without defaults both forms are the same.
func FactsOf(template *corev1.PodTemplateSpec, defaults Defaults) (*Facts, error) {
	data, err := FromTemplate(template)
	if err != nil {
		return nil, err
	}
	if defaults == nil {
		return &Facts{Data: data, Defaulted: data}, nil
	}
	full := template.DeepCopy()
	defaults(full)
	defaulted, err := FromTemplate(full)
	if err != nil {
		return nil, err
	}
	return &Facts{Data: data, Defaulted: defaulted}, nil
}

// FactsOfRevision computes the facts of the template of a revision.
func FactsOfRevision(rev *appsv1.ControllerRevision, defaults Defaults) (*Facts, error) {
	template, err := Template(rev)
	if err != nil {
		return nil, err
	}
	return FactsOf(template, defaults)
}

// Equal says that both templates mean the same.
func (f *Facts) Equal(other *Facts) bool {
	return f == other || bytes.Equal(f.Data, other.Data) || bytes.Equal(f.Defaulted, other.Defaulted)
}
