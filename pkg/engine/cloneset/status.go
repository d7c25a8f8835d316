package cloneset

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
)

// status computes the status of the pods as they were read (cloneset.md 4) and writes it if it differs.
func (p *pass) status() {
	s := v1beta1.CloneSetStatus{
		ObservedGeneration: p.set.Generation,
		CollisionCount:     &p.rev.collisions,
		UpdateRevision:     p.rev.update.Name,
		CurrentRevision:    p.rev.current.Name,
		LabelSelector:      p.selector.String(),
	}
	for i := range p.pods {
		x := &p.pods[i]
		count(&s.Replicas, true)
		count(&s.ReadyReplicas, x.Facts.ready)
		count(&s.AvailableReplicas, x.available)
		count(&s.UpdatedReplicas, x.updated)
		count(&s.UpdatedReadyReplicas, x.updated && x.Facts.ready)
		count(&s.UpdatedAvailableReplicas, x.updated && x.available)
	}
	s.ExpectedUpdatedReplicas = int32(p.spec.replicas)
	if p.spec.rolling {
		s.ExpectedUpdatedReplicas -= int32(p.spec.partition)
	}
	if s.UpdatedReplicas == s.Replicas && int(s.Replicas) == p.spec.replicas {
		s.CurrentRevision = s.UpdateRevision
	}
	p.out.Status = s
	p.conditions()
	if equality.Semantic.DeepEqual(p.out.Status, p.set.Status) {
		return
	}
	a := plan.Action{Verb: plan.Patch, On: p.on, Subresource: plan.StatusSubresource,
		Change: &StatusChange{From: p.set.Status, To: p.out.Status}, Why: "the status follows the pods"}
	if !equality.Semantic.DeepEqual(p.out.Status.Conditions, p.set.Status.Conditions) {
		// A patch has the whole list, so it would undo what another writer has added meanwhile.
		a.ResourceVersion = p.set.ResourceVersion
	}
	p.out.Add(StageStatus, a)
}

func count(n *int32, yes bool) {
	if yes {
		*n++
	}
}

// conditions carries the stored conditions on: failures that are over go, the others are kept current (cloneset.md 11).
// Conditions of other writers stay.
func (p *pass) conditions() {
	failures := map[v1beta1.CloneSetConditionType]string{}
	for _, f := range p.w.Failures {
		t := v1beta1.CloneSetConditionFailedUpdate
		if f.Stage == StageScale || f.Stage == StageClaim {
			t = v1beta1.CloneSetConditionFailedScale
		}
		if failures[t] == "" {
			failures[t] = f.Message
		}
	}
	if p.failure != "" {
		failures[v1beta1.CloneSetConditionFailedUpdate] = p.failure
	}
	list := slices.DeleteFunc(slices.Clone(p.set.Status.Conditions), func(c v1beta1.CloneSetCondition) bool {
		failed := c.Type == v1beta1.CloneSetConditionFailedScale || c.Type == v1beta1.CloneSetConditionFailedUpdate
		return failed && failures[c.Type] == ""
	})
	for _, t := range []v1beta1.CloneSetConditionType{v1beta1.CloneSetConditionFailedScale, v1beta1.CloneSetConditionFailedUpdate} {
		if m := failures[t]; m != "" {
			list = p.setCondition(list, v1beta1.CloneSetCondition{Type: t, Status: corev1.ConditionTrue, Message: m})
		}
	}
	p.out.Status.Conditions = p.progressing(list)
	if len(p.out.Status.Conditions) == 0 {
		p.out.Status.Conditions = nil
	}
}

// setCondition replaces one condition. The transition time is kept unless the status changes; equal conditions stay untouched.
func (p *pass) setCondition(list []v1beta1.CloneSetCondition, c v1beta1.CloneSetCondition) []v1beta1.CloneSetCondition {
	c.LastUpdateTime, c.LastTransitionTime = p.now(), p.now()
	i := slices.IndexFunc(list, func(o v1beta1.CloneSetCondition) bool { return o.Type == c.Type })
	if i < 0 {
		return append(list, c)
	}
	old := &list[i]
	if old.Status == c.Status && old.Reason == c.Reason && old.Message == c.Message {
		return list
	}
	if old.Status == c.Status {
		c.LastTransitionTime = old.LastTransitionTime
	}
	list[i] = c
	return list
}

// now is the time as the server stores it, in whole seconds.
func (p *pass) now() metav1.Time { return metav1.NewTime(p.w.Now.Truncate(time.Second)) }

// progressing is the Progressing condition (cloneset.md 11.2 and 11.3). Unlike upstream's its clock starts anew whenever
// there is progress or another revision.
func (p *pass) progressing(list []v1beta1.CloneSetCondition) []v1beta1.CloneSetCondition {
	const t = v1beta1.CloneSetConditionProgressing
	i := slices.IndexFunc(list, func(c v1beta1.CloneSetCondition) bool { return c.Type == t })
	limit := p.set.Spec.ProgressDeadlineSeconds
	if limit == nil || *limit == v1beta1.NoProgressDeadline {
		if i >= 0 {
			list = slices.Delete(list, i, i+1)
		}
		return list
	}
	s, was := &p.out.Status, &p.set.Status
	c := v1beta1.CloneSetCondition{Type: t, Status: corev1.ConditionTrue}
	replicas := int32(p.spec.replicas)
	switch {
	case s.CurrentRevision == s.UpdateRevision && s.Replicas == replicas && s.UpdatedReplicas == replicas && s.UpdatedAvailableReplicas == replicas:
		c.Reason, c.Message = v1beta1.CloneSetAvailable, "CloneSet is available"
	case p.spec.paused:
		c.Reason, c.Message = v1beta1.CloneSetProgressPaused, "CloneSet is paused"
	case s.ExpectedUpdatedReplicas < replicas && s.ExpectedUpdatedReplicas <= s.UpdatedAvailableReplicas:
		c.Reason, c.Message = v1beta1.CloneSetProgressPartitionAvailable, "CloneSet has been paused due to partition ready"
	default:
		c.Reason, c.Message = v1beta1.CloneSetProgressUpdated, "CloneSet is progressing"
		anew := i < 0 || s.UpdateRevision != was.UpdateRevision
		grew := s.UpdatedReplicas > was.UpdatedReplicas || s.ReadyReplicas > was.ReadyReplicas || s.AvailableReplicas > was.AvailableReplicas
		if anew {
			p.out.WakeAt(p.w.Now.Add(deadline(*limit)))
			break
		}
		old := &list[i]
		over := old.Reason == v1beta1.CloneSetProgressDeadlineExceeded
		if old.Reason == v1beta1.CloneSetProgressUpdated && grew {
			old.LastUpdateTime = p.now()
		}
		at := old.LastUpdateTime.Add(deadline(*limit))
		if over || old.Reason == v1beta1.CloneSetProgressUpdated && at.Before(p.w.Now) {
			c.Status, c.Reason = corev1.ConditionFalse, v1beta1.CloneSetProgressDeadlineExceeded
			c.Message = fmt.Sprintf("CloneSet revision %s has timed out progressing", s.UpdateRevision)
		} else if old.Reason == v1beta1.CloneSetProgressUpdated {
			p.out.WakeAt(at.Add(time.Second))
		} else {
			p.out.WakeAt(p.w.Now.Add(deadline(*limit)))
		}
	}
	return p.setCondition(list, c)
}

func deadline(seconds int32) time.Duration { return time.Duration(seconds) * time.Second }

// StatusChange is the write of a CloneSet's status. Status has the same fields in all versions of the kind.
type StatusChange struct {
	From, To v1beta1.CloneSetStatus
}

// PatchType implements plan.Change.
func (c *StatusChange) PatchType() types.PatchType { return types.MergePatchType }

// Body has the fields that differ; those that are gone are null. A status that was never written gets all fields, because
// the server requires the counters even where they are zero (cloneset.md 1).
func (c *StatusChange) Body() ([]byte, error) {
	from, err := fields(c.From)
	if err != nil {
		return nil, err
	}
	to, err := fields(c.To)
	if err != nil {
		return nil, err
	}
	if reflect.ValueOf(c.From).IsZero() {
		from = nil
	}
	diff := map[string]any{}
	for k, v := range to {
		if old, ok := from[k]; !ok || !reflect.DeepEqual(old, v) {
			diff[k] = v
		}
	}
	for k := range from {
		if _, ok := to[k]; !ok {
			diff[k] = nil
		}
	}
	return json.Marshal(map[string]any{"status": diff})
}

func fields(s v1beta1.CloneSetStatus) (map[string]any, error) {
	data, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("encode status: %w", err)
	}
	var m map[string]any
	if err := json.Unmarshal(data, &m); err != nil {
		return nil, fmt.Errorf("encode status: %w", err)
	}
	return m, nil
}

// Apply implements plan.Change.
func (c *StatusChange) Apply(obj plan.Object) error {
	set, ok := obj.(*v1beta1.CloneSet)
	if !ok {
		return fmt.Errorf("a CloneSet status cannot be applied to %T", obj)
	}
	set.Status = c.To
	return nil
}
