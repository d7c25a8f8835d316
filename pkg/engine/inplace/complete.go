package inplace

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/features"
)

// ContainersComplete says whether what the state records is in effect, and if not, what is missing (inplace.md 6.1 and
// 6.2).
func ContainersComplete(pod *corev1.Pod, state *State, gates features.Gates) (bool, string) {
	meta, err := ParseRuntimeMeta(pod)
	if err != nil {
		return false, err.Error()
	}
	if state.UpdateEnvFromMetadata {
		if why := envMissing(pod, meta); why != "" {
			return false, why
		}
	}
	if state.UpdateResources && gates.Enabled(features.InPlaceWorkloadVerticalScaling) {
		if why := resourcesMissing(pod, state); why != "" {
			return false, why
		}
	}
	if len(state.LastContainerStatuses) == 0 || meta != nil && meta.plainConsistent(pod) {
		return true, ""
	}
	for _, name := range slices.Sorted(maps.Keys(state.LastContainerStatuses)) {
		if why := imageMissing(pod, name, state.LastContainerStatuses[name]); why != "" {
			return false, why
		}
	}
	return true, ""
}

// envMissing says which container with env from metadata was not seen to have the present values. Containers without
// such env have nothing to renew.
func envMissing(pod *corev1.Pod, meta *RuntimeMeta) string {
	if meta == nil {
		return "the node daemon has not reported on the pod, so nobody knows whether env from metadata is renewed"
	}
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		if readsMetadata(c) && !meta.envConsistent(pod, c) {
			return fmt.Sprintf("container %s has not restarted with the new labels or annotations", c.Name)
		}
	}
	return ""
}

func readsMetadata(c *corev1.Container) bool {
	for range envRefs(c) {
		return true
	}
	return false
}

// resourcesMissing compares cpu and memory of the containers that take part.
func resourcesMissing(pod *corev1.Pod, state *State) string {
	takesPart := map[string]bool{}
	for _, batch := range state.ContainerBatchesRecord {
		for _, name := range batch.Containers {
			takesPart[name] = true
		}
	}
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		if len(takesPart) > 0 && !takesPart[c.Name] {
			continue
		}
		status := containerStatus(pod, c.Name)
		if status == nil {
			return fmt.Sprintf("container %s has no status", c.Name)
		}
		reported := status.Resources
		if reported == nil {
			reported = &corev1.ResourceRequirements{}
		}
		if !hasQuantities(c.Resources.Limits, reported.Limits) || !hasQuantities(c.Resources.Requests, reported.Requests) {
			return fmt.Sprintf("container %s has not got its new resources%s", c.Name, resizeNote(pod))
		}
	}
	return ""
}

func hasQuantities(wanted, is corev1.ResourceList) bool {
	for name, q := range wanted {
		if !resizable(name) {
			continue
		}
		if got, ok := is[name]; !ok || got.Cmp(q) != 0 {
			return false
		}
	}
	return true
}

// resizeNote is what the kubelet says about a resize that it has not done, to stand at the end of a sentence.
func resizeNote(pod *corev1.Pod) string {
	if c := condition(pod, corev1.PodResizePending); c != nil && c.Status == corev1.ConditionTrue {
		return ": " + joined(c.Reason, c.Message)
	}
	if c := condition(pod, corev1.PodResizeInProgress); c != nil && c.Status == corev1.ConditionTrue && c.Reason != "" {
		return ": " + joined(c.Reason, c.Message)
	}
	if pod.Status.Resize != "" {
		return ": " + string(pod.Status.Resize)
	}
	return ""
}

func joined(reason, message string) string {
	if message == "" {
		return reason
	}
	return reason + ", " + message
}

// imageMissing says why a container whose image was changed does not run the new one yet. Where the state has the old
// container's id, the container must have been replaced, unless the image it was made from came back before it was.
func imageMissing(pod *corev1.Pod, name string, last LastStatus) string {
	status := containerStatus(pod, name)
	if status == nil {
		return fmt.Sprintf("container %s has no status", name)
	}
	image := specImage(pod, name)
	ours := last.Generation > 0 || last.ContainerID != ""
	if seen := pod.Status.ObservedGeneration; ours && seen > 0 && seen < pod.Generation {
		return fmt.Sprintf("the kubelet has not seen the change of container %s", name)
	}
	if last.ContainerID != "" {
		switch status.ContainerID {
		case "":
			return fmt.Sprintf("container %s has not started%s", name, waitNote(status))
		case last.ContainerID:
			if last.Image != "" && last.Image == image {
				return ""
			}
			return fmt.Sprintf("container %s still is the old one%s", name, waitNote(status))
		}
	}
	if status.ImageID != last.ImageID || sameImage(image, status.Image, status.ImageID) {
		return ""
	}
	if last.ContainerID != "" && status.State.Running != nil {
		return ""
	}
	return fmt.Sprintf("container %s does not run image %s%s", name, image, waitNote(status))
}

// waitNote is why a container waits, in the kubelet's words, to stand at the end of a sentence.
func waitNote(status *corev1.ContainerStatus) string {
	if w := status.State.Waiting; w != nil && w.Reason != "" {
		return ": " + joined(w.Reason, w.Message)
	}
	return ""
}

func specImage(pod *corev1.Pod, container string) string {
	for i := range pod.Spec.Containers {
		if pod.Spec.Containers[i].Name == container {
			return pod.Spec.Containers[i].Image
		}
	}
	return ""
}
