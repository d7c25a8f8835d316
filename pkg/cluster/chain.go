package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
)

// chain is an action with those chained to it, and what became of them.
type chain struct {
	actions  []*plan.Action
	outcomes []Outcome
	doubts   []plan.Ref
	// failed stops the stage; broken, which a conflict sets too, stops the later stages.
	failed, broken bool
	retryAfter     time.Duration
}

func newChain(stage string, first *plan.Action) *chain {
	c := &chain{}
	for a := first; a != nil; a = a.Then {
		c.actions = append(c.actions, a)
		c.outcomes = append(c.outcomes, Outcome{Stage: stage, Action: *a, Result: Skipped})
	}
	return c
}

// chain writes the actions of one chain until one does not succeed. Several go on at once; each touches its own chain.
func (x *Executor) chain(ctx, write context.Context, subject Subject, c *chain) {
	judged := c.actions[0].ResourceVersion
	var last plan.Object
	for i, action := range c.actions {
		if ctx.Err() != nil {
			c.broken = true
			return
		}
		out, at := &c.outcomes[i], action.ResourceVersion
		if i > 0 && at != "" && at == judged && last != nil {
			at = last.GetResourceVersion()
		}
		started := time.Now()
		err := x.write(write, subject, action, at, out)
		out.Took = time.Since(started)
		c.judge(action, err, out)
		last = out.Object
		x.publish(subject, out)
		if out.Result != Done && out.Result != Checked {
			return
		}
	}
}

// judge turns the answer of the server into a result.
func (c *chain) judge(action *plan.Action, err error, out *Outcome) {
	switch {
	case err == nil:
		return
	case action.Verb == plan.Delete && apierrors.IsNotFound(err):
		return
	case observeAgain(err), apierrors.IsNotFound(err) && action.Verb != plan.Create:
		out.Result, c.broken = Conflicted, true
		c.doubts = append(c.doubts, action.On)
	case refused(err) || !unanswered(err):
		out.Result, c.failed, c.broken = Failed, true, true
	default:
		out.Result, c.failed, c.broken = Unknown, true, true
		c.doubts = append(c.doubts, action.On)
	}
	if seconds, ok := apierrors.SuggestsClientDelay(err); ok {
		c.retryAfter = time.Duration(seconds) * time.Second
	}
	err = Explain(err)
	if out.Result == Unknown {
		err = fmt.Errorf("%w; it may have been carried out", err)
	}
	out.Err = fmt.Errorf("%s %s %s: %w", action.Verb, action.On.Kind.Kind, action.On.Name, err)
}

// refusedError is a write that this side does not send.
type refusedError struct{ reason string }

func (e *refusedError) Error() string { return e.reason }

func refused(err error) bool {
	var r *refusedError
	return errors.As(err, &r)
}

// write sends one action and fills in the outcome of success.
func (x *Executor) write(ctx context.Context, subject Subject, action *plan.Action, at string, out *Outcome) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	dry := x.DryRun == DryRunServer
	out.Result = Done
	if dry {
		out.Result = Checked
	}
	var err error
	switch action.Verb {
	case plan.Create:
		out.Object, err = x.API.Create(ctx, action.On.Kind, action.Object, dry)
	case plan.Patch:
		out.Object, err = x.patch(ctx, action, at, dry)
	case plan.Delete:
		if action.On.UID == "" {
			return &refusedError{"a delete without a UID is never sent"}
		}
		var left plan.Object
		left, err = x.API.Delete(ctx, action.On, at, dry)
		if !dry && x.Overlay != nil && (err == nil || apierrors.IsNotFound(err)) {
			if left != nil {
				x.Overlay.Wrote(action.On.Kind, left)
			} else {
				x.Overlay.Gone(action.On)
			}
		}
		return err
	case plan.Evict:
		if action.On.UID == "" {
			return &refusedError{"an eviction without a UID is never sent"}
		}
		return x.API.Evict(ctx, action.On, dry)
	case plan.Record:
		if x.Events != nil && !dry && action.Event != nil {
			x.Events.Record(subject, *action.Event)
		}
		return nil
	default:
		return &refusedError{fmt.Sprintf("verb %q is not known", action.Verb)}
	}
	if err == nil && !dry && x.Overlay != nil {
		x.Overlay.Wrote(action.On.Kind, out.Object)
	}
	return err
}

func (x *Executor) patch(ctx context.Context, action *plan.Action, at string, dry bool) (plan.Object, error) {
	if action.On.UID == "" {
		return nil, &refusedError{"a patch without a UID is never sent"}
	}
	body, err := action.Change.Body()
	if err != nil {
		return nil, &refusedError{"the patch cannot be written: " + err.Error()}
	}
	as := action.Change.PatchType()
	if body, err = bind(as, body, action.On.UID, at); err != nil {
		return nil, &refusedError{"the patch cannot be bound to its object: " + err.Error()}
	}
	return x.API.Patch(ctx, action.On, action.Subresource, as, body, dry)
}

// bind adds the identity that a patch is meant for, and the version if one is given, so that the server answers with a
// conflict when the object has been replaced or has moved on.
func bind(as types.PatchType, body []byte, uid types.UID, resourceVersion string) ([]byte, error) {
	if as == types.JSONPatchType {
		var operations []any
		if err := json.Unmarshal(body, &operations); err != nil {
			return nil, err
		}
		pins := []any{map[string]any{"op": "replace", "path": "/metadata/uid", "value": uid}}
		if resourceVersion != "" {
			pins = append(pins, map[string]any{"op": "replace", "path": "/metadata/resourceVersion", "value": resourceVersion})
		}
		return json.Marshal(append(pins, operations...))
	}
	patch, err := fields(body)
	if err != nil {
		return nil, err
	}
	meta, err := fields(patch["metadata"])
	if err != nil {
		return nil, err
	}
	if meta["uid"], err = json.Marshal(uid); err != nil {
		return nil, err
	}
	if resourceVersion != "" {
		if meta["resourceVersion"], err = json.Marshal(resourceVersion); err != nil {
			return nil, err
		}
	}
	if patch["metadata"], err = json.Marshal(meta); err != nil {
		return nil, err
	}
	return json.Marshal(patch)
}

// fields opens one JSON object; nothing and null count as an empty one.
func fields(raw json.RawMessage) (map[string]json.RawMessage, error) {
	open := map[string]json.RawMessage{}
	if len(raw) == 0 {
		return open, nil
	}
	if err := json.Unmarshal(raw, &open); err != nil {
		return nil, err
	}
	if open == nil {
		open = map[string]json.RawMessage{}
	}
	return open, nil
}

// publish tells of an outcome and writes the events that go with it.
func (x *Executor) publish(subject Subject, out *Outcome) {
	if x.Events != nil && x.DryRun != DryRunServer {
		if done := out.Action.Done; done != nil && out.Result == Done {
			x.Events.Record(subject, *done)
		}
		if failed := out.Action.Failed; failed != nil && (out.Result == Failed || out.Result == Unknown) {
			event := *failed
			if event.Message != "" {
				event.Message += ": "
			}
			event.Message += errors.Unwrap(out.Err).Error()
			x.Events.Record(subject, event)
		}
	}
	if x.Told != nil {
		x.Told(*out)
	}
}
