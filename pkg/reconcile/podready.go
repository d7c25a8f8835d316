package reconcile

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/cluster"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/podready"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/view"
)

// The pause after an answer that could not be written. It doubles as long as none can.
const (
	answerAgain = time.Second
	answerLast  = time.Minute
)

// AnswerReadiness answers the gate KruisePodReady of the pods of a namespace, or of all when it is empty, until the context
// ends: of those that no other planner looks after. One process at a time may do it.
func (s *Session) AnswerReadiness(ctx context.Context, namespace string) error {
	a := &answerer{open: map[types.UID]bool{}, signal: make(chan struct{}, 1)}
	mirror, err := cluster.NewMirror(s.API, cluster.MirrorOptions{
		Kind: plan.PodKind, Scope: cluster.Scope{Namespace: namespace},
		Changed: func(_, now plan.Object) { a.see(now, s.Now()) },
	})
	if err != nil {
		return err
	}
	following, stop := context.WithCancel(ctx)
	var follower sync.WaitGroup
	defer follower.Wait()
	defer stop()
	failed := make(chan error, 1)
	follower.Go(func() { failed <- mirror.Run(following) })
	told := newTeller(s.Tell)
	defer told.drain()
	exec := &cluster.Executor{API: s.API, Parallel: s.Parallel, Told: func(o cluster.Outcome) { s.tellRefused(told, o) }}
	pause := answerAgain
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-failed:
			return err
		case <-a.signal:
		}
		if a.answer(ctx, mirror, exec, s.Now()) {
			pause = answerAgain
			continue
		}
		if !cluster.Pause(ctx, pause) {
			return nil
		}
		pause = min(2*pause, answerLast)
		a.wake()
	}
}

// tellRefused says which pod's gate could not be answered.
func (s *Session) tellRefused(told *teller, o cluster.Outcome) {
	if o.Result != cluster.Failed && o.Result != cluster.Unknown {
		return
	}
	subject := view.Subject{Kind: plan.PodKind.Kind, Namespace: o.Action.On.Namespace, Name: o.Action.On.Name}
	told.tell(view.ActionFailed{Head: view.Head{At: s.Now(), Subject: subject}, Stage: o.Stage, Action: o.Action, Err: o.Err.Error(), Unknown: o.Result == cluster.Unknown})
}

// answerer remembers which pods wait for an answer.
type answerer struct {
	mu     sync.Mutex
	open   map[types.UID]bool
	signal chan struct{}
}

// see is called with the mirror locked and never waits.
func (a *answerer) see(now plan.Object, at time.Time) {
	pod, ok := now.(*corev1.Pod)
	if !ok || podready.Answer(pod, at) == nil {
		return
	}
	a.mu.Lock()
	a.open[pod.UID] = true
	a.mu.Unlock()
	a.wake()
}

func (a *answerer) wake() {
	select {
	case a.signal <- struct{}{}:
	default:
	}
}

// answer writes what is open; false when some of it has to be tried again.
func (a *answerer) answer(ctx context.Context, mirror *cluster.Mirror, exec *cluster.Executor, now time.Time) bool {
	a.mu.Lock()
	open := a.open
	a.open = map[types.UID]bool{}
	a.mu.Unlock()
	var actions []plan.Action
	for uid := range open {
		pod, ok := mirror.Get(uid).(*corev1.Pod)
		if !ok {
			continue
		}
		if action := podready.Answer(pod, now); action != nil {
			actions = append(actions, *action)
		}
	}
	if len(actions) == 0 {
		return true
	}
	report := exec.Run(ctx, cluster.Subject{}, []plan.Stage{{Name: "readiness", Actions: actions}})
	again := append(report.Failures(), report.Conflicts()...)
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, outcome := range again {
		a.open[outcome.Action.On.UID] = true
	}
	return len(again) == 0
}
