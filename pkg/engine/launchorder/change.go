package launchorder

import (
	"encoding/json"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
)

// Opening is a change of a barrier: keys are added, others stay.
type Opening struct{ Keys []string }

// PatchType is a merge patch.
func (o *Opening) PatchType() types.PatchType { return types.MergePatchType }

// Body implements plan.Change.
func (o *Opening) Body() ([]byte, error) {
	return json.Marshal(map[string]any{"data": o.data()})
}

// Apply implements plan.Change.
func (o *Opening) Apply(obj plan.Object) error {
	barrier, ok := obj.(*corev1.ConfigMap)
	if !ok {
		return fmt.Errorf("a level cannot be opened on %T", obj)
	}
	data := o.data()
	maps.Copy(data, barrier.Data)
	barrier.Data = data
	return nil
}

func (o *Opening) data() map[string]string {
	data := make(map[string]string, len(o.Keys))
	for _, key := range o.Keys {
		data[key] = opened
	}
	return data
}
