package cloneset

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/inplace"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/order"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
)

// scale brings the number of pods towards the wanted one (cloneset.md 9.2). It says whether it changes anything; then
// nothing is updated in this pass.
func (p *pass) scale() bool {
	if p.takeBack() {
		return true
	}
	p.out.Numbers = numbers(p.spec.limits, p.n, p.o)
	nums := &p.out.Numbers
	if nums.ScaleUp > 0 {
		before := len(p.out.Stages)
		p.scaleOut()
		// Upstream ends the step here even when nothing is made, and so never deletes a pod that uses the limit up.
		if len(p.out.Stages) > before {
			return true
		}
	}
	return p.finishDeletions() || p.deleteSpecified() || p.scaleIn()
}

// stage adds actions as the scale stage and says whether there are any.
func (p *pass) stage(actions []plan.Action) bool {
	p.out.Add(StageScale, actions...)
	return len(actions) > 0
}

// atOnce bounds the pods that one pass makes, so that a mistyped number of replicas does not exhaust the memory.
const atOnce = 10_000

// scaleOut makes pods that are missing, as far as scaleStrategy.maxUnavailable allows (cloneset.md 9.2.3). That it limits is
// an event only together with pods that are made, so that a waiting loop does not repeat it at every look.
func (p *pass) scaleOut() {
	nums := &p.out.Numbers
	limited := nums.ScaleUpLimit < nums.ScaleUp
	if limited {
		p.out.Waits = append(p.out.Waits, plan.Wait{
			Reason: plan.ReasonScaleLimit, Names: p.names(func(x *pod) bool { return !x.available && !x.specified || x.preDeleting }),
			Note: fmt.Sprintf("scaleStrategy.maxUnavailable %d is used up, %s to make", p.spec.scaleMaxUnavailable, counted(nums.ScaleUp-nums.ScaleUpLimit, "more pod")),
		})
	}
	n := min(nums.ScaleUpLimit, atOnce)
	if n == 0 {
		p.capped = true
		return
	}
	pods := p.create(n, min(nums.ScaleUpOld, n))
	if limited && len(pods) > 0 {
		p.out.Add(StageScale, plan.Action{Verb: plan.Record, On: p.on, Why: "fewer pods are made than are missing",
			Event: &plan.Event{Type: corev1.EventTypeWarning, Reason: "ScaleUpLimited",
				Message: fmt.Sprintf("scaleUp is limited because of scaleStrategy.maxUnavailable, limit: %d", nums.ScaleUpLimit)}})
	}
	p.stage(pods)
}

// takeBack keeps pods that wait for their deletion but are wanted again (cloneset.md 9.2.1).
func (p *pass) takeBack() bool {
	if p.n.preDeleting+p.o.preDeleting == 0 || !p.mayTakeBack() {
		return false
	}
	leaving := 0
	for i := range p.pods {
		if p.pods[i].specified || p.pods[i].preDeleting {
			leaving++
		}
	}
	var actions []plan.Action
	for i, wanted := 0, p.spec.replicas-len(p.pods)+leaving; i < len(p.pods) && wanted > 0; i++ {
		x := &p.pods[i]
		if !x.preDeleting || x.specified {
			continue
		}
		wanted--
		change := &plan.PodChange{}
		p.enter(&change.Meta, keys.StatePreparingNormal)
		x.decide(plan.Refresh, plan.ReasonBookkeeping, "its deletion is no longer wanted")
		actions = append(actions, plan.Action{Verb: plan.Patch, On: x.ref(), Change: change, Why: x.note})
	}
	return p.stage(actions)
}

// finishDeletions deletes the pods whose preDelete hook has let go, without a limit (cloneset.md 9.2.4).
func (p *pass) finishDeletions() bool {
	var actions []plan.Action
	for i := range p.pods {
		x := &p.pods[i]
		if !x.preDeleting {
			continue
		}
		if hits(p.preDelete(), x.Pod.Pod) {
			x.decide(plan.Hold, plan.ReasonHook, "the preDelete hook holds it")
			continue
		}
		actions = append(actions, p.delete(x, plan.ReasonHook, "the preDelete hook has let it go"))
	}
	return p.stage(actions)
}

// deleteSpecified deletes the pods that somebody named or marked (cloneset.md 9.2.5).
func (p *pass) deleteSpecified() bool {
	var chosen []*pod
	for i := range p.pods {
		if x := &p.pods[i]; x.specified && !x.preDeleting {
			chosen = append(chosen, x)
		}
	}
	return p.stage(p.deleteWithin(chosen, plan.ReasonSpecified, "it was chosen for deletion"))
}

// scaleIn deletes pods there are too many of, unless other deletions are under way (cloneset.md 9.2.6).
func (p *pass) scaleIn() bool {
	nums := &p.out.Numbers
	if nums.ScaleDown == 0 {
		return false
	}
	if p.n.specified+p.o.specified+p.n.preDeleting+p.o.preDeleting > 0 {
		p.out.Waits = append(p.out.Waits, plan.Wait{Reason: plan.ReasonOrder, Names: p.names(func(x *pod) bool { return x.specified || x.preDeleting }),
			Note: "pods that were chosen for deletion go first"})
		return false
	}
	oldPods, newPods := p.split()
	fromOld := min(nums.ScaleDownOld, nums.ScaleDown)
	chosen := append(p.rank(oldPods, newPods, fromOld), p.rank(newPods, oldPods, nums.ScaleDown-fromOld)...)
	return p.stage(p.deleteWithin(chosen, plan.ReasonScaleIn, fmt.Sprintf("%d pods are there, %d are wanted", len(p.pods), p.spec.replicas+nums.Surge)))
}

// split divides the pods by the scaling view; the values are indexes into p.pods.
func (p *pass) split() (oldPods, newPods []int) {
	for i := range p.pods {
		if p.pods[i].updatedForScale {
			newPods = append(newPods, i)
		} else {
			oldPods = append(oldPods, i)
		}
	}
	return oldPods, newPods
}

// rank returns the n pods of a group that go first (cloneset.md 9.4). How well pods are spread is judged together with
// the pods beside the group.
func (p *pass) rank(group, beside []int, n int) []*pod {
	if n < len(group) && n > 0 {
		order.ScaleDown(p.orderViews(), group, order.Spread{Beside: beside,
			Constraints: p.set.Spec.Template.Spec.TopologySpreadConstraints, NodeLabels: p.w.NodeLabels})
	}
	chosen := make([]*pod, 0, n)
	for _, i := range group[:min(n, len(group))] {
		chosen = append(chosen, &p.pods[i])
	}
	return chosen
}

// orderViews are the pods as ordering sees them, by the same index as p.pods.
func (p *pass) orderViews() []order.Pod {
	views := make([]order.Pod, len(p.pods))
	for i := range p.pods {
		views[i] = p.pods[i].Facts.order
		views[i].Available = p.pods[i].available
	}
	return views
}

// deleteWithin deletes the chosen pods: those that are not ready freely, ready ones while the limit lasts.
func (p *pass) deleteWithin(chosen []*pod, reason plan.Reason, why string) []plan.Action {
	var actions []plan.Action
	left, held := p.out.Numbers.ReadyDeleteLimit, 0
	for _, x := range chosen {
		if x.deletable {
			if left == 0 {
				held++
				x.decide(plan.Hold, plan.ReasonMaxUnavailable, why)
				continue
			}
			left--
		}
		a := p.delete(x, reason, why)
		if !x.deletable {
			// It costs nothing only as long as it is not ready.
			a.ResourceVersion = x.ResourceVersion
		}
		actions = append(actions, a)
	}
	if held > 0 {
		p.waitForBudget(held, "to delete")
	}
	return actions
}

// delete deletes a pod, or asks its preDelete hook first (cloneset.md 9.2, 8 rule 8).
func (p *pass) delete(x *pod, reason plan.Reason, why string) plan.Action {
	x.decide(plan.Remove, reason, why)
	if hook := p.preDelete(); hits(hook, x.Pod.Pod) && !x.preDeleting {
		x.note = why + "; its preDelete hook is asked first"
		change := &plan.PodChange{}
		p.enter(&change.Meta, keys.StatePreparingDelete)
		label := plan.Action{Verb: plan.Patch, On: x.ref(), Change: change, Why: x.note}
		if !hook.MarkPodNotReady {
			return label
		}
		return p.notReadyFirst(x, keys.NotReadyKeyPreDelete, label)
	}
	return p.withClaims(plan.Action{
		Verb: plan.Delete, On: x.ref(), Why: why,
		Done:   &plan.Event{Type: corev1.EventTypeNormal, Reason: "SuccessfulDelete", Message: "succeed to delete pod " + x.Name},
		Failed: &plan.Event{Type: corev1.EventTypeWarning, Reason: "FailedDelete", Message: "failed to delete pod " + x.Name},
	}, x)
}

// notReadyFirst takes the pod out of service before another write.
func (p *pass) notReadyFirst(x *pod, key string, then plan.Action) plan.Action {
	mark := inplace.AddNotReadyKey(x.Pod.Pod, inplace.NotReadyKey{UserAgent: keys.NotReadyUserLifecycle, Key: key}, p.w.Now)
	if mark == nil {
		return then
	}
	return plan.Action{Verb: plan.Patch, On: x.ref(), Subresource: plan.StatusSubresource, Change: mark,
		ResourceVersion: x.ResourceVersion, Then: &then, Why: "traffic leaves the pod while its hook holds it"}
}
