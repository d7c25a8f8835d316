package cloneset

import (
	"fmt"
	"slices"
	"time"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
)

// conclude gives every pod its verdict, says what is waited for, and whether the goal holds.
func (p *pass) conclude() {
	p.launchWarnings()
	p.verdicts()
	p.waitForPods()
	holds := p.holds()
	p.out.Done = holds && p.out.Empty()
	if holds {
		p.warnRestarted()
	}
	p.out.Unwritten = holds && !p.out.Empty() && p.onlyStatus()
	if p.failure != "" {
		reason := p.failureReason()
		p.out.Waits = append(p.out.Waits, plan.Wait{Reason: reason, Note: p.failure})
		if p.out.Empty() && !p.underWay() {
			p.out.Stopped = reason
		}
	}
	if reason := p.blocked(); reason != "" && !p.out.Done && p.out.Empty() && p.updatesLeft() && !p.underWay() {
		p.out.Stopped = reason
		p.out.Waits = append(p.out.Waits, plan.Wait{Reason: reason, Note: stopped[reason]})
	}
}

// failureReason tells a change that the strategy forbids from a stored value or a record that cannot be used.
func (p *pass) failureReason() plan.Reason {
	if slices.ContainsFunc(p.pods, func(x pod) bool { return x.reason == plan.ReasonNotEligible && x.fate == plan.Hold }) {
		return plan.ReasonNotEligible
	}
	return plan.ReasonBadSpec
}

var stopped = map[plan.Reason]string{
	plan.ReasonPaused:   "updates are paused",
	plan.ReasonOnDelete: "the strategy OnDelete updates a pod only when somebody deletes it",
}

// holds says that the goal holds: as many pods as wanted, as many of them updated as the partition allows, all updated
// ones available, and nothing begun. When nothing is left to write either, the plan is done.
func (p *pass) holds() bool {
	return p.set.DeletionTimestamp == nil && p.failure == "" && len(p.pods) == p.spec.replicas &&
		p.n.specified+p.o.specified+p.n.preDeleting+p.o.preDeleting == 0 &&
		p.out.Status.UpdatedAvailableReplicas == p.out.Status.UpdatedReplicas && !p.updatesLeft() && !p.underWay() &&
		(!p.spec.rollback || p.backAvailable())
}

// onlyStatus says that the plan writes nothing but the status.
func (p *pass) onlyStatus() bool {
	return !slices.ContainsFunc(p.out.Stages, func(s plan.Stage) bool { return s.Name != StageStatus })
}

// backAvailable says that the pods at the current revision are available: where a raised partition moves pods back, they
// are part of the goal. Pods of still other revisions are not.
func (p *pass) backAvailable() bool {
	return !slices.ContainsFunc(p.pods, func(x pod) bool { return x.Facts.hash == p.rev.currentHash && !x.available })
}

// updatesLeft says that pods have yet to move between revisions. The update view is used whatever the gates are.
func (p *pass) updatesLeft() bool {
	if p.spec.onDelete {
		return p.out.Status.UpdatedReplicas < p.out.Status.ExpectedUpdatedReplicas
	}
	return p.out.Status.UpdatedReplicas < int32(p.spec.replicas-p.spec.partition) || p.out.Numbers.Update != 0
}

// underWay says that something was begun on a pod that has to finish: its creation or an in-place update.
func (p *pass) underWay() bool {
	return slices.ContainsFunc(p.pods, func(x pod) bool {
		return x.Facts.grace || x.Facts.state != "" && x.Facts.state != keys.StateNormal
	})
}

func (p *pass) verdicts() {
	made := p.out.Verdicts
	list := make([]plan.Verdict, 0, len(p.pods)+len(p.rest)+len(made))
	for i := range p.pods {
		x := &p.pods[i]
		v := plan.Verdict{Name: x.Name, UID: x.UID, Revision: x.Facts.hash, Updated: x.updated, Available: x.available,
			Fate: x.fate, Reason: x.reason, Note: x.note}
		if v.Fate == "" {
			p.judge(x, &v)
		}
		list = append(list, v)
	}
	for i := range p.rest {
		x := &p.rest[i]
		v := plan.Verdict{Name: x.Name, UID: x.UID, Revision: x.Facts.hash, Updated: p.rev.isUpdate(x.Facts),
			Fate: plan.Keep, Reason: plan.ReasonFinished}
		switch {
		case x.fate != "":
			v.Fate, v.Reason = x.fate, x.reason
		case x.DeletionTimestamp != nil:
			v.Reason, v.Since = plan.ReasonDeleting, x.DeletionTimestamp.Time
		}
		list = append(list, v)
	}
	p.out.Verdicts = append(list, made...)
}

// judge explains a pod that nothing is done to in this pass.
func (p *pass) judge(x *pod, v *plan.Verdict) {
	f := x.Facts
	v.Fate = plan.Hold
	switch {
	case x.preDeleting:
		v.Reason = plan.ReasonHook
	case x.specified:
		v.Reason = plan.ReasonSpecified
	case f.grace:
		v.Reason = plan.ReasonGrace
	case f.state == keys.StateUpdating || !f.complete:
		v.Reason, v.Note = plan.ReasonUpdating, f.incomplete
		p.explain(x, v)
	case f.state == keys.StatePreparingUpdate || f.state == keys.StateUpdated:
		v.Reason = plan.ReasonHook
	case !x.availableAt.IsZero():
		v.Reason = plan.ReasonMinReady
	case !x.available:
		v.Reason = plan.ReasonNotReady
		p.explain(x, v)
	case x.updated:
		v.Fate, v.Reason = plan.Keep, plan.ReasonUpToDate
	default:
		v.Fate, v.Reason = p.keepOld()
	}
	if f.order.ReadySince != 0 && v.Since.IsZero() {
		v.Since = time.Unix(0, f.order.ReadySince)
	}
}

// explain puts the containers' own words into a verdict.
func (p *pass) explain(x *pod, v *plan.Verdict) {
	if words := trouble(x.Pod.Pod); words != "" {
		v.Note = words
	}
	if x.Facts.order.ReadySince == 0 {
		v.Since = x.CreationTimestamp.Time
	}
}

// keepOld is why an available old pod stays as it is.
func (p *pass) keepOld() (plan.Fate, plan.Reason) {
	if !p.updatesLeft() {
		return plan.Keep, plan.ReasonPartition
	}
	if reason := p.blocked(); reason != "" {
		return plan.Hold, reason
	}
	return plan.Hold, plan.ReasonOrder
}

// waitForBudget says that pods have to wait until fewer are unavailable.
func (p *pass) waitForBudget(held int, what string) {
	p.out.Waits = append(p.out.Waits, plan.Wait{
		Reason: plan.ReasonMaxUnavailable, Names: p.names(func(x *pod) bool { return !x.available }),
		Note: fmt.Sprintf("maxUnavailable %d is used up, %s %s", p.spec.maxUnavailable, counted(held, "pod"), what),
	})
}

// counted is a number with its noun.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func (p *pass) names(which func(*pod) bool) []string {
	var names []string
	for i := range p.pods {
		if which(&p.pods[i]) {
			names = append(names, p.pods[i].Name)
		}
	}
	slices.Sort(names)
	return names
}

// matters says that the goal does not hold before the pod is ready: an updated one, one that missing pods wait for, and where
// pods are moved back one at the current revision.
func (p *pass) matters(v *plan.Verdict) bool {
	return v.Updated || len(p.pods) < p.spec.replicas || p.spec.rollback && v.Revision == p.rev.currentHash
}

// waitForPods adds a wait for each reason why pods that matter to the goal are not where they should be, in the order in
// which the reasons appear. The note is that of the pod that waits longest.
func (p *pass) waitForPods() {
	at := map[plan.Reason]int{}
	for i := range p.out.Verdicts {
		v := &p.out.Verdicts[i]
		switch v.Reason {
		case plan.ReasonNotReady, plan.ReasonMinReady, plan.ReasonUpdating, plan.ReasonGrace, plan.ReasonHook:
		default:
			continue
		}
		if v.Fate != plan.Hold || v.Reason == plan.ReasonNotReady && !p.matters(v) {
			continue
		}
		k, ok := at[v.Reason]
		if !ok {
			k = len(p.out.Waits)
			at[v.Reason] = k
			p.out.Waits = append(p.out.Waits, plan.Wait{Reason: v.Reason, Note: v.Note, Since: v.Since})
		}
		w := &p.out.Waits[k]
		w.Names = append(w.Names, v.Name)
		if w.Note == "" || v.Note != "" && v.Since.Before(w.Since) {
			w.Note, w.Since = v.Note, v.Since
		}
	}
	for _, k := range at {
		slices.Sort(p.out.Waits[k].Names)
	}
}
