package launchorder

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
)

// judge says of each container where it stands, and of the next level what it waits for.
func (out *Output) judge(pod *corev1.Pod) {
	held := out.holders()
	for i := range out.Levels {
		l := &out.Levels[i]
		for j := range l.Containers {
			c := &l.Containers[j]
			v := plan.Verdict{Name: c.Name, UID: pod.UID + "/" + types.UID(c.Name), Available: c.Ready, Fate: plan.Keep, Reason: plan.ReasonUpToDate, Since: c.Since}
			switch {
			case c.Ready:
			case c.Ended:
				v.Reason, v.Note = plan.ReasonFinished, c.Note
			case !l.Open && !out.Completed:
				v.Fate, v.Reason, v.Note, v.Since = plan.Hold, plan.ReasonOrder, "", out.waitsSince(held)
				if len(held) > 0 {
					v.Note = "waits for " + strings.Join(namesOf(held), ", ")
				}
			default:
				v.Reason, v.Note = plan.ReasonNotReady, c.Note
			}
			out.Verdicts = append(out.Verdicts, v)
		}
	}
	if next := out.Next(); next != nil && len(held) > 0 {
		out.Waits = append(out.Waits, plan.Wait{Reason: plan.ReasonOrder, Names: namesOf(held), Since: out.waitsSince(held),
			Note: fmt.Sprintf("priority %d (%s) waits for %s", next.Priority, strings.Join(next.names(), ", "), words(held))})
	}
}

// Next is the highest level that is not open; nil when there is none, or when its key is only missing for restarts.
func (out *Output) Next() *Level {
	if out.Completed {
		return nil
	}
	for i := range out.Levels {
		if !out.Levels[i].Open {
			return &out.Levels[i]
		}
	}
	return nil
}

// Current is the lowest level that is open; nil when none is.
func (out *Output) Current() *Level {
	for i := len(out.Levels) - 1; i >= 0; i-- {
		if out.Levels[i].Open {
			return &out.Levels[i]
		}
	}
	return nil
}

// holders are the containers above the next level that hold it back.
func (out *Output) holders() []Container {
	next := out.Next()
	var list []Container
	for i := range out.Levels {
		l := &out.Levels[i]
		if next == nil || l.Priority <= next.Priority {
			break
		}
		for _, c := range l.Containers {
			if !c.done() {
				list = append(list, c)
			}
		}
	}
	return list
}

// waitsSince is when the first of the containers that hold a level came into its state.
func (out *Output) waitsSince(held []Container) time.Time {
	var since time.Time
	for _, c := range held {
		if !c.Since.IsZero() && (since.IsZero() || c.Since.Before(since)) {
			since = c.Since
		}
	}
	return since
}

func namesOf(list []Container) []string {
	names := make([]string, len(list))
	for i := range list {
		names[i] = list[i].Name
	}
	slices.Sort(names)
	return names
}

// words are what the containers say of themselves.
func words(list []Container) string {
	parts := make([]string, len(list))
	for i := range list {
		parts[i] = list[i].Name + ": " + list[i].Note
	}
	return strings.Join(parts, "; ")
}

// Blocked says that a ConfigMap of somebody else's has the name of the barrier.
func (out *Output) Blocked() bool { return out.Stopped == plan.ReasonBadSpec }

// Doubtful says that the kubelet does not find a key that the barrier has, or that it should have though nothing is known
// of the barrier, or that somebody else's is in its place: somebody may have deleted it.
func (out *Output) Doubtful(pod *corev1.Pod) bool {
	if out.Blocked() {
		return true
	}
	for i := range out.Levels {
		l := &out.Levels[i]
		if !l.Open && !out.Completed {
			continue
		}
		for j := range l.Containers {
			if s := statusOf(pod, l.Containers[j].Name); s != nil && Waits(pod, s) {
				return true
			}
		}
	}
	return false
}

// faults are what a pod asks for and does not get.
func faults(pod *corev1.Pod) []string {
	var list []string
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		for j := range c.Env {
			ref := barrierRef(&c.Env[j])
			if ref == nil || ref.Optional != nil && *ref.Optional {
				continue
			}
			if _, ok := priorityOf(ref.Key); ref.Name != BarrierName(pod.Name) || !ok {
				list = append(list, fmt.Sprintf("container %s waits for key %s of ConfigMap %s, which is no level of this pod and which nobody adds",
					c.Name, ref.Key, ref.Name))
			}
		}
	}
	if len(list) > 0 || Ordered(pod) {
		return list
	}
	if priorities, _, err := prioritiesOf(pod); err == nil && priorities != nil {
		list = append(list, fmt.Sprintf("the pod was created without %s, past the webhook: its containers start together, not in the order that it asks for", keys.BarrierEnv))
	}
	return list
}
