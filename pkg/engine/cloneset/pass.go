package cloneset

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/features"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
)

// Stage names, in the order in which they appear in a plan.
const (
	StageClaims   = "claims"
	StageClaim    = "claim"
	StageRevision = "revision"
	StageScale    = "scale"
	StageRefresh  = "refresh"
	StageUpdate   = "update"
	StageNames    = "names"
	StageStatus   = "status"
	StageTrim     = "trim"
)

// Plan is what to do about one CloneSet now. The caller owns it; objects of the world that it refers to stay unchanged.
type Plan struct {
	plan.Plan
	// Status is the status of the pods as they were read, which the plan's last action writes if it differs.
	Status v1beta1.CloneSetStatus
	// Numbers are those of the scaling view.
	Numbers Numbers
	// UpdateHash and CurrentHash are the revisions without the set's name.
	UpdateHash, CurrentHash string
	// Partition and MaxUnavailable are the resolved numbers of the spec.
	Partition, MaxUnavailable int
}

// Decide plans one pass. The error is a *SpecError or says that a revision or the selector cannot be understood.
func Decide(w World) (*Plan, error) {
	p, err := newPass(&w)
	if err != nil {
		return nil, err
	}
	p.claim()
	if err := p.reviseAndMark(); err != nil {
		return nil, err
	}
	if w.Set.DeletionTimestamp == nil {
		if changed := p.scale(); !changed {
			p.refreshAndUpdate()
		}
	}
	p.trimPodsToDelete()
	p.status()
	p.trim()
	p.conclude()
	return p.out, nil
}

// pass is one run of the planner.
type pass struct {
	w        *World
	set      *v1beta1.CloneSet
	spec     spec
	selector labels.Selector
	// exact is the selector when it only names labels and values, which is quicker to match.
	exact []label
	on    plan.Ref // the set as the target of writes
	owner metav1.OwnerReference

	pods []pod // active and claimed
	rest []pod // owned, but finished, terminating or released now

	claims claims

	rev  revisions
	n, o tally // new and old pods, scaling view
	out  *Plan

	// toMove is how many pods have to move between revisions, asked how many of them have been asked by their hook.
	toMove, asked int

	// capped: pods are missing and scaleStrategy.maxUnavailable lets none be made.
	capped bool

	// failure is why the set cannot be updated as it is asked; it becomes the condition FailedUpdate.
	failure string
}

// pod is an owned pod during a pass.
type pod struct {
	Pod
	// available and deletable are judged at the time of the pass; availableAt is when the clock alone makes it available.
	available, deletable bool
	availableAt          time.Time
	// updated: at the update revision. updatedForScale: as scaling sees it (gate PreparingUpdateAsUpdate).
	updated, updatedForScale bool
	// specified: by label or by name.
	specified, preDeleting bool

	fate   plan.Fate
	reason plan.Reason
	note   string
}

func (x *pod) ref() plan.Ref {
	return plan.Ref{Kind: plan.PodKind, Namespace: x.Namespace, Name: x.Name, UID: x.UID}
}

func (x *pod) decide(f plan.Fate, r plan.Reason, note string) { x.fate, x.reason, x.note = f, r, note }

// fail keeps the first reason why an update is impossible.
func (p *pass) fail(reason string) {
	if p.failure == "" {
		p.failure = reason
	}
}

func newPass(w *World) (*pass, error) {
	s, err := resolve(w.Set)
	if err != nil {
		return nil, err
	}
	selector, err := metav1.LabelSelectorAsSelector(w.Set.Spec.Selector)
	if err != nil {
		return nil, &SpecError{"spec.selector", err}
	}
	if selector.Empty() {
		return nil, &SpecError{"spec.selector", errEmptySelector}
	}
	yes := true
	var exact []label
	if len(w.Set.Spec.Selector.MatchExpressions) == 0 {
		for k, v := range w.Set.Spec.Selector.MatchLabels {
			exact = append(exact, label{k, v})
		}
	}
	return &pass{
		w: w, set: w.Set, exact: exact, spec: s, selector: selector,
		on: plan.Ref{Kind: plan.CloneSetKind, Namespace: w.Set.Namespace, Name: w.Set.Name, UID: w.Set.UID},
		owner: metav1.OwnerReference{APIVersion: w.OwnerAPIVersion, Kind: plan.CloneSetKind.Kind, Name: w.Set.Name, UID: w.Set.UID,
			Controller: &yes, BlockOwnerDeletion: &yes},
		out: &Plan{Partition: s.partition, MaxUnavailable: s.maxUnavailable},
	}, nil
}

// claim sorts out which pods are ours and active (cloneset.md 6 and 10.4). Pods whose labels left the selector are
// released, owned pods without the controller flag get it, and pods that somebody else controls are not looked at.
func (p *pass) claim() {
	p.pods = make([]pod, 0, len(p.w.Pods))
	var actions []plan.Action
	deleting := p.set.DeletionTimestamp != nil
	for i := range p.w.Pods {
		x := pod{Pod: p.w.Pods[i]}
		if x.Facts == nil {
			x.Facts = FactsOf(x.Pod.Pod, p.w.Gates)
		}
		owner, controls := ownership(x.OwnerReferences, p.set)
		if !owner {
			continue
		}
		matches := p.matches(x.Labels)
		switch {
		case !controls && !matches:
			continue
		case !matches:
			x.decide(plan.Release, plan.ReasonSelector, "")
			if !deleting && x.Facts.active {
				actions = append(actions, p.release(&x))
			}
			p.rest = append(p.rest, x)
			continue
		case !controls && !deleting && x.Facts.active:
			actions = append(actions, p.adopt(&x))
		}
		if !x.Facts.active {
			p.rest = append(p.rest, x)
			continue
		}
		p.pods = append(p.pods, x)
	}
	p.sortClaims()
	p.out.Add(StageClaim, actions...)
}

type label struct{ key, value string }

func (p *pass) matches(set map[string]string) bool {
	if p.exact == nil {
		return p.selector.Matches(labels.Set(set))
	}
	for _, want := range p.exact {
		if got, ok := set[want.key]; !ok || got != want.value {
			return false
		}
	}
	return true
}

// ownership says whether the set owns an object and whether it is its controller. Another controller means neither.
func ownership(owners []metav1.OwnerReference, set *v1beta1.CloneSet) (owned, controls bool) {
	for i := range owners {
		o := &owners[i]
		controller := o.Controller != nil && *o.Controller
		if o.UID == set.UID {
			owned, controls = true, controller
		} else if controller {
			return false, false
		}
	}
	return owned, controls
}

func (p *pass) release(x *pod) plan.Action {
	return plan.Action{Verb: plan.Patch, On: x.ref(), Change: &plan.PodChange{Meta: plan.MetaChange{RemoveOwner: p.set.UID}},
		Why: "its labels left the selector, it goes on running unowned"}
}

func (p *pass) adopt(x *pod) plan.Action {
	return plan.Action{Verb: plan.Patch, On: x.ref(), Change: &plan.PodChange{Meta: plan.MetaChange{SetOwner: &p.owner}},
		Why: "it is owned and matches the selector, but is not controlled yet"}
}

// mark judges each pod against the revisions, the limits and the clock, and counts (cloneset.md 6 and 9.1).
func (p *pass) mark() {
	named := map[string]bool{}
	for _, name := range p.set.Spec.ScaleStrategy.PodsToDelete {
		named[name] = true
	}
	asUpdated := p.w.Gates.Enabled(features.PreparingUpdateAsUpdate)
	for i := range p.pods {
		x := &p.pods[i]
		f := x.Facts
		x.available, x.availableAt = f.available(p.spec.minReady, p.w.Now)
		x.deletable, _ = f.available(0, p.w.Now)
		x.updated = p.rev.isUpdate(f)
		x.updatedForScale = x.updated || asUpdated && f.state == keys.StatePreparingUpdate
		x.specified = f.specified || len(named) > 0 && named[x.Name]
		x.preDeleting = f.state == keys.StatePreparingDelete
		p.out.WakeAt(x.availableAt)
	}
	p.n, p.o = p.count(func(x *pod) bool { return x.updatedForScale })
}

// count tallies new and old pods by the given view of what is new.
func (p *pass) count(isNew func(*pod) bool) (n, o tally) {
	for i := range p.pods {
		x := &p.pods[i]
		t := &o
		if isNew(x) {
			t = &n
		}
		t.all++
		switch {
		case x.preDeleting:
			t.preDeleting++
		case x.specified:
			t.specified++
		case !x.available:
			t.unavailable++
		}
	}
	return n, o
}
