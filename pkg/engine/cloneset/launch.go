package cloneset

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/launchorder"
)

// launchOrder gives a new pod its launch order, which is the webhook's to give where there is one; a webhook that comes after us
// does the same once more (launchorder.md 7).
func launchOrder(pod *corev1.Pod) error {
	_, _, err := launchorder.Mutate(pod, launchorder.Options{})
	return err
}

// launchWarnings tells which wishes for a launch order the pods of the present template will not get. A wish that cannot
// be understood is told when a pod is to be created.
func (p *pass) launchWarnings() {
	t := &p.set.Spec.Template
	warnings, err := launchorder.Check(&corev1.Pod{ObjectMeta: t.ObjectMeta, Spec: t.Spec})
	if err == nil {
		p.out.Warnings = append(p.out.Warnings, warnings...)
	}
}
