package cloneset

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/inplace"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/order"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/revision"
)

// update moves pods to the update revision, or back to the current one when the partition was raised (cloneset.md 9.3).
func (p *pass) update(n, o tally) {
	nums := &p.out.Numbers
	p.warnRollback(n)
	if nums.Update == 0 {
		return
	}
	if reason := p.blocked(); reason != "" {
		return
	}
	target, back := p.rev.update, nums.Update < 0
	if back {
		target = p.rev.current
	}
	size := o.all
	if back {
		size = n.all
	}
	candidates, err := p.candidates(back, size)
	if err != nil {
		p.fail(err.Error())
		return
	}
	candidates = candidates[:min(len(candidates), p.toMove)]
	accepted := p.accept(candidates, back, nums.UpdateMaxUnavailable)
	m := mover{pass: p, target: target, back: back, specs: map[string]verdict{}}
	for _, x := range candidates[:accepted] {
		m.move(x)
	}
	p.out.Add(StageUpdate, m.actions...)
	for _, x := range candidates[accepted:] {
		x.decide(plan.Hold, plan.ReasonMaxUnavailable, "")
	}
	if held := len(candidates) - accepted; held > 0 {
		p.waitForBudget(held, "to update")
	}
}

// blocked says why no revision may change now: OnDelete or paused.
func (p *pass) blocked() plan.Reason {
	switch {
	case p.spec.onDelete:
		return plan.ReasonOnDelete
	case p.spec.paused:
		return plan.ReasonPaused
	}
	return ""
}

// warnRollback says that more pods are updated than the partition allows and that nothing is done about it (PF-CS-3).
func (p *pass) warnRollback(n tally) {
	surplus := n.live() - (p.spec.replicas - p.spec.partition)
	if surplus > 0 && !p.spec.rollback && p.rev.updateHash != p.rev.currentHash && p.blocked() == "" {
		p.out.Warnings = append(p.out.Warnings, fmt.Sprintf(
			"%s beyond the partition stay updated: moving back needs the feature gate CloneSetPartitionRollback", counted(surplus, "pod")))
	}
}

// candidates are the pods that may move, in the order in which they should. Size is how many there can be.
func (p *pass) candidates(back bool, size int) ([]*pod, error) {
	// Only scatter looks at pods that do not wait; without it the others need not be viewed.
	if len(p.spec.scatter) > 0 {
		size = len(p.pods)
	}
	pool, views, list := make([]*pod, 0, size), make([]order.Pod, 0, size), make([]int, 0, size)
	for i := range p.pods {
		x := &p.pods[i]
		waits := x.updated == back && !x.preDeleting && !x.specified && !x.Facts.grace
		if waits {
			list = append(list, len(pool))
		}
		if waits || len(p.spec.scatter) > 0 {
			pool, views = append(pool, x), append(views, x.Facts.order)
		}
	}
	order.Update(views, list)
	if err := order.Priority(views, list, p.spec.priority); err != nil {
		return nil, fmt.Errorf("nothing is updated: %w", err)
	}
	order.Scatter(views, list, p.spec.scatter)
	sorted := make([]*pod, 0, len(list))
	for _, preparing := range []bool{true, false} {
		for _, i := range list {
			if x := pool[i]; (x.Facts.state == keys.StatePreparingUpdate) == preparing {
				sorted = append(sorted, x)
			}
		}
	}
	return sorted, nil
}

// accept counts how many candidates may move now: one that is unavailable already costs nothing in total, but counts
// against what may be broken at the target (cloneset.md 9.3.5), because it may become available at any moment.
func (p *pass) accept(candidates []*pod, back bool, limit int) int {
	unavailable, broken := 0, 0
	for i := range p.pods {
		if x := &p.pods[i]; !x.available {
			unavailable++
			if x.updated != back {
				broken++
			}
		}
	}
	for i, x := range candidates {
		if broken+i >= limit && !p.mustFinish(x, broken+i) {
			return i
		}
		if x.available {
			if unavailable >= limit {
				return i
			}
			unavailable++
		}
	}
	return len(candidates)
}

// mustFinish says that a pod moves although missing pods use up the limit: it was asked to prepare, so it does not become
// available before its update, and with that it uses up scaleStrategy.maxUnavailable, so that the missing pods may not be made.
// Upstream lets each wait for the other for ever.
func (p *pass) mustFinish(x *pod, broken int) bool {
	return p.capped && x.Facts.state == keys.StatePreparingUpdate && broken < p.spec.maxUnavailable+p.spec.surge
}

// mover moves pods to one revision.
type mover struct {
	*pass
	target  *appsv1.ControllerRevision
	back    bool
	specs   map[string]verdict // by the hash of the pod's revision
	actions []plan.Action
}

// verdict is whether the way from one revision to the target can be made in place.
type verdict struct {
	spec     *inplace.Spec
	obstacle string
}

// move updates one pod: in place if the policy and the change allow, else by marking it for replacement.
func (m *mover) move(x *pod) {
	reason := plan.ReasonRevision
	if m.back {
		reason = plan.ReasonRollback
	}
	if m.spec.policy == v1beta1.ReCreatePodUpdatePolicy {
		m.recreate(x, reason, "")
		return
	}
	v := m.eligible(x)
	if words := m.w.Refused[x.UID]; words != "" && v.spec != nil && len(v.spec.Resources) > 0 {
		m.refused(x, reason, words)
		return
	}
	switch {
	case v.spec != nil:
		m.inPlace(x, v.spec, reason)
	case m.spec.policy == v1beta1.InPlaceOnlyPodUpdatePolicy:
		x.decide(plan.Hold, plan.ReasonNotEligible, v.obstacle)
		m.fail(fmt.Sprintf("InPlaceOnly forbids this change of the template: %s", v.obstacle))
	default:
		m.recreate(x, reason, v.obstacle)
	}
}

// refused ends the update in place of a pod that the server does not resize (inplace/48): asking for ever would help
// nobody. Its condition is put back by refreshing.
func (m *mover) refused(x *pod, reason plan.Reason, words string) {
	note := "the server refuses to resize it: " + words
	if m.spec.policy != v1beta1.InPlaceOnlyPodUpdatePolicy {
		m.recreate(x, reason, note)
		return
	}
	x.decide(plan.Hold, reason, note)
	m.fail(fmt.Sprintf("pod %s stays at its revision: %s", x.Name, note))
}

// eligible is judged once for each revision that pods come from.
func (m *mover) eligible(x *pod) verdict {
	v, ok := m.specs[x.Facts.hash]
	if ok {
		return v
	}
	options := m.inPlaceOptions()
	options.Revision = m.target.Name
	spec, obstacle := inplace.Eligible(m.rev.byHash[x.Facts.hash], m.target, options)
	v.spec = spec
	if obstacle != nil {
		v.obstacle = obstacle.String()
	}
	m.specs[x.Facts.hash] = v
	return v
}

// recreate marks a pod; the scale step of a later pass replaces it within the limits.
func (m *mover) recreate(x *pod, reason plan.Reason, obstacle string) {
	x.decide(plan.Recreate, reason, obstacle)
	change := &plan.PodChange{}
	change.Meta.Label(keys.SpecifiedDeleteLabel, "true")
	m.actions = append(m.actions, plan.Action{
		Verb: plan.Patch, On: x.ref(), Change: change, Why: "it is replaced by a pod of revision " + m.target.Name,
		Done: &plan.Event{Type: corev1.EventTypeNormal, Reason: "SuccessfulUpdatePodReCreate",
			Message: fmt.Sprintf("successfully patch pod %s specified-delete for update(revision %s)", x.Name, m.target.Name)},
		Failed: &plan.Event{Type: corev1.EventTypeWarning, Reason: "FailedUpdatePodReCreate",
			Message: fmt.Sprintf("failed to mark pod %s for update to revision %s", x.Name, m.target.Name)},
	})
}

// inPlace begins the update of one pod, after its hook has let it go (cloneset.md 8 and 9.3, inplace.md 4).
func (m *mover) inPlace(x *pod, spec *inplace.Spec, reason plan.Reason) {
	switch state := x.Facts.state; {
	case state == "" || state == keys.StatePreparingNormal || state == keys.StateNormal:
		if hits(m.inPlaceUpdate(), x.Pod.Pod) {
			m.prepare(x, false)
			return
		}
	case state == keys.StateUpdated && m.inPlaceUpdate() != nil:
		m.prepare(x, true)
		return
	case state == keys.StatePreparingUpdate && hits(m.inPlaceUpdate(), x.Pod.Pod):
		x.decide(plan.Hold, plan.ReasonHook, "the inPlaceUpdate hook holds it")
		return
	case state != keys.StatePreparingUpdate && state != keys.StateUpdating && state != keys.StateUpdated:
		x.decide(plan.Hold, plan.ReasonBadSpec, fmt.Sprintf("its lifecycle state %q is not known", state))
		m.fail(fmt.Sprintf("pod %s: %s", x.Name, x.note))
		return
	}
	m.begin(x, spec, reason)
}

// begin writes the update of a pod that nothing holds any more.
func (m *mover) begin(x *pod, spec *inplace.Spec, reason plan.Reason) {
	var meta plan.MetaChange
	m.enter(&meta, keys.StateUpdating)
	meta.Label(keys.ControllerRevisionHashLabel, m.labelValue(m.target))
	meta.Label(keys.PodTemplateHashLabel, revision.HashOf(m.target))
	writes, err := inplace.Start(x.Pod.Pod, spec, meta, m.inPlaceOptions(), m.w.Now)
	if err != nil {
		x.decide(plan.Hold, plan.ReasonUpdating, err.Error())
		m.fail(fmt.Sprintf("pod %s: %v", x.Name, err))
		return
	}
	x.decide(plan.UpdateInPlace, reason, "")
	m.actions = append(m.actions, m.chain(x, writes))
}

// chain orders the writes of an in-place update: condition False, then resize, then the pod.
func (m *mover) chain(x *pod, writes inplace.Writes) plan.Action {
	why := "it is updated in place to revision " + m.target.Name
	failed := &plan.Event{Type: corev1.EventTypeWarning, Reason: "FailedUpdatePodInPlace",
		Message: fmt.Sprintf("failed to update pod %s in-place(revision %s)", x.Name, m.target.Name)}
	a := plan.Action{Verb: plan.Patch, On: x.ref(), Change: writes.Update, Why: why, Failed: failed,
		Done: &plan.Event{Type: corev1.EventTypeNormal, Reason: "SuccessfulUpdatePodInPlace",
			Message: fmt.Sprintf("successfully update pod %s in-place(revision %s)", x.Name, m.target.Name)}}
	if writes.Resize != nil {
		then := a
		a = plan.Action{Verb: plan.Patch, On: x.ref(), Subresource: plan.ResizeSubresource, Change: writes.Resize, Why: why, Failed: failed, Then: &then}
	}
	if writes.NotReady != nil && !outOfService(x.Pod.Pod) {
		if a.Subresource == "" && (!x.Facts.complete || !running(x.Pod.Pod, writes.Update.Images)) {
			// A container that starts in between would be taken for the one that the change asks for.
			a.ResourceVersion = x.ResourceVersion
		}
		then := a
		return plan.Action{Verb: plan.Patch, On: x.ref(), Subresource: plan.StatusSubresource, Change: writes.NotReady,
			ResourceVersion: x.ResourceVersion, Then: &then, Failed: failed, Why: "traffic leaves the pod before its containers change"}
	}
	a.ResourceVersion = x.ResourceVersion
	return a
}

// outOfService says that the pod's conditions keep traffic away already. Who relies on it writes at the version that was
// judged.
func outOfService(x *corev1.Pod) bool {
	updating, ready := condition(x, keys.InPlaceUpdateReady), condition(x, corev1.PodReady)
	return updating != nil && updating.Status == corev1.ConditionFalse && (ready == nil || ready.Status != corev1.ConditionTrue)
}

// running says that all of the named containers are ready, so that none of them is about to be replaced.
func running(x *corev1.Pod, images map[string]string) bool {
	found := 0
	for i := range x.Status.ContainerStatuses {
		if s := &x.Status.ContainerStatuses[i]; s.Ready {
			if _, ok := images[s.Name]; ok {
				found++
			}
		}
	}
	return found == len(images)
}

// prepare asks the inPlaceUpdate hook; for a pod that was updated before, its marks are put back first.
func (m *mover) prepare(x *pod, restore bool) {
	hook := m.inPlaceUpdate()
	change := &plan.PodChange{}
	m.enter(&change.Meta, keys.StatePreparingUpdate)
	if restore {
		for k, v := range hook.LabelsHandler {
			change.Meta.Label(k, v)
		}
		change.Meta.AddFinalizers = hook.FinalizersHandler
	}
	x.decide(plan.Refresh, plan.ReasonHook, "its inPlaceUpdate hook is asked before the update")
	// The state alone makes a pod unavailable, and for one that was not available that was free only as it was judged.
	label := plan.Action{Verb: plan.Patch, On: x.ref(), Change: change, ResourceVersion: x.ResourceVersion, Why: x.note}
	if hook.MarkPodNotReady {
		label = m.notReadyFirst(x, keys.NotReadyKeyPreUpdate, label)
	}
	m.actions = append(m.actions, label)
}
