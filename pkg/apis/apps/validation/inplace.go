package validation

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/features"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/podtemplate"
)

// inPlaceOnly lists the changes of the template's spec that InPlaceOnly
// forbids: all but another image of a regular container and, with the gate
// InPlaceWorkloadVerticalScaling, other amounts of its cpu and memory. Fields
// that differ only by their default are equal.
func inPlaceOnly(set, old *corev1.PodTemplateSpec, gates features.Gates) field.ErrorList {
	path := field.NewPath("spec", "template", "spec")
	was, err := plain(old, gates)
	if err != nil {
		return field.ErrorList{field.InternalError(path, err)}
	}
	is, err := plain(set, gates)
	if err != nil {
		return field.ErrorList{field.InternalError(path, err)}
	}
	d := differ{scaling: gates.Enabled(features.InPlaceWorkloadVerticalScaling)}
	d.values(path, nil, was, is)
	return d.errs
}

// plain is the defaulted spec as JSON values.
func plain(template *corev1.PodTemplateSpec, gates features.Gates) (any, error) {
	template = template.DeepCopy()
	podtemplate.SetDefaults(template, podtemplate.Options{
		HostPorts: gates.Enabled(features.DefaultHostNetworkHostPortsInPodTemplates),
	})
	data, err := json.Marshal(template.Spec)
	if err != nil {
		return nil, err
	}
	var value any
	return value, json.Unmarshal(data, &value)
}

// differ collects forbidden changes.
type differ struct {
	scaling bool
	errs    field.ErrorList
}

// values compares two values; steps are the member names on the way to them,
// "*" standing for any index.
func (d *differ) values(path *field.Path, steps []string, was, is any) {
	if reflect.DeepEqual(was, is) {
		return
	}
	wasMap, ok1 := was.(map[string]any)
	isMap, ok2 := is.(map[string]any)
	if ok1 && ok2 {
		names := maps.Clone(wasMap)
		maps.Copy(names, isMap)
		for _, name := range slices.Sorted(maps.Keys(names)) {
			d.values(path.Child(name), append(slices.Clip(steps), name), wasMap[name], isMap[name])
		}
		return
	}
	wasList, ok1 := was.([]any)
	isList, ok2 := is.([]any)
	if ok1 && ok2 && len(wasList) == len(isList) {
		for i := range wasList {
			d.values(path.Index(i), append(slices.Clip(steps), "*"), wasList[i], isList[i])
		}
		return
	}
	if was == nil || is == nil || !d.allowed(steps) {
		d.errs = append(d.errs, field.Forbidden(path, "InPlaceOnly allows no change here, only of the image of a container and of labels and annotations"))
	}
}

func (d *differ) allowed(steps []string) bool {
	if len(steps) < 3 || steps[0] != "containers" || steps[1] != "*" {
		return false
	}
	switch steps = steps[2:]; len(steps) {
	case 1:
		return steps[0] == "image"
	case 3:
		return d.scaling && steps[0] == "resources" &&
			(steps[1] == "limits" || steps[1] == "requests") && (steps[2] == "cpu" || steps[2] == "memory")
	default:
		return false
	}
}
