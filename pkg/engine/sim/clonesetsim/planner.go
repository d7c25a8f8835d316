package clonesetsim

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/features"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/cloneset"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/revision"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/sim"
)

// Kind is the CloneSet as the cluster knows it.
func Kind() sim.Kind {
	k := sim.NewKind[v1beta1.CloneSet](plan.CloneSetKind)
	k.CopySpec = func(to, from plan.Object) { to.(*v1beta1.CloneSet).Spec = from.(*v1beta1.CloneSet).Spec }
	k.CopyStatus = func(to, from plan.Object) { to.(*v1beta1.CloneSet).Status = from.(*v1beta1.CloneSet).Status }
	k.SameSpec = func(a, b plan.Object) bool {
		return equality.Semantic.DeepEqual(a.(*v1beta1.CloneSet).Spec, b.(*v1beta1.CloneSet).Spec)
	}
	return k
}

// OwnerAPIVersion is the version that owner references name in the simulated cluster.
const OwnerAPIVersion = "apps.kruise.io/v1beta1"

// Planner plans one CloneSet from a view. It caches facts the way an observer does.
type Planner struct {
	Namespace, Name string
	Gates           features.Gates
	// Names is the seed of the first round; each round takes another.
	Names cloneset.Names
	// TemplateFacts and RevisionFacts work out facts; nil means as the planner would. Whoever plays very many histories
	// of few templates may remember them.
	TemplateFacts func(*corev1.PodTemplateSpec) (*revision.Facts, error)
	RevisionFacts func(*appsv1.ControllerRevision) (*revision.Facts, error)

	pods      map[types.UID]podFacts
	revisions map[types.UID]*revision.Facts
	template  templateFacts
}

type podFacts struct {
	version string
	facts   *cloneset.Facts
}

type templateFacts struct {
	uid        types.UID
	generation int64
	facts      *revision.Facts
}

// Forget drops the caches.
func (p *Planner) Forget() {
	p.pods, p.revisions, p.template = nil, nil, templateFacts{}
}

// Plan is one round for a sim.Driver. A set that is not there needs nothing.
func (p *Planner) Plan(v *sim.View, failures []sim.Failure) (*cloneset.Plan, error) {
	w, ok := p.World(v, failures, true)
	p.Names++
	if !ok {
		return &cloneset.Plan{}, nil
	}
	return cloneset.Decide(w)
}

// World is what the planner sees of the set; false if the set is not there. Without cached, no facts are filled in.
func (p *Planner) World(v *sim.View, failures []sim.Failure, cached bool) (cloneset.World, bool) {
	set, ok := v.Get(plan.CloneSetKind, p.Namespace, p.Name).(*v1beta1.CloneSet)
	if !ok {
		return cloneset.World{}, false
	}
	w := cloneset.World{Now: v.Now(), Gates: p.Gates, Set: set, OwnerAPIVersion: OwnerAPIVersion, Names: p.Names}
	if len(set.Spec.Template.Spec.TopologySpreadConstraints) > 0 {
		w.NodeLabels = v.Cluster().NodeLabels()
	}
	for _, f := range failures {
		w.Failures = append(w.Failures, cloneset.Failure{Stage: f.Stage, Message: f.Err.Error()})
	}
	pods := v.List(plan.PodKind)
	w.Pods = make([]cloneset.Pod, 0, len(pods))
	for _, obj := range pods {
		if pod := obj.(*corev1.Pod); pod.Namespace == p.Namespace && owned(pod.OwnerReferences, set.UID) {
			w.Pods = append(w.Pods, cloneset.Pod{Pod: pod})
		}
	}
	for _, obj := range v.List(plan.ClaimKind) {
		if claim := obj.(*corev1.PersistentVolumeClaim); claim.Namespace == p.Namespace && owned(claim.OwnerReferences, set.UID) {
			w.Claims = append(w.Claims, claim)
		}
	}
	for _, obj := range v.List(plan.ControllerRevisionKind) {
		if rev := obj.(*appsv1.ControllerRevision); rev.Namespace == p.Namespace {
			w.Revisions = append(w.Revisions, cloneset.Revision{ControllerRevision: rev})
		}
	}
	if cached {
		p.fill(&w)
	}
	return w, true
}

func owned(owners []metav1.OwnerReference, uid types.UID) bool {
	for i := range owners {
		if owners[i].UID == uid {
			return true
		}
	}
	return false
}

// fill puts facts into the world, from the caches where they hold.
func (p *Planner) fill(w *cloneset.World) {
	if p.pods == nil {
		p.pods, p.revisions = map[types.UID]podFacts{}, map[types.UID]*revision.Facts{}
	}
	for i := range w.Pods {
		pod := &w.Pods[i]
		known, ok := p.pods[pod.UID]
		if !ok || known.version != pod.ResourceVersion {
			known = podFacts{pod.ResourceVersion, cloneset.FactsOf(pod.Pod, p.Gates)}
			p.pods[pod.UID] = known
		}
		pod.Facts = known.facts
	}
	for i := range w.Revisions {
		rev := &w.Revisions[i]
		facts, ok := p.revisions[rev.UID]
		if !ok {
			// Facts of a revision that cannot be read stay nil; the planner reports it.
			if p.RevisionFacts != nil {
				facts, _ = p.RevisionFacts(rev.ControllerRevision)
			} else {
				facts, _ = revision.FactsOfRevision(rev.ControllerRevision, cloneset.DefaultTemplate)
			}
			p.revisions[rev.UID] = facts
		}
		rev.Facts = facts
	}
	if t := &p.template; t.facts == nil || t.uid != w.Set.UID || t.generation != w.Set.Generation {
		var facts *revision.Facts
		if p.TemplateFacts != nil {
			facts, _ = p.TemplateFacts(&w.Set.Spec.Template)
		} else {
			facts, _ = revision.FactsOf(&w.Set.Spec.Template, cloneset.DefaultTemplate)
		}
		*t = templateFacts{w.Set.UID, w.Set.Generation, facts}
	}
	w.Template = p.template.facts
}

// NewDriver is a driver of one set.
func NewDriver(name string, p *Planner, view *sim.View) *sim.Driver {
	return &sim.Driver{
		Name: name, View: view, Forget: p.Forget,
		Plan: func(v *sim.View, failures []sim.Failure) (*plan.Plan, error) {
			out, err := p.Plan(v, failures)
			if err != nil {
				return nil, err
			}
			return &out.Plan, nil
		},
	}
}
