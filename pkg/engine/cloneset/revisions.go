package cloneset

import (
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/features"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/podtemplate"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/revision"
)

var errEmptySelector = errors.New("it is empty, want labels that choose the pods")

// revisions are the two revisions that matter to a pass.
type revisions struct {
	all             []*appsv1.ControllerRevision
	byHash          map[string]*appsv1.ControllerRevision
	update, current *appsv1.ControllerRevision
	// Hashes without the set's name.
	updateHash, currentHash string
	collisions              int32
}

func (r *revisions) isUpdate(f *Facts) bool { return f.hash != "" && f.hash == r.updateHash }

// DefaultTemplate fills in what Kubernetes would, for comparisons.
func DefaultTemplate(t *corev1.PodTemplateSpec) { podtemplate.SetDefaults(t, podtemplate.Options{}) }

// reviseAndMark finds or makes the update revision and the current one (cloneset.md 9.0, 4), then judges the pods.
func (p *pass) reviseAndMark() error {
	in := revision.Input{
		APIVersion: p.w.OwnerAPIVersion, Kind: plan.CloneSetKind.Kind, Namespace: p.set.Namespace, Name: p.set.Name, UID: p.set.UID,
		Annotations: p.set.Annotations, Selector: p.selector, Template: &p.set.Spec.Template,
		ClaimTemplates: p.set.Spec.VolumeClaimTemplates, HashClaims: true, CollisionCount: p.set.Status.CollisionCount,
		Defaults: DefaultTemplate, Facts: p.w.Template, RevisionFacts: map[types.UID]*revision.Facts{},
	}
	for _, r := range p.w.Revisions {
		in.Revisions = append(in.Revisions, r.ControllerRevision)
		if r.Facts != nil {
			in.RevisionFacts[r.UID] = r.Facts
		}
	}
	choice, err := revision.Choose(in)
	if err != nil {
		return fmt.Errorf("revision of cloneset %s: %w", p.set.Name, err)
	}
	p.rev = revisions{all: choice.All, update: choice.Update, current: choice.Update, collisions: choice.CollisionCount,
		byHash: make(map[string]*appsv1.ControllerRevision, len(choice.All))}
	for _, r := range choice.All {
		p.rev.byHash[revision.HashOf(r)] = r
		if r.Name == p.set.Status.CurrentRevision {
			p.rev.current = r
		}
	}
	p.rev.updateHash, p.rev.currentHash = revision.HashOf(p.rev.update), revision.HashOf(p.rev.current)
	p.out.UpdateHash, p.out.CurrentHash = p.rev.updateHash, p.rev.currentHash
	if p.set.DeletionTimestamp == nil {
		p.out.Add(StageRevision, choice.Actions...)
	}
	p.spec.rollback = p.w.Gates.Enabled(features.CloneSetPartitionRollback) && p.rev.updateHash != p.rev.currentHash
	p.mark()
	return nil
}

// labelValue is what controller-revision-hash holds: the full name, or the hash alone with the gate CloneSetShortHash and
// where the name would not fit into a label (cloneset.md 10.1).
func (p *pass) labelValue(r *appsv1.ControllerRevision) string {
	if p.w.Gates.Enabled(features.CloneSetShortHash) || len(r.Name) > maxLabelValue {
		return revision.HashOf(r)
	}
	return r.Name
}

const maxLabelValue = 63

// template is the pod template of a revision (cloneset.md 9.0.10). The caller may change it.
func (p *pass) template(r *appsv1.ControllerRevision) (*corev1.PodTemplateSpec, error) {
	if r == p.rev.update {
		return p.set.Spec.Template.DeepCopy(), nil
	}
	return revision.PodTemplateFor(r, &p.set.Spec.Template)
}

func (p *pass) stamp() string { return p.w.Now.UTC().Format(time.RFC3339) }
