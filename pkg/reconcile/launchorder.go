package reconcile

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/launchorder"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/view"
)

// LaunchOrder is the launch order of the containers of pods, whatever owns them: the subjects are all pods with a barrier
// variable. Their barriers are not watched, so that nobody needs to read all ConfigMaps of a cluster: what a loop writes it
// knows, a barrier that is there already says so when it is to be created, and of one that was deleted the kubelet tells.
func LaunchOrder() *Kind {
	return &Kind{
		GroupKind: plan.PodKind,
		Resource:  "pods",
		Versions:  []string{corev1.SchemeGroupVersion.Version},
		Concerns:  hasLaunchOrder,
		Component: keys.EventSourceLaunchOrder,
		Parts: []Part{{
			GroupKind: plan.ConfigMapKind, Unwatched: true,
			Name: func(subject plan.Object) string { return launchorder.BarrierName(subject.GetName()) },
		}},
		New: func(Settings) Planner { return &launchPlanner{} },
	}
}

func hasLaunchOrder(obj plan.Object) bool {
	pod, ok := obj.(*corev1.Pod)
	return ok && launchorder.Ordered(pod)
}

// The time between two questions about a barrier that the kubelet does not find. It doubles while nothing else happens: the
// answer rarely differs, and kubelets that are slow are slow for many pods at once.
const (
	askAgain = 5 * time.Second
	askLast  = time.Minute
	// askBlocked is the longest while somebody else's ConfigMap is in its place, which the person who reads so will delete.
	askBlocked = 10 * time.Second
)

// launchPlanner plans for one pod.
type launchPlanner struct {
	// asked is when the server was asked for the barrier last, or the barrier written.
	asked time.Time
	// pause is how long it is not asked again.
	pause time.Duration
}

// Ask implements Asker: the barrier is in doubt when a container waits for a key that it is known to have, or when it is
// not known and the pod needs it for a restart.
func (p *launchPlanner) Ask(scene Scene) []plan.Ref {
	pod, ok := scene.Subject.(*corev1.Pod)
	if !ok || scene.Now.Before(p.asked.Add(p.pause)) {
		return nil
	}
	barrier := barrierOf(scene)
	out := launchorder.Decide(launchorder.World{Now: scene.Now, Pod: pod, Barrier: barrier})
	if !out.Doubtful(pod) {
		return nil
	}
	last := askLast
	if out.Blocked() {
		last = askBlocked
	}
	p.asked, p.pause = scene.Now, min(max(2*p.pause, askAgain), last)
	ref := plan.Ref{Kind: plan.ConfigMapKind, Namespace: pod.Namespace, Name: launchorder.BarrierName(pod.Name)}
	if barrier != nil {
		ref.UID = barrier.UID
	}
	return []plan.Ref{ref}
}

// Decide implements Planner. A completed pod whose containers wait for nothing needs its barrier only when one of them
// restarts; until then nobody asks whether it is there.
func (p *launchPlanner) Decide(scene Scene) (*Decision, error) {
	pod, ok := scene.Subject.(*corev1.Pod)
	if !ok {
		return nil, fmt.Errorf("%T is not a Pod", scene.Subject)
	}
	barrier := barrierOf(scene)
	out := launchorder.Decide(launchorder.World{Now: scene.Now, Pod: pod, Barrier: barrier})
	if out.Completed && barrier == nil && !out.Doubtful(pod) {
		out.Stages, out.Done = nil, true
	}
	doubtful := out.Doubtful(pod)
	if !out.Empty() {
		p.asked = scene.Now // the kubelet needs time to see it
	}
	if !out.Empty() || !doubtful {
		p.pause = askAgain
	}
	if doubtful {
		out.WakeAt(p.asked.Add(p.pause))
	}
	return &Decision{Plan: &out.Plan, Counts: view.Counts{}}, nil
}

func barrierOf(scene Scene) *corev1.ConfigMap {
	for _, obj := range scene.Parts[plan.ConfigMapKind] {
		if barrier, ok := obj.(*corev1.ConfigMap); ok {
			return barrier
		}
	}
	return nil
}
