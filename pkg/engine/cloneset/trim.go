package cloneset

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/revision"
)

// trim drops old revisions (cloneset.md 9.0.9).
func (p *pass) trim() {
	if p.set.DeletionTimestamp != nil {
		return
	}
	live := map[string]bool{p.rev.updateHash: true, p.rev.currentHash: true}
	last := p.rev.updateHash
	for i := range p.pods {
		if hash := p.pods[i].Facts.hash; hash != last {
			live[hash], last = true, hash
		}
	}
	p.out.Add(StageTrim, revision.History(p.rev.all, live, int32(p.spec.history))...)
}

// trimPodsToDelete drops names from podsToDelete that are no active pods of the set (cloneset.md 7.12). It comes before the
// status, whose write would change the version that the judgement rests on.
func (p *pass) trimPodsToDelete() {
	names := p.set.Spec.ScaleStrategy.PodsToDelete
	if len(names) == 0 || p.set.DeletionTimestamp != nil {
		return
	}
	owned := map[string]bool{}
	for i := range p.pods {
		owned[p.pods[i].Name] = true
	}
	for i := range p.rest { // terminating ones were ours a moment ago: dropping them is no news
		if _, ok := owned[p.rest[i].Name]; !ok {
			owned[p.rest[i].Name] = false
		}
	}
	for name := range p.w.Gone {
		if _, ok := owned[name]; !ok {
			owned[name] = false
		}
	}
	var kept, unknown []string
	for _, name := range names {
		switch active, known := owned[name]; {
		case active:
			kept = append(kept, name)
		case !known:
			unknown = append(unknown, name)
		}
	}
	if len(kept) == len(names) {
		return
	}
	if len(unknown) > 0 {
		p.out.Warnings = append(p.out.Warnings, "spec.scaleStrategy.podsToDelete: no pod of this set, dropped: "+strings.Join(unknown, ", "))
	}
	p.out.Add(StageNames, plan.Action{Verb: plan.Patch, On: p.on, ResourceVersion: p.set.ResourceVersion,
		Change: &PodsToDeleteChange{Names: kept}, Why: "pods that are gone are taken off podsToDelete"})
}

// PodsToDeleteChange replaces spec.scaleStrategy.podsToDelete, which has the same path in all versions of the kind.
type PodsToDeleteChange struct{ Names []string }

// PatchType implements plan.Change.
func (c *PodsToDeleteChange) PatchType() types.PatchType { return types.MergePatchType }

// Body implements plan.Change. An empty list removes the field.
func (c *PodsToDeleteChange) Body() ([]byte, error) {
	return json.Marshal(map[string]any{"spec": map[string]any{"scaleStrategy": map[string]any{"podsToDelete": c.Names}}})
}

// Apply implements plan.Change.
func (c *PodsToDeleteChange) Apply(obj plan.Object) error {
	set, ok := obj.(*v1beta1.CloneSet)
	if !ok {
		return fmt.Errorf("podsToDelete cannot be set on %T", obj)
	}
	set.Spec.ScaleStrategy.PodsToDelete = slices.Clone(c.Names)
	return nil
}
