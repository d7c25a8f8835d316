package webhook

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1alpha1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
)

var cloneSetKind = schema.GroupKind{Group: v1beta1.GroupName, Kind: v1beta1.CloneSetKind}

// cloneSetParts are the parts that differ between the versions (cloneset.md 3). All others stay as they came, unknown
// fields and the spelling of the template among them: revisions are made of its bytes.
var cloneSetParts = [][2]string{
	{"metadata", "labels"}, {"metadata", "annotations"}, {"spec", "scaleStrategy"}, {"spec", "updateStrategy"},
}

func cloneSetConversion(object map[string]any, from, to string) (map[string]any, error) {
	slim, err := json.Marshal(cloneSetSlice(object))
	if err != nil {
		return nil, err
	}
	alpha, beta := v1alpha1.SchemeGroupVersion.Version, v1beta1.SchemeGroupVersion.Version
	var converted any
	switch {
	case from == alpha && to == beta:
		set := &v1alpha1.CloneSet{}
		if err := json.Unmarshal(slim, set); err != nil {
			return nil, err
		}
		converted, err = treeOf(v1alpha1.CloneSetToHub(set))
	case from == beta && to == alpha:
		set := &v1beta1.CloneSet{}
		if err := json.Unmarshal(slim, set); err != nil {
			return nil, err
		}
		converted, err = treeOf(v1alpha1.CloneSetFromHub(set))
	default:
		return nil, fmt.Errorf("want a conversion between %s and %s", alpha, beta)
	}
	if err != nil {
		return nil, err
	}
	source, ok := converted.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("the conversion made %T", converted)
	}
	for _, part := range cloneSetParts {
		move(source, object, part[0], part[1])
	}
	return object, nil
}

// cloneSetSlice is the object with nothing but the parts that differ.
func cloneSetSlice(object map[string]any) map[string]any {
	slice := map[string]any{}
	for _, part := range cloneSetParts {
		move(object, slice, part[0], part[1])
	}
	return slice
}

// move puts the value at two keys of one object into another one, or removes it there. An object within it that is no
// object counts as absent.
func move(from, to map[string]any, first, second string) {
	source, _ := from[first].(map[string]any)
	value, found := source[second]
	target, ok := to[first].(map[string]any)
	if !found {
		delete(target, second)
		return
	}
	if !ok {
		target = map[string]any{}
		to[first] = target
	}
	target[second] = value
}
