package reconcile

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/cluster"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/view"
)

const (
	// gather is how long a loop waits after an event for those that come with it.
	gather = 5 * time.Millisecond
	// lazyEvery spaces the writes of lazy stages while there is other work; the last one is not held back.
	lazyEvery = 500 * time.Millisecond
	// minRetry doubles up to maxRetry after failures and repeated conflicts.
	minRetry = 50 * time.Millisecond
	maxRetry = time.Minute
)

// runner looks after one subject. Only one goroutine uses it.
type runner struct {
	session *Session
	target  Target
	uid     types.UID
	sight   *sight
	planner Planner
	exec    *cluster.Executor
	teller  *teller
	// wake receives when something changed that concerns the subject.
	wake chan struct{}
	// since is when the first event came that no look has covered, in nanoseconds; 0 for none.
	since atomic.Int64

	seed     uint64
	failures []cluster.Outcome
	doubts   []plan.Ref
	// retryAt holds back everything but lazy stages after a failure, as long as the subject has this generation.
	retryAt    time.Time
	generation int64
	retry      time.Duration
	conflicts  int
	lazyAt     time.Time
	// lazyRetryAt holds back lazy stages after a failure of theirs.
	lazyRetryAt time.Time
	// last is what was carried out without a fault at the last look, vain says that it had no effect the time before.
	last []plan.Stage
	vain bool
	// mute counts how often in a row the status could not be written, or was not what had been written.
	mute int
	// only names the stages that are carried out; nil means all.
	only []string
	// stale says that another drove the subject until now, so that its last writes may not have been seen.
	stale    bool
	waits    []plan.Wait
	troubled bool
}

func (s *Session) runner(t Target, uid types.UID, v *sight, tell *teller, events *cluster.Recorder) *runner {
	r := &runner{
		session: s, target: t, uid: uid, sight: v, teller: tell, seed: s.Random(), wake: make(chan struct{}, 1),
		planner: t.New(Settings{Gates: s.Gates, APIVersion: t.APIVersion, Resize: s.Resize}),
	}
	r.exec = &cluster.Executor{API: s.API, Overlay: v.mirrors, Events: events, Parallel: s.Parallel, Told: r.told}
	return r
}

// poke says that it is time to look; it never waits.
func (r *runner) poke() {
	if r.session.Meter != nil {
		r.since.CompareAndSwap(0, time.Now().UnixNano())
	}
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// look is what one look at the subject found.
type look struct {
	subject  plan.Object
	decision *Decision
	// gone: the subject is no more.
	gone bool
	// wrong: the spec cannot be understood; nothing can be done until it changes.
	wrong error
	// err: the cluster could not be asked; worth another try.
	err error
}

// look observes and decides. It does not write.
func (r *runner) look(ctx context.Context) look {
	since := r.since.Swap(0)
	var err error
	if r.stale {
		more, err := r.sight.catchUp(ctx, r.uid)
		if err != nil {
			return look{err: err}
		}
		r.stale, r.doubts = false, append(r.doubts, more...)
	}
	if r.doubts, err = r.sight.mirrors.Resolve(ctx, r.session.API, r.doubts); err != nil {
		return look{err: err}
	}
	subject := r.sight.subjects.Get(r.uid)
	if subject == nil {
		return look{gone: true}
	}
	if bad, ok := subject.(*cluster.Unreadable); ok {
		return look{subject: bad, wrong: bad.Err}
	}
	if !r.session.Now().Before(r.retryAt) {
		r.failures = nil // the next try will tell
	}
	parts, err := r.sight.of(subject)
	if err != nil {
		return look{subject: subject, wrong: err}
	}
	scene := Scene{Now: r.session.Now(), Subject: subject, Parts: parts, Seed: r.seed, Failures: r.failures}
	if err := r.ask(ctx, &scene); err != nil {
		return look{err: err}
	}
	if r.target.NeedsNodes != nil && r.target.NeedsNodes(subject) {
		scene.NodeLabels = r.sight.nodes.of(ctx, r.session.API, parts[plan.PodKind], scene.Now)
	}
	began := time.Now()
	decision, err := r.planner.Decide(scene)
	r.measure(began, since)
	return look{subject: subject, decision: decision, wrong: err}
}

// ask reads what the planner has to know for certain.
func (r *runner) ask(ctx context.Context, scene *Scene) error {
	asker, ok := r.planner.(Asker)
	if !ok {
		return nil
	}
	refs := asker.Ask(*scene)
	if len(refs) == 0 {
		return nil
	}
	_, err := r.sight.mirrors.Resolve(ctx, r.session.API, refs)
	if err == nil {
		scene.Parts, err = r.sight.of(scene.Subject)
	}
	return err
}

// measure tells how long a decision took and how old the event was that asked for it.
func (r *runner) measure(began time.Time, since int64) {
	meter := r.session.Meter
	if meter == nil {
		return
	}
	kind := r.target.GroupKind.Kind
	meter.Planned(kind, time.Since(began))
	if since != 0 {
		meter.Waited(kind, began.Sub(time.Unix(0, since)))
	}
}

// tell passes on what a look found.
func (r *runner) tell(l look) {
	trouble := l.err
	if trouble == nil {
		trouble = l.wrong
	}
	switch {
	case trouble != nil:
		r.troubled = true
		r.teller.tell(view.Trouble{Head: r.head(), Err: trouble.Error()})
		return
	case r.troubled:
		r.troubled = false
		r.teller.tell(view.Trouble{Head: r.head()})
	}
	if l.gone {
		return
	}
	r.teller.tell(view.Planned{Head: r.head(), Object: l.subject, Plan: l.decision.Plan, Counts: l.decision.Counts})
	if waits := l.decision.Plan.Waits; !reflect.DeepEqual(waits, r.waits) {
		r.waits = waits
		r.teller.tell(view.Waiting{Head: r.head(), Waits: waits, Until: l.decision.Plan.Wake})
	}
}

func (r *runner) head() view.Head { return r.session.head(r.target) }

// act carries out what of a plan is due, and says when to look again at the latest: now for at once, zero for when
// something happens.
func (r *runner) act(ctx context.Context, l look) time.Time {
	now := r.session.Now()
	switch {
	case l.err != nil:
		return r.fail(now, 0)
	case l.gone || l.wrong != nil:
		return time.Time{}
	}
	if generation := l.subject.GetGeneration(); generation != r.generation {
		r.generation, r.retryAt, r.retry = generation, time.Time{}, 0
	}
	stages, later := r.due(l.decision.Plan, now)
	if len(stages) == 0 {
		return earliest(later, l.decision.Plan.Wake)
	}
	if sameWrites(stages, r.last) {
		// It was done and had no effect. Doing it again at once, or for ever at one pace, would only keep the server busy.
		if r.last, r.vain = nil, true; r.allLazy(stages) {
			r.mute++
		}
		return r.fail(now, 0)
	}
	report := r.exec.Run(ctx, r.subject(l.subject), stages)
	r.last = nil
	r.doubts = append(r.doubts, report.Doubts...)
	if len(report.Doubts) == 0 {
		r.seed++
	}
	if failures := report.Failures(); len(failures) > 0 {
		again := r.fail(r.session.Now(), report.RetryAfter)
		if !slices.ContainsFunc(failures, func(o cluster.Outcome) bool { return !r.lazy(o.Stage) }) {
			r.mute++
			r.lazyRetryAt = again // the status itself cannot be written: there is nothing to say and nowhere to say it
			return r.session.Now()
		}
		r.failures, r.retryAt = failures, again
		return r.session.Now() // to say so in the status
	}
	if len(report.Conflicts()) > 0 {
		if r.conflicts++; r.conflicts > 2 {
			r.retryAt = r.fail(r.session.Now(), 0)
		}
		return r.session.Now()
	}
	if r.retryAt.IsZero() {
		r.failures, r.conflicts = nil, 0
		if !r.vain {
			r.retry = 0
		}
	}
	if r.last, r.vain = stages, false; !r.allLazy(stages) {
		r.mute = 0
	}
	return r.session.Now()
}

// futile is how often the status is tried in vain before the goal counts as reached without it.
const futile = 7

// settles says that the goal holds although the status does not say so: it cannot be written, for want of the right or
// because the kind that is installed drops a field of it. What cannot come true is not waited for.
func (r *runner) settles(p *plan.Plan) bool { return p.Unwritten && r.mute >= futile }

func (r *runner) allLazy(stages []plan.Stage) bool {
	return !slices.ContainsFunc(stages, func(s plan.Stage) bool { return !r.lazy(s.Name) })
}

// due leaves out of a plan what has to wait, and says until when.
func (r *runner) due(p *plan.Plan, now time.Time) ([]plan.Stage, time.Time) {
	var lazy, busy []plan.Stage
	for _, stage := range p.Stages {
		if r.only != nil && !slices.Contains(r.only, stage.Name) {
			continue
		}
		if r.lazy(stage.Name) {
			lazy = append(lazy, stage)
		} else {
			busy = append(busy, stage)
		}
	}
	var later time.Time
	if now.Before(r.retryAt) {
		later, busy = r.retryAt, nil
	} else {
		r.retryAt = time.Time{}
	}
	if len(lazy) > 0 && now.Before(r.lazyRetryAt) {
		later, lazy = earliest(later, r.lazyRetryAt), nil
	}
	if next := r.lazyAt.Add(lazyEvery); len(lazy) > 0 && now.Before(next) && (len(busy) > 0 || len(p.Waits) > 0) {
		later, lazy = earliest(later, next), nil
	}
	if len(lazy) > 0 {
		r.lazyAt = now
	}
	return append(busy, lazy...), later
}

func (r *runner) lazy(stage string) bool { return slices.Contains(r.target.Lazy, stage) }

// fail is when to try again after a failure.
func (r *runner) fail(now time.Time, asked time.Duration) time.Time {
	r.retry = min(max(2*r.retry, minRetry), maxRetry)
	return now.Add(max(r.retry, asked))
}

func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

func (r *runner) subject(obj plan.Object) cluster.Subject {
	return cluster.Subject{
		Ref:        plan.Ref{Kind: r.target.GroupKind, Namespace: obj.GetNamespace(), Name: obj.GetName(), UID: obj.GetUID()},
		APIVersion: r.target.APIVersion, Component: r.target.Component,
	}
}

func (r *runner) told(o cluster.Outcome) {
	switch o.Result {
	case cluster.Done, cluster.Checked:
		r.teller.tell(view.Acted{Head: r.head(), Stage: o.Stage, Action: o.Action, DryRun: o.Result == cluster.Checked, Took: o.Took})
	case cluster.Failed, cluster.Unknown:
		if errors.Is(o.Err, context.Canceled) {
			return // we broke it off ourselves; how the run ends says enough
		}
		r.teller.tell(view.ActionFailed{
			Head: r.head(), Stage: o.Stage, Action: o.Action, Err: o.Err.Error(), Unknown: o.Result == cluster.Unknown,
		})
	}
}

// rest waits until it is time for the next look; false when the context ended.
func (r *runner) rest(ctx context.Context, until time.Time) bool {
	var timer <-chan time.Time
	if !until.IsZero() {
		wait := until.Sub(r.session.Now())
		if wait <= 0 {
			r.calm()
			return ctx.Err() == nil
		}
		t := time.NewTimer(wait)
		defer t.Stop()
		timer = t.C
	}
	select {
	case <-ctx.Done():
		return false
	case <-timer:
		return true
	case <-r.wake:
	}
	pause := time.NewTimer(gather)
	defer pause.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-pause.C:
	}
	r.calm()
	return true
}

// calm forgets signals that the next look covers.
func (r *runner) calm() {
	select {
	case <-r.wake:
	default:
	}
}
