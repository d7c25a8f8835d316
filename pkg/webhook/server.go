package webhook

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/features"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
)

// Options say how requests are answered.
type Options struct {
	Gates features.Gates
	// Left are the namespaces whose objects are admitted as they are: that of the manager and kube-system.
	Left []string
	// Strict refuses a pod when a step fails, for who registers the pod webhook with the failure policy Fail.
	Strict bool
	// FindPod reads a pod; it returns nil when there is none. With a nil FindPod names of pods are taken as they are.
	FindPod func(ctx context.Context, namespace, name string) (*corev1.Pod, error)
	// Observe hears of every answer; nil is allowed.
	Observe func(Answer)
	// Steps overrides the steps of a pod's admission; nil means Steps(Gates).
	Steps []Step
	Log   *slog.Logger
}

// Answer is what Observe hears.
type Answer struct {
	Path string
	Took time.Duration
	// Allowed is false for a refused request and for one that could not be understood.
	Allowed bool
	// Missed are the steps of a pod's admission that were left out.
	Missed []string
}

// Handlers are the paths of the server.
func Handlers(o Options) map[string]http.Handler {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Steps == nil {
		o.Steps = Steps(o.Gates)
	}
	sets := &cloneSets{Options: o}
	return map[string]http.Handler{
		keys.MutatePodPath:        o.handler(keys.MutatePodPath, newPipeline(o).handle),
		keys.MutateCloneSetPath:   o.handler(keys.MutateCloneSetPath, sets.mutate),
		keys.ValidateCloneSetPath: o.handler(keys.ValidateCloneSetPath, sets.validate),
		keys.ConvertPath:          &converter{Options: o},
	}
}

// handler answers admission requests at a path. A panic becomes a refusal with code 500.
func (o Options) handler(path string, answer func(context.Context, admission.Request) (admission.Response, []string)) http.Handler {
	return &admission.Webhook{Handler: admission.HandlerFunc(func(ctx context.Context, req admission.Request) (response admission.Response) {
		begin := time.Now()
		var missed []string
		defer func() {
			if o.Observe != nil {
				o.Observe(Answer{Path: path, Took: time.Since(begin), Allowed: response.Allowed, Missed: missed})
			}
		}()
		if slices.Contains(o.Left, req.Namespace) {
			return admission.Allowed("")
		}
		response, missed = answer(ctx, req)
		return response
	})}
}
