package webhook

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/features"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/podready"
)

// Situation is what a step may know besides the pod.
type Situation struct {
	// Namespace is the request's; the pod's own may be empty.
	Namespace string
	Gates     features.Gates
	// Suffix are five random characters for a name that has to be known now.
	Suffix string
}

// Refusal is an error of a step that refuses the pod, because what it asks for cannot be. Every other error only leaves
// the step out.
type Refusal struct{ Err error }

// Error implements error.
func (e *Refusal) Error() string { return e.Err.Error() }

// Unwrap gives the reason.
func (e *Refusal) Unwrap() error { return e.Err }

// Step is one thing that becomes of a new pod.
type Step struct {
	// Name is what warnings and keys.MissedStepsAnnotation call it: one word, without commas.
	Name string
	// Mutate changes the pod, which is its own copy, and may say things that the user should know. It must do nothing to a
	// pod that it has already changed. It is pure: everything it knows comes in with its arguments.
	Mutate func(pod *corev1.Pod, at Situation) (warnings []string, err error)
}

// Steps are the steps of a pod's admission in their order (workloadspread.md C1); each may change what the next one sees.
// Without the gate PodWebhook there are none.
func Steps(gates features.Gates) []Step {
	if !gates.Enabled(features.PodWebhook) {
		return []Step{}
	}
	return []Step{
		{Name: "readiness-gate", Mutate: func(pod *corev1.Pod, at Situation) ([]string, error) {
			podready.Inject(pod, at.Gates)
			return nil, nil
		}},
		{Name: "launch-priority", Mutate: launchPriority},
	}
}
