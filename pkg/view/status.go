package view

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
)

// Text shows a rollout to people: where it stands, who drives, what it waits for, and its pods in groups that share their
// state and reason.
func (r *Rollout) Text() []Line {
	tone := Plain
	if r.Done {
		tone = Good
	}
	lines := []Line{result(tone, "%s/%s in %s: %s", strings.ToLower(r.Subject.Kind), r.Subject.Name, r.Subject.Namespace, r.standing())}
	lines = append(lines, result(Plain, "%s", r.Driver.Sentence()))
	if r.Run != nil {
		lines = append(lines, r.Run.line())
	}
	for _, w := range r.Waits {
		text := w.Text
		if len(w.Pods) > 0 {
			text += " (" + names(w.Pods) + ")"
		}
		lines = append(lines, result(Warn, "waiting: %s", text))
	}
	for _, w := range r.Warnings {
		lines = append(lines, result(Warn, "warning: %s", Clean(w)))
	}
	for _, g := range r.groups() {
		lines = append(lines, result(g.tone, "%s", g.text))
	}
	return lines
}

// WithoutPlans leaves out pods that a plan would create: they are not there to be looked at, and their names are only
// proposals.
func (r *Rollout) WithoutPlans() *Rollout {
	r.Pods = slices.DeleteFunc(r.Pods, func(p PodView) bool { return p.Fate == plan.Make })
	return r
}

func (r *Rollout) standing() string {
	text := r.Counts.Sentence()
	if r.Counts.ExpectedUpdated < r.Counts.Wanted {
		text += " (partition " + r.Limits.Partition + ")"
	}
	if r.Limits.Paused {
		text += "; paused"
	}
	return text
}

// group is a line of the pods that are alike.
type group struct {
	text string
	tone Tone
}

func (r *Rollout) groups() []group {
	type alike struct {
		state, reason string
		updated, ok   bool
	}
	var order []alike
	pods := map[alike][]string{}
	for _, p := range r.Pods {
		k := alike{p.state(), p.Text, p.Updated, p.Available}
		if _, seen := pods[k]; !seen {
			order = append(order, k)
		}
		pods[k] = append(pods[k], p.Name)
	}
	list := make([]group, 0, len(order))
	for _, k := range order {
		slices.Sort(pods[k])
		tone := Plain
		if !k.ok {
			tone = Warn
		}
		who := ""
		if len(pods[k]) <= 3 {
			who = names(pods[k]) + "  "
		}
		list = append(list, group{tone: tone, text: fmt.Sprintf("%8s  %s%s  %s", count(len(pods[k]), "pod"), who, k.state, k.reason)})
	}
	return list
}

func (p PodView) state() string {
	state := "old"
	if p.Updated {
		state = "updated"
	}
	if p.Available {
		return state + ", available"
	}
	return state + ", not available"
}
