package cloneset

import (
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/revision"
)

// create makes n pods, the first old of them at the current revision (cloneset.md 9.2.3). A revision that cannot be read
// yields no pods and a wait.
func (p *pass) create(n, old int) []plan.Action {
	ids := p.freeIDs(n)
	old = min(old, len(ids))
	actions := make([]plan.Action, 0, n)
	for _, part := range []struct {
		rev *appsv1.ControllerRevision
		ids []string
	}{{p.rev.current, ids[:old]}, {p.rev.update, ids[old:]}} {
		if len(part.ids) == 0 {
			continue
		}
		template, err := p.template(part.rev)
		if err != nil {
			p.out.Waits = append(p.out.Waits, plan.Wait{Reason: plan.ReasonBadSpec, Names: []string{part.rev.Name},
				Note: fmt.Sprintf("the revision cannot be read: %v", err)})
			continue
		}
		claimTemplates, err := p.claimTemplates(part.rev)
		if err != nil {
			p.out.Warnings = append(p.out.Warnings, fmt.Sprintf("%v; the present claim templates are used", err))
		}
		p.completeTemplate(template, part.rev)
		for _, id := range part.ids {
			action, err := p.createOne(template, claimTemplates, part.rev, id)
			if err != nil {
				p.out.Waits = append(p.out.Waits, plan.Wait{Reason: plan.ReasonBadSpec, Names: []string{part.rev.Name},
					Note: fmt.Sprintf("no pod can be created from the revision: %v", err)})
				break
			}
			actions = append(actions, action)
		}
	}
	return actions
}

func (p *pass) createOne(template *corev1.PodTemplateSpec, claims []corev1.PersistentVolumeClaim, rev *appsv1.ControllerRevision, id string) (plan.Action, error) {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: p.set.Namespace, Name: p.set.Name + "-" + id, GenerateName: p.set.Name + "-",
			Labels: maps.Clone(template.Labels), Annotations: template.Annotations, Finalizers: template.Finalizers,
			OwnerReferences: []metav1.OwnerReference{p.owner},
		},
		Spec: template.Spec,
	}
	pod.Labels[keys.InstanceIDLabel] = id
	if err := launchOrder(pod); err != nil {
		return plan.Action{}, err
	}
	hash := revision.HashOf(rev)
	p.out.Verdicts = append(p.out.Verdicts, plan.Verdict{Name: pod.Name, Revision: hash, Updated: hash == p.rev.updateHash,
		Fate: plan.Make, Reason: plan.ReasonScaleOut})
	create := plan.Action{
		Verb: plan.Create, Object: pod,
		On:     plan.Ref{Kind: plan.PodKind, Namespace: pod.Namespace, Name: pod.Name},
		Done:   &plan.Event{Type: corev1.EventTypeNormal, Reason: "SuccessfulCreate", Message: "succeed to create pod " + pod.Name},
		Failed: &plan.Event{Type: corev1.EventTypeWarning, Reason: "FailedCreate", Message: "failed to create pod " + pod.Name},
		Why:    fmt.Sprintf("%d pods of %d are there", len(p.pods), p.spec.replicas+p.out.Numbers.Surge),
	}
	return p.claimsFirst(create, pod, claims, id), nil
}

// completeTemplate adds what every pod of a revision has in common (cloneset.md 10.1). KruisePodReady is upstream's
// webhook's; without a webhook it is ours to add, and to answer in refresh.
func (p *pass) completeTemplate(t *corev1.PodTemplateSpec, rev *appsv1.ControllerRevision) {
	t.Labels = orEmpty(t.Labels)
	t.Labels[keys.ControllerRevisionHashLabel] = p.labelValue(rev)
	t.Labels[keys.PodTemplateHashLabel] = revision.HashOf(rev)
	t.Labels[keys.LifecycleStateLabel] = keys.StatePreparingNormal
	t.Annotations = orEmpty(t.Annotations)
	t.Annotations[keys.LifecycleTimestampAnnotation] = p.stamp()
	for _, gate := range []corev1.PodConditionType{keys.InPlaceUpdateReady, keys.KruisePodReady} {
		has := func(g corev1.PodReadinessGate) bool { return g.ConditionType == gate }
		if !slices.ContainsFunc(t.Spec.ReadinessGates, has) {
			t.Spec.ReadinessGates = append(t.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: gate})
		}
	}
}

func orEmpty(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return m
}

// freeIDs returns up to n instance ids, sorted: those that claims are left of, then fresh ones that no pod of the set uses
// in its label or its name, whatever its phase, and no claim. There are fewer than n when pods are in the way.
func (p *pass) freeIDs(n int) []string {
	ids, blocked := p.reuseIDs(n)
	taken := make(map[string]bool, len(p.w.Pods)+n)
	for i := range p.w.Pods {
		x := p.w.Pods[i].Pod
		taken[x.Labels[keys.InstanceIDLabel]] = true
		taken[revision.Short(x.Name)] = true
	}
	for _, c := range p.w.Claims {
		taken[c.Labels[keys.InstanceIDLabel]] = true
	}
	for i := 0; len(ids)+blocked < n; i++ {
		if id := p.w.Names.id(p.set.UID, i); !taken[id] {
			taken[id] = true
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}
