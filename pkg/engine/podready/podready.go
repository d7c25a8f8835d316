// Package podready decides at a pod's admission whether its readiness depends on KruisePodReady (workloadspread.md C1 step
// 1). With that gate several writers can take a pod out of its endpoints at once, see inplace.md 8. Whoever adds the gate
// needs somebody who answers it: the planner of the owner, or the manager's loop.
package podready

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/features"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
)

// Inject adds the gate to a pod whose controller is a workload of apps.kruise.io, or to any pod with the feature gate
// KruisePodReadinessGate. It adds it once, at the end of the list.
func Inject(pod *corev1.Pod, gates features.Gates) {
	if !gates.Enabled(features.KruisePodReadinessGate) && !OfWorkload(pod) {
		return
	}
	has := func(g corev1.PodReadinessGate) bool { return g.ConditionType == keys.KruisePodReady }
	if !slices.ContainsFunc(pod.Spec.ReadinessGates, has) {
		pod.Spec.ReadinessGates = append(pod.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: keys.KruisePodReady})
	}
}

// OfWorkload says that a pod's controller is a workload of apps.kruise.io.
func OfWorkload(pod *corev1.Pod) bool {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil {
		return false
	}
	version, err := schema.ParseGroupVersion(owner.APIVersion)
	return err == nil && version.Group == v1beta1.GroupName
}
