package rollout

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/commands/cli"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/reconcile"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/view"
)

// follow drives or watches until the goal holds or something ends it, and turns the end into an exit code.
func (o *options) follow(ctx context.Context, deps *cli.Deps, s *subject, claim *reconcile.Claim, v *voice) error {
	v.narrator.Back = s.wayBack(ctx, deps, v.recorded)
	run, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	v.refuse = cancel
	attending, leave := context.WithCancel(context.WithoutCancel(ctx))
	defer leave()
	go v.attend(attending, ctx)

	options := reconcile.RunOptions{Object: s.set, Timeout: o.timeout}
	if !o.intent.IsZero() {
		options.Missing = func(object plan.Object) []string {
			set, ok := object.(*v1beta1.CloneSet)
			if !ok {
				return nil
			}
			return o.intent.Missing(set)
		}
	}
	result := claim.Run(run, options)
	claim.Release() // what it tells belongs before the answer
	r := v.snapshot(s, cli.DriverOf(claim.Choice.Driver))
	r.Done, r.Stopped, r.Detail = result.Reached, result.Why, result.Detail
	if o.failed != "" && result.Reached {
		r.Done, r.Stopped, r.Detail = false, view.StopFailed, o.failed+"; all pods are taken back"
		v.say(view.Line{Text: "failed: " + view.Clean(r.Detail), Tone: view.Bad, Result: true})
	}
	if err := o.answer(deps, r); err != nil {
		return err
	}
	if o.failed != "" && result.Reached {
		return cli.Stopped(cli.RolloutFailed)
	}
	return ending(run, result)
}

// ending turns the end of a run into an error with an exit code; the voice has told it already.
func ending(ctx context.Context, result *reconcile.Result) error {
	if result.Reached {
		return nil
	}
	switch result.Why {
	case view.StopInterrupted:
		var cause *cli.Error
		if errors.As(context.Cause(ctx), &cause) {
			return cause
		}
	case view.StopTimeout:
		return cli.Stopped(cli.TimedOut)
	case view.StopPaused:
		return cli.Stopped(cli.Paused)
	case view.StopSuperseded, view.StopLeaseLost, view.StopDriver:
		return cli.Stopped(cli.Superseded)
	case view.StopFailed:
		// A change that the strategy forbids was refused by the voice already, in a better sentence.
		var refused *cli.Error
		if errors.As(context.Cause(ctx), &refused) && refused.Code == cli.Usage {
			return refused
		}
		var status apierrors.APIStatus
		if !errors.As(result.Err, &status) {
			return cli.Stopped(cli.RolloutFailed)
		}
	}
	return cli.Stopped(cli.Failure)
}

// wayBack is the command that takes the change back: the images of before this command or, when it went on with an earlier
// one, of the revision that the pods come from. It is empty when images alone do not do it.
func (s *subject) wayBack(ctx context.Context, deps *cli.Deps, recorded []view.Change) string {
	images := map[string]string{}
	for _, c := range recorded {
		if container, ok := c.Container(); ok {
			images[container] = c.From
		}
	}
	if len(images) == 0 {
		images = s.imagesOfCurrent(ctx)
	}
	if len(images) == 0 {
		return ""
	}
	command := s.command(deps)
	for _, container := range slices.Sorted(maps.Keys(images)) {
		command += " --image " + container + "=" + images[container]
	}
	return command
}

// imagesOfCurrent reads the revision that the workload comes from, and lists its images that differ from the template's.
func (s *subject) imagesOfCurrent(ctx context.Context) map[string]string {
	name := s.set.Status.CurrentRevision
	if name == "" || name == s.set.Status.UpdateRevision {
		return nil
	}
	object, err := s.client.Get(ctx, plan.ControllerRevisionKind, s.namespace, name)
	if err != nil {
		return nil
	}
	revision, ok := object.(*appsv1.ControllerRevision)
	if !ok {
		return nil
	}
	var data struct {
		Spec struct{ Template corev1.PodTemplateSpec }
	}
	if json.Unmarshal(revision.Data.Raw, &data) != nil {
		return nil
	}
	old := map[string]string{}
	for _, c := range data.Spec.Template.Spec.Containers {
		old[c.Name] = c.Image
	}
	images := map[string]string{}
	for _, c := range s.set.Spec.Template.Spec.Containers {
		if image, ok := old[c.Name]; ok && image != c.Image {
			images[c.Name] = image
		}
	}
	return images
}
