package inplace

import (
	"errors"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
)

// errNoResize stops an update that needs what the server does not have.
var errNoResize = errors.New("this server cannot resize running pods")

// applyBatch puts the next batch of work into a change of the pod and records it in state, which is changed
// (inplace.md 5). The resources that go through the resize subresource come back as a change of their own. Before is
// the state that the pod has had until now, if any.
func applyBatch(change *plan.PodChange, pod *corev1.Pod, work *Work, state, before *State, mode ResizeMode, now time.Time) (*plan.PodChange, error) {
	batch, todo, later := NextBatch(pod, work)
	state.setNext(later)
	state.PreCheckBeforeNext = nil
	if !later.IsZero() {
		state.PreCheckBeforeNext = &PreCheck{ContainersRequiredReady: batch}
	}
	if len(batch) > 0 {
		record := BatchRecord{Timestamp: metav1.NewTime(now), Containers: batch}
		state.ContainerBatchesRecord = append(state.ContainerBatchesRecord[:len(state.ContainerBatchesRecord):len(state.ContainerBatchesRecord)], record)
	}
	remember(pod, todo.Images, state, before)

	change.Images = todo.Images
	for _, ref := range todo.RefMetadata {
		change.Meta.Labels = overlay(change.Meta.Labels, ref.Labels)
		change.Meta.Annotations = overlay(change.Meta.Annotations, ref.Annotations)
	}
	resources := changedResources(pod, todo.Resources)
	switch {
	case len(resources) == 0:
		return nil, nil
	case mode == ResizeSubresource:
		return &plan.PodChange{Resources: resources}, nil
	case mode == ResizeInSpec:
		change.Resources = resources
		return nil, nil
	}
	return nil, errNoResize
}

// remember notes what runs in the containers whose image changes, in a new map.
func remember(pod *corev1.Pod, images map[string]string, state, before *State) {
	if len(images) == 0 {
		return
	}
	last := maps.Clone(state.LastContainerStatuses)
	if last == nil {
		last = make(map[string]LastStatus, len(images))
	}
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		status := containerStatus(pod, c.Name)
		if _, changes := images[c.Name]; !changes || status == nil {
			continue
		}
		now := LastStatus{ImageID: status.ImageID, ContainerID: status.ContainerID, Image: c.Image, Generation: pod.Generation}
		if earlier, ok := lastOf(before, c.Name); ok && earlier.ImageID == status.ImageID {
			switch earlier.ContainerID {
			case "":
				// OpenKruise began the update before this one, and the container may not have followed yet: nobody
				// knows what image it was made from, so nothing can be said about a restart.
				now.ContainerID, now.Image = "", ""
			case status.ContainerID:
				// The container has not followed the update before this one, so it is from the image before that.
				now.Image = earlier.Image
			}
		}
		last[c.Name] = now
	}
	if len(last) > 0 {
		state.LastContainerStatuses = last
	}
}

func lastOf(state *State, container string) (LastStatus, bool) {
	if state == nil {
		return LastStatus{}, false
	}
	last, ok := state.LastContainerStatuses[container]
	return last, ok
}

func containerStatus(pod *corev1.Pod, container string) *corev1.ContainerStatus {
	for i := range pod.Status.ContainerStatuses {
		if s := &pod.Status.ContainerStatuses[i]; s.Name == container {
			return s
		}
	}
	return nil
}

// changedResources are the cpu and memory values that differ from the pod's, by container.
func changedResources(pod *corev1.Pod, wanted map[string]corev1.ResourceRequirements) map[string]corev1.ResourceRequirements {
	var changed map[string]corev1.ResourceRequirements
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		w, ok := wanted[c.Name]
		if !ok {
			continue
		}
		var r corev1.ResourceRequirements
		r.Limits = changedQuantities(c.Resources.Limits, w.Limits)
		r.Requests = changedQuantities(c.Resources.Requests, w.Requests)
		if len(r.Limits)+len(r.Requests) == 0 {
			continue
		}
		if changed == nil {
			changed = map[string]corev1.ResourceRequirements{}
		}
		changed[c.Name] = r
	}
	return changed
}

func changedQuantities(is, wanted corev1.ResourceList) corev1.ResourceList {
	var changed corev1.ResourceList
	for name, q := range wanted {
		if old, ok := is[name]; resizable(name) && (!ok || old.Cmp(q) != 0) {
			putQuantity(&changed, name, q)
		}
	}
	return changed
}
