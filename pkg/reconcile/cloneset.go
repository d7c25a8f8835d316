package reconcile

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1alpha1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/cluster"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/cloneset"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/revision"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/view"
)

// CloneSet is the kind CloneSet.
func CloneSet() *Kind {
	return &Kind{
		GroupKind: plan.CloneSetKind,
		Resource:  v1beta1.CloneSetResource,
		Versions:  []string{v1beta1.SchemeGroupVersion.Version, v1alpha1.SchemeGroupVersion.Version},
		Cluster:   cluster.CloneSets,
		Component: keys.EventSourceCloneSet,
		Parts: []Part{
			{GroupKind: plan.PodKind, Selector: cloneSetSelector},
			{GroupKind: plan.ControllerRevisionKind, Selector: cloneSetSelector, Ownerless: true},
			{GroupKind: plan.ClaimKind, Selector: claimSelector, Needed: hasClaimTemplates},
		},
		Lazy:       []string{cloneset.StageNames, cloneset.StageStatus, cloneset.StageTrim},
		Finishing:  []string{cloneset.StageRefresh, cloneset.StageStatus},
		NeedsNodes: spreads,
		New:        func(s Settings) Planner { return &cloneSetPlanner{settings: s} },
		Reached:    cloneSetReached,
	}
}

func cloneSetSelector(subject plan.Object) (string, error) {
	set, ok := subject.(*v1beta1.CloneSet)
	if !ok {
		return "", fmt.Errorf("%T is not a CloneSet", subject)
	}
	selector, err := metav1.LabelSelectorAsSelector(set.Spec.Selector)
	if err != nil {
		return "", fmt.Errorf("spec.selector: %w", err)
	}
	if selector.Empty() {
		return "", fmt.Errorf("spec.selector: must not be empty")
	}
	return selector.String(), nil
}

// claimSelector is what every claim of the set has: the labels that its pods are chosen by (cloneset.md 10.3).
func claimSelector(subject plan.Object) (string, error) {
	set, ok := subject.(*v1beta1.CloneSet)
	if !ok {
		return "", fmt.Errorf("%T is not a CloneSet", subject)
	}
	return labels.Set(set.Spec.Selector.MatchLabels).String(), nil
}

func hasClaimTemplates(subject plan.Object) bool {
	set, ok := subject.(*v1beta1.CloneSet)
	return ok && len(set.Spec.VolumeClaimTemplates) > 0
}

// cloneSetReached follows the status: the present generation was looked at, there are as many pods as wanted, as many
// updated ones as the partition allows, and all of those are available.
func cloneSetReached(subject plan.Object) bool {
	set, ok := subject.(*v1beta1.CloneSet)
	if !ok {
		return false
	}
	s := &set.Status
	return s.ObservedGeneration >= set.Generation && s.Replicas == ptr.Deref(set.Spec.Replicas, v1beta1.DefaultReplicas) &&
		s.UpdatedReplicas >= s.ExpectedUpdatedReplicas && s.UpdatedAvailableReplicas == s.UpdatedReplicas
}

// cloneSetPlanner keeps facts of objects as long as these do not change.
type cloneSetPlanner struct {
	settings  Settings
	pods      map[types.UID]podFacts
	revisions map[types.UID]*revision.Facts
	template  *revision.Facts
	of        templateKey
	// gone are names in podsToDelete whose pods were there.
	gone map[string]bool
	// refused has the server's words for pods that it did not resize, for the template of refusedFor.
	refused    map[types.UID]string
	refusedFor templateKey
}

type podFacts struct {
	version string
	facts   *cloneset.Facts
}

type templateKey struct {
	uid        types.UID
	generation int64
}

// Decide implements Planner.
func (p *cloneSetPlanner) Decide(scene Scene) (*Decision, error) {
	set, ok := scene.Subject.(*v1beta1.CloneSet)
	if !ok {
		return nil, fmt.Errorf("%T is not a CloneSet", scene.Subject)
	}
	p.gone = p.leaving(set, scene.Parts[plan.PodKind])
	world := cloneset.World{
		Now: scene.Now, Gates: p.settings.Gates, Set: set, OwnerAPIVersion: p.settings.APIVersion, Names: cloneset.Names(scene.Seed),
		Template: p.templateFacts(set), Pods: p.podsOf(scene), Revisions: p.revisionsOf(scene),
		Claims: claimsOf(scene), Resize: p.settings.Resize, Refused: p.refusals(scene, set), NodeLabels: scene.NodeLabels, Gone: p.gone,
	}
	for _, failure := range scene.Failures {
		world.Failures = append(world.Failures, cloneset.Failure{Stage: failure.Stage, Message: failure.Err.Error()})
	}
	out, err := cloneset.Decide(world)
	if err != nil {
		return nil, err
	}
	if held := heldByBatch(set, &out.Status, scene.Now); held != nil {
		world.Set = held
		if out, err = cloneset.Decide(world); err != nil {
			return nil, err
		}
	}
	return &Decision{Plan: &out.Plan, Counts: cloneSetCounts(set, &out.Status)}, nil
}

// refusals remembers which pods the server refused to resize, as long as the spec stays what it is: the same would be
// refused again. A failure that may pass is none.
func (p *cloneSetPlanner) refusals(scene Scene, set *v1beta1.CloneSet) map[types.UID]string {
	if of := (templateKey{set.UID, set.Generation}); p.refusedFor != of {
		p.refused, p.refusedFor = nil, of
	}
	for _, f := range scene.Failures {
		refused := apierrors.IsInvalid(f.Err) || apierrors.IsForbidden(f.Err) || apierrors.IsNotFound(f.Err) || apierrors.IsBadRequest(f.Err)
		if f.Action.Subresource != plan.ResizeSubresource || !refused {
			continue
		}
		if p.refused == nil {
			p.refused = map[types.UID]string{}
		}
		p.refused[f.Action.On.UID] = cluster.Explain(f.Err).Error()
	}
	return p.refused
}

// templateFacts are nil when the template cannot be understood; the planner finds the words for it.
func (p *cloneSetPlanner) templateFacts(set *v1beta1.CloneSet) *revision.Facts {
	of := templateKey{set.UID, set.Generation}
	if p.template == nil || p.of != of {
		facts, err := revision.FactsOf(&set.Spec.Template, cloneset.DefaultTemplate)
		if err != nil {
			return nil
		}
		p.template, p.of = facts, of
	}
	return p.template
}

func (p *cloneSetPlanner) podsOf(scene Scene) []cloneset.Pod {
	objects := scene.Parts[plan.PodKind]
	list, kept := make([]cloneset.Pod, 0, len(objects)), make(map[types.UID]podFacts, len(objects))
	for _, obj := range objects {
		pod, ok := obj.(*corev1.Pod)
		if !ok {
			continue
		}
		known := p.pods[pod.UID]
		if known.facts == nil || known.version != pod.ResourceVersion {
			known = podFacts{version: pod.ResourceVersion, facts: cloneset.FactsOf(pod, p.settings.Gates)}
		}
		kept[pod.UID] = known
		list = append(list, cloneset.Pod{Pod: pod, Facts: known.facts})
	}
	p.pods = kept
	return list
}

// leaving keeps the names in podsToDelete of pods that are or were there, so that one that has just gone is not taken for
// a name that never was.
func (p *cloneSetPlanner) leaving(set *v1beta1.CloneSet, pods []plan.Object) map[string]bool {
	if len(set.Spec.ScaleStrategy.PodsToDelete) == 0 {
		return nil
	}
	there := make(map[string]bool, len(pods))
	for _, pod := range pods {
		there[pod.GetName()] = true
	}
	known := map[string]bool{}
	for _, name := range set.Spec.ScaleStrategy.PodsToDelete {
		if there[name] || p.gone[name] {
			known[name] = true
		}
	}
	return known
}

func claimsOf(scene Scene) []*corev1.PersistentVolumeClaim {
	var list []*corev1.PersistentVolumeClaim
	for _, obj := range scene.Parts[plan.ClaimKind] {
		if claim, ok := obj.(*corev1.PersistentVolumeClaim); ok {
			list = append(list, claim)
		}
	}
	return list
}

func (p *cloneSetPlanner) revisionsOf(scene Scene) []cloneset.Revision {
	objects := scene.Parts[plan.ControllerRevisionKind]
	list, kept := make([]cloneset.Revision, 0, len(objects)), make(map[types.UID]*revision.Facts, len(objects))
	for _, obj := range objects {
		rev, ok := obj.(*appsv1.ControllerRevision)
		if !ok {
			continue
		}
		facts := p.revisions[rev.UID]
		if facts == nil {
			// Data that is no template is left to the planner, which looks at it without facts.
			facts, _ = revision.FactsOfRevision(rev, cloneset.DefaultTemplate)
		}
		kept[rev.UID] = facts
		list = append(list, cloneset.Revision{ControllerRevision: rev, Facts: facts})
	}
	p.revisions = kept
	return list
}

func cloneSetCounts(set *v1beta1.CloneSet, s *v1beta1.CloneSetStatus) view.Counts {
	return view.Counts{
		Wanted:   ptr.Deref(set.Spec.Replicas, v1beta1.DefaultReplicas),
		Replicas: s.Replicas, Ready: s.ReadyReplicas, Available: s.AvailableReplicas, Updated: s.UpdatedReplicas,
		UpdatedReady: s.UpdatedReadyReplicas, UpdatedAvailable: s.UpdatedAvailableReplicas, ExpectedUpdated: s.ExpectedUpdatedReplicas,
		UpdateRevision: s.UpdateRevision, CurrentRevision: s.CurrentRevision,
	}
}
