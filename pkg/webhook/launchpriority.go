package webhook

import (
	"errors"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/launchorder"
)

// launchPriority gives a pod its launch order. It comes after whatever adds containers, so that these take part
// (launchorder.md 1.2). A priority that is none refuses the pod: without its order it would not be what was asked for.
func launchPriority(pod *corev1.Pod, at Situation) ([]string, error) {
	_, warnings, err := launchorder.Mutate(pod, launchorder.Options{Suffix: at.Suffix})
	var invalid *launchorder.InvalidError
	if errors.As(err, &invalid) {
		return nil, &Refusal{Err: err}
	}
	return warnings, err
}
