package inplace

import (
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/revision"
)

// StepKind says what comes next for a pod.
type StepKind string

// The kinds of steps.
const (
	// StepNone: there is nothing to do.
	StepNone StepKind = ""
	// StepGrace: the grace period runs, Until says how long.
	StepGrace StepKind = "grace"
	// StepPending: the node has not finished, Note says what is missing.
	StepPending StepKind = "pending"
	// StepFinishGrace: the grace period is over, the first batch is written.
	StepFinishGrace StepKind = "finish grace"
	// StepDropGrace: the revision of the pod has changed, what waited for the grace period is dropped.
	StepDropGrace StepKind = "drop grace"
	// StepNextBatch: the batch before is complete and ready, the next is written.
	StepNextBatch StepKind = "next batch"
	// StepReady: the gate condition turns True.
	StepReady StepKind = "ready"
)

// Step is what the bookkeeping of in-place updates wants for one pod now.
type Step struct {
	Kind StepKind
	// Until is the end of the grace period.
	Until time.Time
	// Note is a clause for people.
	Note string
	// Resize, if any, goes to the resize subresource before Change.
	Resize *plan.PodChange
	// Change goes to the pod, for StepReady to its status. The first of Resize and Change is written at the
	// resourceVersion of the copy that was judged and is not retried; a Change after a Resize has no precondition.
	Change *plan.PodChange
}

// Refresh is called for every active pod in every pass (inplace.md 7). Facts may be known from before; nil computes
// them. An error means that an annotation cannot be used; Repair then makes an update that replaces it.
func Refresh(pod *corev1.Pod, facts *Facts, o Options, now time.Time) (Step, error) {
	if facts == nil {
		facts = FactsOf(pod, o.Gates)
	}
	switch {
	case facts.Err != nil:
		return Step{}, facts.Err
	case facts.Grace != nil:
		return refreshGrace(pod, facts, o, now)
	case facts.State != nil && !facts.ContainersComplete:
		return Step{Kind: StepPending, Note: facts.Why}, nil
	case facts.State != nil && facts.more:
		return nextBatch(pod, facts.State, o, now)
	}
	if change := ReadyConditionTrue(pod, now); change != nil {
		return Step{Kind: StepReady, Change: change}, nil
	}
	return Step{}, nil
}

var errGraceWithoutState = errors.New("a grace period without the record of its update")

// refreshGrace ends the grace period when it is over (inplace.md 4.1).
func refreshGrace(pod *corev1.Pod, facts *Facts, o Options, now time.Time) (Step, error) {
	change := &plan.PodChange{}
	dropGrace(change, pod)
	if !revision.Same(facts.Grace.Revision, pod.Labels[keys.ControllerRevisionHashLabel]) {
		return Step{Kind: StepDropGrace, Change: change, Note: "its revision has changed meanwhile"}, nil
	}
	if facts.State == nil {
		return Step{}, fmt.Errorf("pod %s: %w", pod.Name, errGraceWithoutState)
	}
	until := facts.State.UpdateTimestamp.Add(time.Duration(facts.Grace.GraceSeconds) * time.Second)
	if now.Before(until) {
		return Step{Kind: StepGrace, Until: until}, nil
	}
	spec, err := facts.Grace.spec()
	if err != nil {
		return Step{}, fmt.Errorf("pod %s: %w", pod.Name, err)
	}
	change.Meta = metaAfter(&spec.Meta, &change.Meta)
	return batchStep(StepFinishGrace, change, pod, &spec.Work, facts.State, o, now)
}

// nextBatch begins the next batch once the one before is ready.
func nextBatch(pod *corev1.Pod, state *State, o Options, now time.Time) (Step, error) {
	if check := state.PreCheckBeforeNext; check != nil {
		for _, name := range check.ContainersRequiredReady {
			if status := containerStatus(pod, name); status == nil || !status.Ready {
				return Step{Kind: StepPending, Note: "container " + name + " is not ready yet, the next ones wait for it"}, nil
			}
		}
	}
	work := state.next()
	return batchStep(StepNextBatch, &plan.PodChange{}, pod, &work, state, o, now)
}

func batchStep(kind StepKind, change *plan.PodChange, pod *corev1.Pod, work *Work, state *State, o Options, now time.Time) (Step, error) {
	updated := *state
	resize, err := applyBatch(change, pod, work, &updated, state, o.Resize, now)
	if err != nil {
		return Step{}, fmt.Errorf("update pod %s: %w", pod.Name, err)
	}
	if err := writeState(change, pod, &updated); err != nil {
		return Step{}, err
	}
	step := Step{Kind: kind, Change: change, Resize: resize}
	if n := len(updated.ContainerBatchesRecord); n > len(state.ContainerBatchesRecord) {
		step.Note = strings.Join(updated.ContainerBatchesRecord[n-1].Containers, ", ")
	}
	return step, nil
}
