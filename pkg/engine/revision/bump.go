package revision

import (
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
)

// Bump makes an older revision the newest one again.
type Bump struct {
	Number int64
	// Annotations that change; nil removes.
	Annotations map[string]*string
}

var _ plan.Change = (*Bump)(nil)

// PatchType implements plan.Change.
func (b *Bump) PatchType() types.PatchType { return types.MergePatchType }

// Body implements plan.Change.
func (b *Bump) Body() ([]byte, error) {
	body := map[string]any{"revision": b.Number}
	if len(b.Annotations) > 0 {
		body["metadata"] = map[string]any{"annotations": b.Annotations}
	}
	return json.Marshal(body)
}

// Apply implements plan.Change.
func (b *Bump) Apply(obj plan.Object) error {
	rev, ok := obj.(*appsv1.ControllerRevision)
	if !ok {
		return fmt.Errorf("a revision number cannot be set on %T", obj)
	}
	rev.Revision = b.Number
	return (&plan.ObjectChange{Meta: plan.MetaChange{Annotations: b.Annotations}}).Apply(rev)
}
