package inplace

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/revision"
)

// Writes begin an update, in this order. Each is computed from the same copy of the pod and holds without the others
// having been seen. NotReady is written at the resourceVersion of that copy. What is nil is not needed.
type Writes struct {
	// NotReady turns the gate condition False, in the status subresource.
	NotReady *plan.PodChange
	// Resize goes to the resize subresource. When the server refuses it, ReadyConditionTrue puts the condition back.
	Resize *plan.PodChange
	// Update changes the pod itself: revision, state, and either the first batch or the grace annotation.
	Update *plan.PodChange
}

// Start begins an update of the pod (inplace.md 4). Marks is what the caller writes along: revision labels, lifecycle
// state and its timestamp. What an unfinished update still owed to the pod becomes part of this one; a pending grace
// period goes on counting from its beginning.
func Start(pod *corev1.Pod, spec *Spec, marks plan.MetaChange, o Options, now time.Time) (Writes, error) {
	before, _, _ := ParseState(pod) // an unreadable state is replaced
	spec, since := withPending(pod, spec, before, now)
	state := &State{
		Revision:              spec.Revision,
		UpdateTimestamp:       metav1.NewTime(since),
		UpdateEnvFromMetadata: spec.EnvFromMetadata,
		UpdateResources:       len(spec.Resources) > 0,
		UpdateImages:          len(spec.Images) > 0,
	}
	var writes Writes
	if NeedsUnready(pod, spec) {
		writes.NotReady = notReady(pod, now)
	}
	update := &plan.PodChange{}
	if spec.GraceSeconds > 0 {
		grace, err := spec.grace()
		if err != nil {
			return Writes{}, err
		}
		state.LastContainerStatuses = unfollowed(pod, spec.Images, before)
		if err := write(update, pod, grace, keys.InPlaceUpdateGraceAnnotation, keys.InPlaceUpdateGraceOldAnnotation); err != nil {
			return Writes{}, err
		}
	} else {
		update.Meta = metaAfter(&plan.MetaChange{}, &spec.Meta)
		dropGrace(update, pod)
		var err error
		if writes.Resize, err = applyBatch(update, pod, &spec.Work, state, before, o.Resize, now); err != nil {
			return Writes{}, fmt.Errorf("update pod %s: %w", pod.Name, err)
		}
	}
	update.Meta = metaAfter(&update.Meta, &marks)
	if err := writeState(update, pod, state); err != nil {
		return Writes{}, err
	}
	writes.Update = update
	return writes, nil
}

// unfollowed are the records of containers that have not followed the update before this one. The end of the grace period
// needs them: it must know what image such a container was made from.
func unfollowed(pod *corev1.Pod, images map[string]string, before *State) map[string]LastStatus {
	var kept map[string]LastStatus
	for name := range images {
		last, ok := lastOf(before, name)
		status := containerStatus(pod, name)
		if !ok || status == nil || last.ContainerID != status.ContainerID || last.ImageID != status.ImageID {
			continue
		}
		if kept == nil {
			kept = map[string]LastStatus{}
		}
		kept[name] = last
	}
	return kept
}

// withPending is the update together with what an unfinished one on the way to the pod's present revision still owed:
// all of it during its grace period, its later batches afterwards. It also says when the whole began.
func withPending(pod *corev1.Pod, spec *Spec, before *State, now time.Time) (*Spec, time.Time) {
	label := pod.Labels[keys.ControllerRevisionHashLabel]
	var owed *Spec
	since := now
	if grace, found, err := ParseGrace(pod); found && err == nil && revision.Same(grace.Revision, label) {
		if owed, err = grace.spec(); err != nil {
			owed = nil
		}
		if before != nil && !before.UpdateTimestamp.IsZero() {
			since = before.UpdateTimestamp.Time
		}
	} else if before != nil && revision.Same(before.Revision, label) {
		owed = &Spec{Work: before.next()}
	}
	if owed == nil {
		return spec, since
	}
	all := *spec
	all.Work = spec.after(&owed.Work)
	all.Meta = metaAfter(&owed.Meta, &spec.Meta)
	all.EnvFromMetadata = spec.EnvFromMetadata || len(owed.RefMetadata) > 0
	if len(owed.Meta.AddFinalizers)+len(owed.Meta.RemoveFinalizers) > 0 {
		all.FinalizerOrder = nil
	}
	return &all, since
}
