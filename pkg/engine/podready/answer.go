package podready

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/inplace"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
)

// Answer is what has to be written so that a new pod with the gate can become ready (inplace.md 8); nil when it was
// answered once, or when the planner of the pod's CloneSet does it. It is right only for this very copy of the pod.
func Answer(pod *corev1.Pod, now time.Time) *plan.Action {
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil && owner.Kind == plan.CloneSetKind.Kind && OfWorkload(pod) {
		return nil
	}
	change := inplace.InitialKruisePodReady(pod, now)
	if change == nil {
		return nil
	}
	return &plan.Action{
		Verb: plan.Patch, Subresource: plan.StatusSubresource, Change: change, ResourceVersion: pod.ResourceVersion,
		On:  plan.Ref{Kind: plan.PodKind, Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
		Why: "its readiness gate is answered",
	}
}
