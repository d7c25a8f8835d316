package install

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// ailments says in their own words why the pods of the pair are not ready; empty when nothing is known.
func (t *Target) ailments(ctx context.Context, namespace string) string {
	list, err := t.at(podResource, namespace).List(ctx, metav1.ListOptions{LabelSelector: componentLabel + " in (" + managerPlane + "," + daemonPlane + ")"})
	if err != nil {
		return ""
	}
	var found []string
	for i := range list.Items {
		pod := &corev1.Pod{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(list.Items[i].Object, pod); err != nil {
			continue
		}
		if why := ailment(pod); why != "" && !slices.Contains(found, why) {
			found = append(found, why)
		}
	}
	slices.Sort(found)
	return strings.Join(found, "; ")
}

// ailment says why a pod is not ready, without the pod's name, so that many pods say it once.
func ailment(pod *corev1.Pod) string {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return "not scheduled: " + c.Message
		}
	}
	for _, c := range pod.Status.ContainerStatuses {
		switch {
		case c.State.Waiting != nil && c.State.Waiting.Message != "":
			return fmt.Sprintf("%s: %s: %s", c.Name, c.State.Waiting.Reason, c.State.Waiting.Message)
		case c.LastTerminationState.Terminated != nil && !c.Ready:
			return fmt.Sprintf("%s: ended with code %d", c.Name, c.LastTerminationState.Terminated.ExitCode)
		case c.State.Running != nil && !c.Ready:
			return c.Name + ": runs and is not ready"
		}
	}
	return ""
}
