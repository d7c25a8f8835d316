package inplace

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/features"
)

// Facts is what can be known from one copy of a pod. They hold for its UID and resourceVersion and for one set of gates,
// and must not be changed.
type Facts struct {
	State *State
	Grace *Grace
	// ContainersComplete says that what was changed so far is in effect; Why says what is missing.
	ContainersComplete bool
	Why                string
	// Err says that an annotation cannot be read.
	Err error

	// more says that batches are left.
	more bool
}

// untouched are the facts of pods that were never updated in place.
var untouched = Facts{ContainersComplete: true}

// FactsOf reads the annotations of a pod and judges its containers. Pods without the annotations cost a few look-ups.
func FactsOf(pod *corev1.Pod, gates features.Gates) *Facts {
	state, hasState, err := ParseState(pod)
	if err != nil {
		return &Facts{Err: err, Why: err.Error()}
	}
	grace, hasGrace, err := ParseGrace(pod)
	if err != nil {
		return &Facts{Err: err, Why: err.Error()}
	}
	if !hasState && !hasGrace {
		return &untouched
	}
	facts := &Facts{State: state, Grace: grace, ContainersComplete: true}
	if hasState {
		work := state.next()
		facts.more = !work.IsZero()
		facts.ContainersComplete, facts.Why = ContainersComplete(pod, state, gates)
	}
	return facts
}

// Complete says whether the update of the pod is complete, and if not, why (inplace.md 6.1). A pod that was never
// updated in place is complete. It says nothing about containers being ready.
func (f *Facts) Complete() (bool, string) {
	switch {
	case f.Err != nil:
		return false, f.Why
	case f.Grace != nil:
		return false, "its grace period has not ended"
	case f.State == nil:
		return true, ""
	case !f.ContainersComplete:
		return false, f.Why
	case f.more:
		return false, "containers are left for the next batch"
	}
	return true, ""
}

// Complete is FactsOf(pod, gates).Complete().
func Complete(pod *corev1.Pod, gates features.Gates) (bool, string) {
	return FactsOf(pod, gates).Complete()
}
