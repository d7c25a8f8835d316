package launchorder

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
)

// lookAgain is when a pod that waits is looked at again, whatever happens (launchorder.md 1.6).
const lookAgain = 10 * time.Second

// Decide plans for one pod (launchorder.md 1.3). A pod without barrier variables has no order, so nothing waits and
// nothing is done.
func Decide(w World) *Output {
	out := &Output{}
	out.Warnings = faults(w.Pod)
	owned := ownerOf(w.Pod, w.Barrier)
	barrier := w.Barrier
	if owned != ours {
		barrier = nil // the keys of another's are not there
	}
	out.Levels = levelsOf(w.Pod, barrier)
	out.Completed = completed(w.Pod)
	out.date(&w)
	switch {
	case len(out.Levels) == 0 || over(w.Pod):
		out.Done = true
		return out
	case owned == another:
		out.WakeAt(w.Now.Add(lookAgain))
		out.Stopped = plan.ReasonBadSpec
		out.Waits = []plan.Wait{{Reason: plan.ReasonBadSpec, Names: []string{w.Barrier.Name}, Since: w.Pod.CreationTimestamp.Time,
			Note: fmt.Sprintf("ConfigMap %s is not a barrier of this pod; delete it, or create the pod under another name", w.Barrier.Name)}}
		return out
	}
	want := out.wanted(w.Release)
	if owned != ours {
		out.make(&w, owned, want)
	} else {
		out.open(&w, want)
	}
	out.judge(w.Pod)
	out.Done = out.Empty() && out.Completed
	if !out.Completed {
		out.WakeAt(w.Now.Add(lookAgain))
	}
	return out
}

// date completes since when the containers that were never started are waited for: the level was opened then, or the pod
// came to its node.
func (out *Output) date(w *World) {
	current := out.Current()
	for i := range out.Levels {
		l := &out.Levels[i]
		for j := range l.Containers {
			switch c := &l.Containers[j]; {
			case !c.Since.IsZero() || !l.Open:
			case l == current && !w.OpenedAt.IsZero():
				c.Since = w.OpenedAt
			case i == 0 && w.Pod.Status.StartTime != nil:
				c.Since = w.Pod.Status.StartTime.Time
			}
		}
	}
}

// wanted are the keys that the barrier should have now. That is every one for a pod that has been through all levels; else
// those of all levels down to the highest one that still has something to wait for. Levels above it were open before, so
// a key of theirs that is missing is put back.
func (out *Output) wanted(release bool) []string {
	var want []string
	for i := range out.Levels {
		l := &out.Levels[i]
		want = append(want, l.Key)
		if !out.Completed && (release && !l.Open || !release && !l.done()) {
			break
		}
	}
	return want
}

// make creates the barrier: empty, so that the next look opens the first level, or with all keys when one that the pod
// needs for the restart of a container was deleted (launchorder.md 1.6). What an earlier pod of the name has left goes
// first.
func (out *Output) make(w *World, owned owner, want []string) {
	pod := w.Pod
	barrier := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: pod.Namespace, Name: BarrierName(pod.Name),
		OwnerReferences: []metav1.OwnerReference{{APIVersion: corev1.SchemeGroupVersion.String(), Kind: plan.PodKind.Kind, Name: pod.Name, UID: pod.UID}},
	}}
	create := plan.Action{Verb: plan.Create, Object: barrier, Why: "the containers of the pod wait for keys of its barrier",
		On: plan.Ref{Kind: plan.ConfigMapKind, Namespace: barrier.Namespace, Name: barrier.Name}}
	if out.Completed {
		barrier.Data = (&Opening{Keys: want}).data()
		create.Why = "a container that restarts needs the keys of the barrier, which is gone"
	}
	if owned == former {
		remove := plan.Action{Verb: plan.Delete, On: refOf(w.Barrier), Why: "it is left of an earlier pod of this name", Then: &create}
		out.Add(StageBarrier, remove)
		return
	}
	out.Add(StageBarrier, create)
}

func refOf(barrier *corev1.ConfigMap) plan.Ref {
	return plan.Ref{Kind: plan.ConfigMapKind, Namespace: barrier.Namespace, Name: barrier.Name, UID: barrier.UID}
}

// open adds the keys that are wanted and not there, then marks the pod. With the last key it is marked as completed, without
// waiting for its containers.
func (out *Output) open(w *World, want []string) {
	missing := slices.DeleteFunc(slices.Clone(want), func(key string) bool {
		_, there := w.Barrier.Data[key]
		return there
	})
	mark := out.mark(w, want)
	if len(missing) == 0 {
		if mark != nil {
			out.Add(StageOpen, *mark)
		}
		return
	}
	out.Add(StageOpen, plan.Action{Verb: plan.Patch, On: refOf(w.Barrier), Change: &Opening{Keys: missing},
		Done: out.released(missing), Why: out.whyOpen(w, missing), Then: mark})
}

// mark says on the pod how far it is once it has the keys that are wanted: that all levels are open, or which was released
// last. The second wakes the kubelet, which looks at a pod again when its annotations change and not when its ConfigMap
// does; a container that it could not create would wait 10 s and more for the next try. It is written once for each level
// with such a container, and not while all levels are opened at once.
func (out *Output) mark(w *World, want []string) *plan.Action {
	if out.Completed {
		return nil
	}
	change := &plan.PodChange{}
	action := &plan.Action{Verb: plan.Patch, Change: change,
		On: plan.Ref{Kind: plan.PodKind, Namespace: w.Pod.Namespace, Name: w.Pod.Name, UID: w.Pod.UID}}
	closed := func(l Level) bool { return !l.Open && !slices.Contains(want, l.Key) }
	if !slices.ContainsFunc(out.Levels, closed) {
		change.Meta.Annotate(keys.LaunchCompletedAnnotation, opened)
		action.Why = "all levels of its launch order are open"
		return action
	}
	l := out.level(want[len(want)-1])
	held := slices.ContainsFunc(l.Containers, func(c Container) bool { return c.Held })
	priority := strconv.FormatInt(l.Priority, 10)
	if w.Release || !held || w.Pod.Annotations[keys.LaunchLevelAnnotation] == priority {
		return nil
	}
	change.Meta.Annotate(keys.LaunchLevelAnnotation, priority)
	action.Why = fmt.Sprintf("the kubelet tries again to create the containers of priority %s", priority)
	return action
}

// released is the event of levels that are opened; a key that is put back for containers that have started is none.
func (out *Output) released(missing []string) *plan.Event {
	l := out.level(missing[len(missing)-1])
	waits := func(c Container) bool { return !c.Started }
	if out.Completed || !slices.ContainsFunc(l.Containers, waits) {
		return nil
	}
	return &plan.Event{Type: corev1.EventTypeNormal, Reason: ReasonReleased,
		Message: fmt.Sprintf("Launch priority %d released: %s", l.Priority, strings.Join(l.names(), ", "))}
}

// ReasonReleased is the reason of the event for each level that is opened (launchorder.md 1.6).
const ReasonReleased = "LaunchPriorityReleased"

func (out *Output) whyOpen(w *World, missing []string) string {
	at := slices.IndexFunc(out.Levels, func(l Level) bool { return l.Key == missing[len(missing)-1] })
	switch {
	case out.Completed:
		return "keys are missing that a container which restarts needs"
	case w.Release:
		return "nobody will be there to open it later"
	case at == 0:
		return "it is the highest level"
	}
	return fmt.Sprintf("every container above priority %d is ready", out.Levels[at].Priority)
}

func (out *Output) level(key string) *Level {
	for i := range out.Levels {
		if out.Levels[i].Key == key {
			return &out.Levels[i]
		}
	}
	return nil
}
