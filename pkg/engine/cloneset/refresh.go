package cloneset

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/inplace"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/launchorder"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/revision"
)

// scheduleTime is how long a new pod may stay without a node before its gates are answered by a write of their own.
// Usually it has a node sooner, and then one write answers the gates and makes it Normal.
const scheduleTime = 2 * time.Second

// refreshAndUpdate brings the bookkeeping of all pods up to date and, if there was nothing to do, updates (cloneset.md
// 9.3). Refreshing goes on while paused and for OnDelete: gates that we add are always answered (PF-IP-9).
func (p *pass) refreshAndUpdate() {
	n, o := p.count(func(x *pod) bool { return x.updated })
	nums := numbers(p.spec.limits, n, o)
	p.out.Numbers.Update, p.out.Numbers.UpdateMaxUnavailable = nums.Update, nums.UpdateMaxUnavailable
	p.toMove = p.wanted(nums.Update)
	var actions []plan.Action
	for i := range p.pods {
		if a := p.refresh(&p.pods[i]); a != nil {
			actions = append(actions, *a)
		}
	}
	p.out.Add(StageRefresh, actions...)
	if len(actions) == 0 {
		p.update(n, o)
	}
}

// refresh is the bookkeeping of one pod: at most one write, bound to the resourceVersion that it was judged at.
func (p *pass) refresh(x *pod) *plan.Action {
	f := x.Facts
	if f.bookkept && (f.state == "" || f.state == keys.StateNormal) {
		return nil
	}
	step, err := inplace.Refresh(x.Pod.Pod, f.update, p.inPlaceOptions(), p.w.Now)
	if err != nil {
		return p.repair(x, err)
	}
	p.out.WakeAt(step.Until)
	change := &plan.PodChange{}
	switch step.Kind {
	case inplace.StepFinishGrace, inplace.StepDropGrace, inplace.StepNextBatch:
		x.decide(plan.Refresh, plan.ReasonUpdating, string(step.Kind)+" "+step.Note)
		return p.containers(x, step)
	case inplace.StepReady:
		change.Conditions = step.Change.Conditions
	case inplace.StepNone, inplace.StepPending, inplace.StepGrace:
	}
	if c := inplace.InitialKruisePodReady(x.Pod.Pod, p.w.Now); c != nil {
		change.Conditions = append(change.Conditions, c.Conditions...)
	}
	why := "its readiness gates are answered"
	if state := p.nextState(x); state != "" {
		p.enter(&change.Meta, state)
		why = "it becomes " + state
		if c := p.endHold(x, keys.NotReadyKeyPreUpdate); c != nil {
			change.Conditions = append(change.Conditions, c.Conditions...)
		}
	} else if c := p.dropLeftover(x); c != nil {
		change.Conditions = append(change.Conditions, c.Conditions...)
		why = "no hook holds it any more"
	}
	if _, ok := x.Labels[keys.PodTemplateHashLabel]; !ok && f.revision != "" {
		change.Meta.Label(keys.PodTemplateHashLabel, revision.Short(f.revision))
	}
	if change.Meta.IsZero() && len(change.Conditions) == 0 || p.waitForNode(x, change) {
		return nil
	}
	x.decide(plan.Refresh, plan.ReasonBookkeeping, why)
	a := &plan.Action{Verb: plan.Patch, On: x.ref(), Change: change, ResourceVersion: x.ResourceVersion, Why: why}
	if len(change.Conditions) > 0 {
		a.Subresource = plan.StatusSubresource
	}
	return a
}

func (p *pass) endHold(x *pod, key string) *plan.PodChange {
	return inplace.RemoveNotReadyKey(x.Pod.Pod, inplace.NotReadyKey{UserAgent: keys.NotReadyUserLifecycle, Key: key}, p.w.Now)
}

// dropLeftover ends a hold on a pod whose state knows no holds. It was written, but the state that was to follow it was
// not, and then it was not wanted any more.
func (p *pass) dropLeftover(x *pod) *plan.PodChange {
	if !x.Facts.leftover {
		return nil
	}
	if c := p.endHold(x, keys.NotReadyKeyPreUpdate); c != nil {
		return c
	}
	return p.endHold(x, keys.NotReadyKeyPreDelete)
}

// repair begins the update of a pod anew whose record of it cannot be used (inplace.md 4.1). A pod that serves in spite of
// that is left alone and reported, for the restart would cost availability that nobody has counted.
func (p *pass) repair(x *pod, fault error) *plan.Action {
	x.decide(plan.Hold, plan.ReasonUpdating, fault.Error())
	rev := p.rev.byHash[x.Facts.hash]
	if x.available || rev == nil {
		p.fail(fmt.Sprintf("pod %s: %v", x.Name, fault))
		return nil
	}
	options := p.inPlaceOptions()
	options.Revision = rev.Name
	spec, err := inplace.Repair(x.Pod.Pod, rev, options)
	if err != nil {
		p.fail(fmt.Sprintf("pod %s: %v", x.Name, err))
		return nil
	}
	m := mover{pass: p, target: rev}
	m.begin(x, spec, plan.ReasonUpdating)
	if len(m.actions) == 0 {
		return nil
	}
	x.note = fault.Error() + "; the update is begun again"
	return &m.actions[0]
}

// waitForNode says that the change of a young pod without a node should wait for the node.
func (p *pass) waitForNode(x *pod, change *plan.PodChange) bool {
	if x.Spec.NodeName != "" || x.Facts.state != keys.StatePreparingNormal || !change.Meta.IsZero() {
		return false
	}
	until := x.CreationTimestamp.Add(scheduleTime)
	if !until.After(p.w.Now) {
		return false
	}
	p.out.WakeAt(until)
	return true
}

// containers is the write of the next container batch or of the end of a grace period.
func (p *pass) containers(x *pod, step inplace.Step) *plan.Action {
	a := &plan.Action{Verb: plan.Patch, On: x.ref(), Change: step.Change, ResourceVersion: x.ResourceVersion, Why: x.note}
	if step.Resize == nil {
		return a
	}
	a.ResourceVersion = ""
	return &plan.Action{Verb: plan.Patch, On: x.ref(), Subresource: plan.ResizeSubresource, Change: step.Resize,
		ResourceVersion: x.ResourceVersion, Then: a, Why: x.note}
}

// inPlaceOptions are those of every in-place decision of this pass.
func (p *pass) inPlaceOptions() inplace.Options {
	return inplace.Options{Gates: p.w.Gates, GraceSeconds: p.spec.grace, Resize: p.w.Resize, Defaults: DefaultTemplate,
		IgnoreClaimTemplates: p.spec.policy == v1beta1.InPlaceOnlyPodUpdatePolicy}
}

// nextState is the lifecycle state that refreshing moves the pod to, or empty (cloneset.md 8).
func (p *pass) nextState(x *pod) string {
	switch f := x.Facts; f.state {
	case keys.StatePreparingNormal:
		hook := p.preNormal()
		if hook == nil && x.Spec.NodeName != "" || fullySet(hook, x.Pod.Pod) {
			return keys.StateNormal
		}
	case keys.StatePreparingUpdate:
		if !p.mayMove(x) {
			return p.afterUpdate(x)
		}
	case keys.StateUpdating:
		if f.complete {
			return p.afterUpdate(x)
		}
	case keys.StateUpdated:
		if p.inPlaceUpdate() == nil || fullySet(p.inPlaceUpdate(), x.Pod.Pod) {
			return keys.StateNormal
		}
	}
	return ""
}

// wanted is how many pods have to move between revisions by an update. Pods that are chosen for deletion will be replaced at
// the wanted revision anyway: no others are moved in their place, and so the partition is kept.
func (p *pass) wanted(update int) int {
	leaving := 0
	for i := range p.pods {
		if x := &p.pods[i]; x.updated == (update < 0) && x.specified && !x.preDeleting {
			leaving++
		}
	}
	return max(abs(update)-leaving, 0)
}

// mayMove says that a pod whose hook has been asked is still to be updated. It is asked once for each such pod.
//
// OpenKruise looks at the pod's revision alone. So it takes a pod that goes back to the current revision for one that is
// there already, again and again, and leaves one whose update is not wanted any more out of service for good.
func (p *pass) mayMove(x *pod) bool {
	switch update := p.out.Numbers.Update; {
	case update == 0 || x.updated != (update < 0):
		return false
	case x.specified:
		return true
	case p.asked == p.toMove:
		return false
	}
	p.asked++
	return true
}

// trouble is what keeps a pod from being ready, in the words of its containers; empty when nothing is known.
func trouble(pod *corev1.Pod) string {
	held := ""
	for i := range pod.Status.ContainerStatuses {
		s := &pod.Status.ContainerStatuses[i]
		switch w, t := s.State.Waiting, s.State.Terminated; {
		case launchorder.Waits(pod, s):
			held = s.Name + ": waits for its turn in the launch order"
		case w != nil && w.Reason != "" && w.Reason != "ContainerCreating" && w.Reason != "PodInitializing":
			return quote(s.Name, w.Reason, waitingMessage(w, s.LastTerminationState.Terminated))
		case t != nil:
			return quote(s.Name, t.Reason, t.Message)
		}
	}
	if c := condition(pod, corev1.PodScheduled); c != nil && c.Status == corev1.ConditionFalse {
		return c.Reason + ": " + c.Message
	}
	return held
}

// waitingMessage prefers what a crashed container said itself to the kubelet's "back-off … restarting".
func waitingMessage(w *corev1.ContainerStateWaiting, last *corev1.ContainerStateTerminated) string {
	if w.Reason == "CrashLoopBackOff" && last != nil && last.Message != "" {
		return last.Message
	}
	return w.Message
}

func quote(container, reason, message string) string {
	text := container + ": " + reason
	if message != "" {
		text += ": " + message
	}
	return text
}
