package reconcile

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/cluster"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/launchorder"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/view"
)

// openTime is how long the end of a run may take to open what is left.
const openTime = 5 * time.Second

// launch looks after the launch order of the pods of one workload while a run drives it.
type launch struct {
	session *Session
	target  Target
	sight   *sight
	teller  *teller
	events  *cluster.Recorder
	roster  *roster[struct{}]
	// lost ends when another drives.
	lost context.Context
}

// launchOf prepares it for the pods that a sight shows; nil for a workload without pods of its own. What goes wrong is told
// as the workload's.
func (s *Session) launchOf(t Target, of *sight, tell *teller, events *cluster.Recorder) (*launch, error) {
	pods := of.parts[plan.PodKind]
	if pods == nil {
		return nil, nil
	}
	kind := LaunchOrder()
	v := &sight{api: s.API, kind: kind, subjects: pods, mirrors: cluster.Mirrors{pods}, parts: map[schema.GroupKind]*cluster.Mirror{}}
	if err := v.shelve(plan.ConfigMapKind, t.Namespace); err != nil {
		return nil, err
	}
	return &launch{
		session: s, sight: v, events: events, roster: newRoster[struct{}](),
		target: Target{Served: Served{Kind: kind, APIVersion: corev1.SchemeGroupVersion.String()}, Namespace: t.Namespace},
		teller: newTeller(failuresOf(s.head(t).Subject, tell)),
	}, nil
}

// launch begins to look after the pods of a run that drives; nil when there is nothing to look after. It is called before
// the mirrors run.
func (c *Claim) launch(v *sight, tell *teller, events *cluster.Recorder) *launch {
	l, err := c.session.launchOf(c.target, v, tell, events)
	if err != nil || l == nil {
		return nil // without a selector there is no sight either
	}
	l.lost = c.lost
	v.also = map[schema.GroupKind]func(old, now plan.Object){plan.PodKind: l.mark}
	return l
}

// keep remembers the pods that still wait at the end of a run.
func (c *Claim) keep(v *sight) {
	if pods := v.parts[plan.PodKind]; pods != nil && c.held != nil {
		c.unopened = waiting(pods)
	}
}

// openAll opens what is left, unless another drives now, and tells of which pods.
func (c *Claim) openAll() {
	if c.held == nil || c.lost.Err() != nil || len(c.unopened) == 0 {
		return
	}
	tell := newTeller(c.session.Tell)
	defer tell.drain()
	told := c.session.open(c.lost, c.unopened, func(o cluster.Outcome) {
		if o.Result == cluster.Failed || o.Result == cluster.Unknown {
			tell.tell(view.ActionFailed{Head: c.session.head(c.target), Stage: o.Stage, Action: o.Action, Err: o.Err.Error(), Unknown: o.Result == cluster.Unknown})
		}
	})
	c.unopened = nil
	for _, e := range told {
		e.Head = c.session.head(c.target)
		tell.tell(e)
	}
}

// failuresOf passes on what went wrong with a pod as something that went wrong with its workload.
func failuresOf(subject view.Subject, tell *teller) func(view.Event) {
	return func(e view.Event) {
		if failed, ok := e.(view.ActionFailed); ok {
			failed.Subject = subject
			tell.tell(failed)
		}
	}
}

// mark says that something changed about a pod. It is called with the mirror locked and never waits.
func (l *launch) mark(old, now plan.Object) {
	if now == nil {
		now = old
	}
	if hasLaunchOrder(now) {
		l.roster.mark(now.GetUID(), struct{}{})
	}
}

// run looks after each pod that turns up, until the context ends, and waits for them.
func (l *launch) run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(l.lost, cancel)()
	var runners sync.WaitGroup
	defer runners.Wait()
	defer l.teller.drain()
	for {
		for _, r := range l.fresh() {
			runners.Go(func() { l.attend(ctx, r) })
		}
		select {
		case <-ctx.Done():
			return
		case <-l.roster.signal:
		}
	}
}

func (l *launch) fresh() []*runner {
	return l.roster.fresh(func(uid types.UID, _ struct{}) *runner {
		pod := l.sight.subjects.Get(uid)
		if pod == nil {
			return nil
		}
		t := l.target
		t.Name = pod.GetName()
		return l.session.runner(t, uid, l.sight, l.teller, l.events)
	})
}

// attend looks after one pod until it is gone.
func (l *launch) attend(ctx context.Context, r *runner) {
	defer l.roster.forget(r, struct{}{})
	for {
		until, gone := l.roster.turn(ctx, r)
		if gone || ctx.Err() != nil || !r.rest(ctx, until) {
			return
		}
	}
}

// waiting are the pods of a mirror that still wait for levels to open.
func waiting(pods *cluster.Mirror) []*corev1.Pod {
	var list []*corev1.Pod
	for _, obj := range pods.All() {
		if pod, ok := obj.(*corev1.Pod); ok && launchorder.Pending(pod) {
			list = append(list, pod)
		}
	}
	return list
}

// open opens what is left of the launch order of pods that nobody will look after any more, from the highest level to the
// lowest, so that none hangs for ever with containers that are not created (launchorder.md 7). It does what it can within
// openTime, and says of which pods, for each namespace.
func (s *Session) open(ctx context.Context, pods []*corev1.Pod, tell func(cluster.Outcome)) []view.Opened {
	if s.KeepOrders {
		return openedOf(s.Now(), pods, slices.Repeat([]opening{isKept}, len(pods)))
	}
	ctx, cancel := context.WithTimeout(ctx, openTime)
	defer cancel()
	slots, list := make(chan struct{}, atATime), make([]opening, len(pods))
	var wg sync.WaitGroup
	for i, pod := range pods {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			list[i] = s.openOne(ctx, &cluster.Executor{API: s.API, Told: tell}, pod)
		})
	}
	wg.Wait()
	return openedOf(s.Now(), pods, list)
}

func openedOf(now time.Time, pods []*corev1.Pod, list []opening) []view.Opened {
	byNamespace := map[string]view.Opened{}
	for i, of := range list {
		e := byNamespace[pods[i].Namespace]
		switch of {
		case needsNothing:
			continue
		case wasOpened:
			e.Pods = append(e.Pods, pods[i].Name)
		case stillWaits:
			e.Left = append(e.Left, pods[i].Name)
		case isKept:
			e.Kept = append(e.Kept, pods[i].Name)
		}
		byNamespace[pods[i].Namespace] = e
	}
	var told []view.Opened
	for _, namespace := range slices.Sorted(maps.Keys(byNamespace)) {
		e := byNamespace[namespace]
		e.Head = view.Head{At: now, Subject: view.Subject{Kind: plan.PodKind.Kind, Namespace: namespace}}
		slices.Sort(e.Pods)
		slices.Sort(e.Left)
		slices.Sort(e.Kept)
		told = append(told, e)
	}
	return told
}

// opening is what became of a pod whose levels were to be opened.
type opening int

const (
	needsNothing opening = iota // it is gone, or somebody else was quicker
	wasOpened
	stillWaits
	isKept // it was not tried
)

func (s *Session) openOne(ctx context.Context, x *cluster.Executor, pod *corev1.Pod) opening {
	subject := cluster.Subject{APIVersion: corev1.SchemeGroupVersion.String(), Component: keys.EventSourceLaunchOrder,
		Ref: plan.Ref{Kind: plan.PodKind, Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID}}
	// A level for each container, the barrier, the mark, and as many conflicts.
	done := needsNothing
	for range 2*len(pod.Spec.Containers) + 4 {
		world, err := s.worldOf(ctx, pod)
		if apierrors.IsNotFound(err) {
			return needsNothing
		}
		if err != nil || ctx.Err() != nil {
			return stillWaits
		}
		out := launchorder.Decide(*world)
		switch {
		case out.Done:
			return done
		case out.Empty() || len(x.Run(ctx, subject, out.Stages).Failures()) > 0:
			return stillWaits
		}
		done = wasOpened
	}
	return stillWaits
}

// worldOf reads a pod and its barrier from the server.
func (s *Session) worldOf(ctx context.Context, pod *corev1.Pod) (*launchorder.World, error) {
	now, err := s.API.Get(ctx, plan.PodKind, pod.Namespace, pod.Name)
	if err != nil {
		return nil, err
	}
	fresh, ok := now.(*corev1.Pod)
	if !ok || fresh.UID != pod.UID {
		return nil, apierrors.NewNotFound(corev1.Resource("pods"), pod.Name)
	}
	world := &launchorder.World{Now: s.Now(), Pod: fresh, Release: true}
	barrier, err := s.API.Get(ctx, plan.ConfigMapKind, pod.Namespace, launchorder.BarrierName(pod.Name))
	if err != nil {
		if apierrors.IsNotFound(err) {
			return world, nil
		}
		return nil, err
	}
	world.Barrier, _ = barrier.(*corev1.ConfigMap)
	return world, nil
}

// leave opens what is left of launch orders when a foreground loop ends without a successor.
func (l *loop) leave(ctx context.Context) {
	for _, v := range l.sights {
		if v.kind.Concerns != nil && v.kind.GroupKind == plan.PodKind && !l.hosted {
			pods := slices.DeleteFunc(waiting(v.subjects), l.elsewhere)
			for _, e := range l.session.open(ctx, pods, nil) {
				l.teller.tell(e)
			}
		}
	}
}

// elsewhere says of a pod that somebody else looks after it: a loop for its namespace, or who drives its workload.
func (l *loop) elsewhere(pod *corev1.Pod) bool {
	leases := []string{cluster.SubjectLease(plan.PodKind.Kind, pod.Name)}
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
		leases = append(leases, cluster.SubjectLease(owner.Kind, owner.Name))
	}
	return slices.ContainsFunc(leases, func(lease string) bool {
		_, found := cluster.Holding(l.watch.Facts(pod.Namespace, lease), l.session.Holder, l.session.Now())
		return found
	})
}
