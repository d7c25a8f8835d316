package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// ailment is what keeps a container from running that waiting alone will not cure, or a pod from finding a node. Where is
// the container, empty for the whole pod.
type ailment struct {
	where, reason, message string
}

// sort is what different reasons of one cause have in common: a failed pull shows under two names in turn, and so does a
// container that ends again and again. Empty means that the reason is no ailment.
func (a ailment) sort() string {
	switch a.reason {
	case "ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName", "ImageInspectError", "RegistryUnavailable":
		return "pull"
	case "CrashLoopBackOff", "Error", "OOMKilled", "ContainerCannotRun", "StartError", "RunContainerError", "DeadlineExceeded":
		return "crash"
	case "CreateContainerConfigError", "CreateContainerError", "PreCreateHookError", "PostStartHookError":
		return "create"
	case "Unschedulable", "SchedulerError":
		return "schedule"
	}
	return ""
}

// ailmentOf reads the note of a verdict: "container: reason: message" or "reason: message".
func ailmentOf(note string) (ailment, bool) {
	first, rest, _ := strings.Cut(note, ": ")
	if a := (ailment{reason: first, message: rest}); a.sort() != "" {
		return a, true
	}
	reason, message, _ := strings.Cut(rest, ": ")
	a := ailment{where: first, reason: reason, message: message}
	return a, a.sort() != ""
}

// sentence says it with the container's own message in quotes.
func (a ailment) sentence(lasted time.Duration) string {
	text := a.reason
	if a.where != "" {
		text = a.where + ": " + text
	}
	if lasted >= time.Second {
		text += " for " + Clock(lasted)
	}
	if a.message == "" {
		return Clean(text)
	}
	return Clean(text) + fmt.Sprintf(": \"%s\"", Clean(a.message))
}

// patients are pods with the same ailment.
type patients struct {
	ailment
	pods []string
	// since is when the first of them was seen with it.
	since time.Time
}

// visit looks at all pods and groups those with an ailment. Since when a pod has it is remembered from visit to visit,
// because the pod does not say.
func (n *Narrator) visit() []patients {
	var groups []patients
	seen := map[types.UID]time.Time{}
	for _, v := range n.last.Plan.Verdicts {
		a, ill := ailmentOf(v.Note)
		if !ill {
			continue
		}
		since, known := n.ill[v.UID]
		if !known {
			since = n.last.At
		}
		seen[v.UID] = since
		i := slices.IndexFunc(groups, func(g patients) bool { return g.where == a.where && g.sort() == a.sort() })
		if i < 0 {
			i = len(groups)
			groups = append(groups, patients{ailment: a, since: since})
		}
		groups[i].pods = append(groups[i].pods, v.Name)
		if since.Before(groups[i].since) {
			groups[i].since = since
		}
	}
	n.ill = seen
	for i := range groups {
		slices.Sort(groups[i].pods)
	}
	return groups
}

// line shows a group.
func (g patients) line(now time.Time) string {
	return names(g.pods) + "  " + g.sentence(now.Sub(g.since))
}
