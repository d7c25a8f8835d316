package cloneset

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/revision"
)

// claims are the PersistentVolumeClaims of a set as one pass sees them: owned by the set and not on their way out.
type claims struct {
	// byID are the claims that stay, by instance id; claims without an id are not ours to judge.
	byID map[string][]*corev1.PersistentVolumeClaim
}

// idOf is the instance id of a pod: the one in its name where somebody took the label off, because its claims are its own
// all the same.
func (p *pass) idOf(x *pod) string {
	if id := x.Labels[keys.InstanceIDLabel]; id != "" {
		return id
	}
	id, _ := strings.CutPrefix(x.Name, p.set.Name+"-")
	return id
}

// sortClaims hands the claims of released pods to these pods and, without reuse, drops the claims that no active pod
// carries (cloneset.md 10.3, 10.4). It runs before pods are released, so that a pod never loses its claims half way.
func (p *pass) sortClaims() {
	p.claims = claims{byID: map[string][]*corev1.PersistentVolumeClaim{}}
	if len(p.w.Claims) == 0 {
		return
	}
	active, inactive := map[string]bool{}, map[string]*pod{}
	for i := range p.pods {
		active[p.idOf(&p.pods[i])] = true
	}
	for i := range p.rest {
		inactive[p.idOf(&p.rest[i])] = &p.rest[i]
	}
	var actions []plan.Action
	for _, c := range p.w.Claims {
		owned, _ := ownership(c.OwnerReferences, p.set)
		id := c.Labels[keys.InstanceIDLabel]
		if !owned {
			continue
		}
		if c.DeletionTimestamp != nil || id == "" {
			continue
		}
		gone := inactive[id]
		switch released := gone != nil && gone.fate == plan.Release; {
		case active[id], p.set.Spec.ScaleStrategy.EnablePVCReuse && !released:
			p.claims.byID[id] = append(p.claims.byID[id], c)
		case gone != nil:
			actions = append(actions, p.handOver(c, gone))
		default:
			actions = append(actions, p.deleteClaim(c, "no pod uses it and claims are not reused"))
		}
	}
	for _, list := range p.claims.byID {
		slices.SortFunc(list, func(a, b *corev1.PersistentVolumeClaim) int { return strings.Compare(a.Name, b.Name) })
	}
	if p.set.DeletionTimestamp == nil {
		p.out.Add(StageClaims, actions...)
	}
}

// handOver makes a claim the pod's, so that it lives and dies with it.
func (p *pass) handOver(c *corev1.PersistentVolumeClaim, x *pod) plan.Action {
	yes := true
	return plan.Action{
		Verb: plan.Patch, On: claimRef(c), Why: "it goes with pod " + x.Name,
		Change: &plan.ObjectChange{Meta: plan.MetaChange{RemoveOwner: p.set.UID, SetOwner: &metav1.OwnerReference{
			APIVersion: "v1", Kind: "Pod", Name: x.Name, UID: x.UID, Controller: &yes, BlockOwnerDeletion: &yes}}},
		Failed: &plan.Event{Type: corev1.EventTypeWarning, Reason: "FailedUpdate", Message: "failed to hand claim " + c.Name + " to pod " + x.Name},
	}
}

func (p *pass) deleteClaim(c *corev1.PersistentVolumeClaim, why string) plan.Action {
	return plan.Action{Verb: plan.Delete, On: claimRef(c), Why: why,
		Failed: &plan.Event{Type: corev1.EventTypeWarning, Reason: "FailedDelete", Message: "failed to delete claim " + c.Name}}
}

func claimRef(c *corev1.PersistentVolumeClaim) plan.Ref {
	return plan.Ref{Kind: plan.ClaimKind, Namespace: c.Namespace, Name: c.Name, UID: c.UID}
}

// withClaims chains the deletion of a pod's claims behind that of the pod, whatever the setting for reuse (cloneset.md
// 9.2). A pod without an instance id has none.
func (p *pass) withClaims(a plan.Action, x *pod) plan.Action {
	list := p.claims.byID[x.Labels[keys.InstanceIDLabel]]
	for i := len(list) - 1; i >= 0; i-- {
		next := p.deleteClaim(list[i], "its pod is deleted")
		next.Then, a.Then = a.Then, &next
	}
	return a
}

// claimTemplates are those for new pods of a revision.
func (p *pass) claimTemplates(r *appsv1.ControllerRevision) ([]corev1.PersistentVolumeClaim, error) {
	if r == p.rev.update {
		return p.set.Spec.VolumeClaimTemplates, nil
	}
	return revision.Claims(r, p.set.Spec.VolumeClaimTemplates)
}

// claimsFirst chains a pod's creation behind that of the claims it lacks and gives it their volumes (cloneset.md 10.1,
// 10.3).
func (p *pass) claimsFirst(create plan.Action, pod *corev1.Pod, templates []corev1.PersistentVolumeClaim, id string) plan.Action {
	if len(templates) == 0 {
		return create
	}
	volumes := make([]corev1.Volume, 0, len(templates)+len(pod.Spec.Volumes))
	var missing []*corev1.PersistentVolumeClaim
	for i := range templates {
		c := p.newClaim(&templates[i], id)
		volumes = append(volumes, corev1.Volume{Name: templates[i].Name, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: c.Name}}})
		if !slices.ContainsFunc(p.claims.byID[id], func(have *corev1.PersistentVolumeClaim) bool { return have.Name == c.Name }) {
			missing = append(missing, c)
		}
	}
	for _, v := range pod.Spec.Volumes {
		if !slices.ContainsFunc(templates, func(t corev1.PersistentVolumeClaim) bool { return t.Name == v.Name }) {
			volumes = append(volumes, v)
		}
	}
	pod.Spec.Volumes = volumes
	for _, c := range slices.Backward(missing) {
		then := create
		create = plan.Action{Verb: plan.Create, Object: c, On: plan.Ref{Kind: plan.ClaimKind, Namespace: c.Namespace, Name: c.Name},
			Failed: &plan.Event{Type: corev1.EventTypeWarning, Reason: "FailedCreate", Message: "failed to create claim " + c.Name},
			Why:    "pod " + pod.Name + " needs it", Then: &then}
	}
	return create
}

func (p *pass) newClaim(template *corev1.PersistentVolumeClaim, id string) *corev1.PersistentVolumeClaim {
	labels := orEmpty(maps.Clone(template.Labels))
	maps.Copy(labels, p.set.Spec.Selector.MatchLabels)
	labels[keys.InstanceIDLabel] = id
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: p.set.Namespace, Name: template.Name + "-" + p.set.Name + "-" + id,
			Labels: labels, Annotations: template.Annotations, OwnerReferences: []metav1.OwnerReference{p.owner},
		},
		Spec: template.Spec,
	}
}

// reuseIDs are the instance ids that new pods take first: those of claims that no active pod carries, sorted (cloneset.md
// 10.2). An id whose pod has not gone yet is not handed out: a finished pod is deleted first, a terminating one is
// waited for. Both are returned as how many of n pods cannot be made now.
func (p *pass) reuseIDs(n int) (ids []string, blocked int) {
	if !p.set.Spec.ScaleStrategy.EnablePVCReuse || len(p.claims.byID) == 0 {
		return nil, 0
	}
	active, inactive := map[string]bool{}, map[string]*pod{}
	for i := range p.pods {
		active[p.idOf(&p.pods[i])] = true
	}
	for i := range p.rest {
		inactive[p.idOf(&p.rest[i])] = &p.rest[i]
	}
	for _, id := range slices.Sorted(maps.Keys(p.claims.byID)) {
		if len(ids)+blocked == n {
			break
		}
		switch x := inactive[id]; {
		case active[id]:
		case x == nil:
			ids = append(ids, id)
		default:
			blocked++
			p.makeRoom(x)
		}
	}
	return ids, blocked
}

// makeRoom gets a pod that is no replica any more out of the way of the one that takes over its name and its claims.
func (p *pass) makeRoom(x *pod) {
	if x.DeletionTimestamp == nil {
		x.decide(plan.Remove, plan.ReasonFinished, "a new pod takes over its claims")
		p.out.Add(StageScale, plan.Action{Verb: plan.Delete, On: x.ref(), Why: x.note})
		return
	}
	p.out.Waits = append(p.out.Waits, plan.Wait{Reason: plan.ReasonNameTaken, Names: []string{x.Name}, Since: x.DeletionTimestamp.Time,
		Note: fmt.Sprintf("a new pod takes over the claims of %s once that is gone", x.Name)})
}
