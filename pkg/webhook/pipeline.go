package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/launchorder"
)

const (
	// stepTime is how long one step may take, podTime all steps of a pod together.
	stepTime = 300 * time.Millisecond
	podTime  = 700 * time.Millisecond
	// maxStuck is how many calls of one step may hang; while they do, the step is left out at once.
	maxStuck = 8
)

// pipeline sends new pods through the steps.
type pipeline struct {
	Options
	// stuck counts the calls of each step that have not come back in time.
	stuck []atomic.Int32
}

func newPipeline(o Options) *pipeline {
	return &pipeline{Options: o, stuck: make([]atomic.Int32, len(o.Steps))}
}

// handle answers the creation of a pod (workloadspread.md C1).
func (p *pipeline) handle(_ context.Context, req admission.Request) (admission.Response, []string) {
	if !isPodCreation(req) {
		return admission.Allowed(""), nil
	}
	pod := &corev1.Pod{}
	if err := json.Unmarshal(req.Object.Raw, pod); err != nil {
		return admission.Errored(http.StatusBadRequest, fmt.Errorf("the object is no pod: %w", err)), nil
	}
	at := Situation{Namespace: req.Namespace, Gates: p.Gates, Suffix: rand.String(launchorder.SuffixLength)}
	out, missed, warnings, err := p.run(pod, at)
	if err != nil {
		return refused(err), missed
	}
	if len(missed) > 0 && p.Strict {
		return admission.Errored(http.StatusInternalServerError, errors.New(strings.Join(warnings, "; "))), missed
	}
	response, err := patched(req.Object.Raw, pod, out)
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err), missed
	}
	return response.WithWarnings(warnings...), missed
}

// refused is the answer to a pod that asks for what cannot be. It is the request that is wrong, not the user's rights, so
// the client sees a bad request and no "forbidden" (launchorder.md 1.2.3).
func refused(err error) admission.Response {
	response := admission.Errored(http.StatusBadRequest, err)
	response.Result.Reason = metav1.StatusReasonBadRequest
	return response
}

func isPodCreation(req admission.Request) bool {
	return req.Operation == "CREATE" && req.Resource.Group == "" && req.Resource.Resource == "pods" && req.SubResource == ""
}

// run sends a copy of the pod through the steps. Each works on a copy of its own, so that one that is left out has left
// no trace.
func (p *pipeline) run(pod *corev1.Pod, at Situation) (out *corev1.Pod, missed, warnings []string, refused error) {
	end := time.Now().Add(podTime)
	out = pod
	for i, step := range p.Steps {
		next, said, err := p.step(i, out, at, min(stepTime, time.Until(end)))
		var refusal *Refusal
		if errors.As(err, &refusal) {
			return nil, missed, nil, refusal
		}
		if err != nil {
			p.Log.Error("step of pod admission left out", "step", step.Name, "namespace", at.Namespace, "pod", pod.Name, "error", err.Error())
			missed = append(missed, step.Name)
			warnings = append(warnings, fmt.Sprintf("%s: left out for this pod: %v", step.Name, err))
			continue
		}
		out = next
		for _, warning := range said {
			warnings = append(warnings, step.Name+": "+warning)
		}
	}
	if len(missed) > 0 {
		out = out.DeepCopy()
		if out.Annotations == nil {
			out.Annotations = map[string]string{}
		}
		out.Annotations[keys.MissedStepsAnnotation] = strings.Join(missed, ",")
	}
	return out, missed, warnings, nil
}

type stepResult struct {
	pod      *corev1.Pod
	warnings []string
	err      error
}

// step runs one step. A step that hangs goes on in the background, where nobody waits for it.
func (p *pipeline) step(i int, pod *corev1.Pod, at Situation, within time.Duration) (*corev1.Pod, []string, error) {
	if within <= 0 {
		return nil, nil, errors.New("the steps before it took too long")
	}
	if p.stuck[i].Load() >= maxStuck {
		return nil, nil, errors.New("it hangs for other pods")
	}
	done := make(chan stepResult, 1)
	go func() {
		var r stepResult
		defer func() {
			if cause := recover(); cause != nil {
				r = stepResult{err: fmt.Errorf("it failed: %v", cause)}
			}
			done <- r
		}()
		r.pod = pod.DeepCopy()
		r.warnings, r.err = p.Steps[i].Mutate(r.pod, at)
	}()
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case r := <-done:
		return r.pod, r.warnings, r.err
	case <-timer.C:
		p.stuck[i].Add(1)
		go func() {
			<-done
			p.stuck[i].Add(-1)
		}()
		return nil, nil, fmt.Errorf("it took more than %s", within.Round(time.Millisecond))
	}
}
