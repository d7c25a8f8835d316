package view

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
)

// planned takes a new look at the subject: the first one opens the story, each further one tells which pods have arrived.
func (n *Narrator) planned(e Planned) []Line {
	first := n.last == nil
	var warned []string
	if !first {
		warned = n.last.Plan.Warnings
	}
	n.last, n.moved = &e, 0
	var lines []Line
	if first && n.Prefix == "" {
		lines = append(lines, n.opening(e))
	}
	for _, w := range e.Plan.Warnings {
		if !slices.Contains(warned, w) {
			lines = append(lines, n.line(e.At, Warn, "warning: %s", Clean(w)))
		}
	}
	return append(lines, n.arrivals(e, first)...)
}

// opening says who drives and what lies ahead.
func (n *Narrator) opening(e Planned) Line {
	limits := LimitsOf(e.Object)
	parts := []string{count(e.Counts.Wanted, "pod")}
	if create := e.Counts.Wanted - e.Counts.Replicas; create > 0 {
		parts = append(parts, fmt.Sprintf("%d to create", create))
	}
	// Pods that are created come at the wanted revision by themselves.
	if update := min(e.Counts.ExpectedUpdated-e.Counts.Updated, e.Counts.Replicas-e.Counts.Updated); update > 0 {
		parts = append(parts, fmt.Sprintf("%d to update %s", update, way(limits.Type, e.Plan.Verdicts)))
	}
	parts = append(parts, fmt.Sprintf("at most %s unavailable", limits.MaxUnavailable))
	return Line{Text: n.driver.Sentence() + "; " + strings.Join(parts, ", ")}
}

// way is how pods are updated. The first pods that are moved tell when the change cannot be made in place, and why.
func way(policy string, verdicts []plan.Verdict) string {
	for i := range verdicts {
		if v := &verdicts[i]; v.Fate == plan.Recreate && v.Note != "" {
			return "by recreating (" + Clean(v.Note) + ")"
		}
	}
	return manner(policy)
}

func manner(policy string) string {
	switch policy {
	case "InPlaceIfPossible", "InPlaceOnly":
		return "in place"
	case "OnDelete":
		return "when somebody deletes them"
	}
	return "by recreating"
}

// arrivals compares the pods with those of the look before. A driver has told its own actions already; of another's work
// only the traces are seen.
func (n *Narrator) arrivals(e Planned, first bool) []Line {
	was := n.pods
	n.pods = make(map[types.UID]podState, len(e.Plan.Verdicts))
	watching := n.driver.Kind != DriverSelf
	var lines []Line
	for _, v := range e.Plan.Verdicts {
		if v.UID == "" {
			continue
		}
		is := podState{name: v.Name, updated: v.Updated, available: v.Available}
		n.pods[v.UID] = is
		old, known := was[v.UID]
		if first {
			continue
		}
		switch {
		case watching && !known:
			lines = append(lines, n.podLine(e, v.Name, "created", ""))
		case watching && is.updated && !old.updated:
			lines = append(lines, n.podLine(e, v.Name, "in place", fmt.Sprintf("%d of %d", e.Counts.Updated, e.Counts.ExpectedUpdated)))
		}
		if is.updated && is.available && !(known && old.updated && old.available) {
			lines = append(lines, n.podLine(e, v.Name, "ready", ""))
		}
	}
	if watching && !first {
		lines = append(lines, n.departures(e, was)...)
	}
	return lines
}

func (n *Narrator) departures(e Planned, was map[types.UID]podState) []Line {
	var gone []string
	for uid, old := range was {
		if _, there := n.pods[uid]; !there {
			gone = append(gone, old.name)
		}
	}
	slices.Sort(gone)
	lines := make([]Line, len(gone))
	for i, name := range gone {
		lines[i] = n.podLine(e, name, "gone", "")
	}
	return lines
}

// actedOn tells an action on a pod, if it is one that a person needs to see.
func (n *Narrator) actedOn(e Acted) []Line {
	a := e.Action
	if n.last == nil || a.On.Kind != plan.PodKind || a.Verb == plan.Record {
		return nil
	}
	at := slices.IndexFunc(n.last.Plan.Verdicts, func(v plan.Verdict) bool {
		return v.Name == a.On.Name && (a.On.UID == "" || v.UID == a.On.UID)
	})
	if at < 0 {
		return nil
	}
	v := n.last.Plan.Verdicts[at]
	said := map[plan.Fate]string{plan.UpdateInPlace: "in place", plan.Make: "created", plan.Remove: "deleted", plan.Release: "released"}[v.Fate]
	// A chain of writes on one pod is one step; marking a pod for replacement is told when the pod is deleted.
	if said == "" || v.UID != "" && n.acted[v.UID] == v.Fate && v.Fate != plan.UpdateInPlace || !tells(v.Fate, a) {
		return nil
	}
	if n.acted == nil {
		n.acted = map[types.UID]plan.Fate{}
	}
	n.acted[v.UID] = v.Fate
	progress := ""
	if v.Fate == plan.UpdateInPlace && v.Reason == plan.ReasonRollback {
		progress = "back to the current revision"
	} else if v.Fate == plan.UpdateInPlace || v.Fate == plan.Make && v.Updated {
		n.moved++
		progress = fmt.Sprintf("%d of %d", n.last.Counts.Updated+n.moved, n.last.Counts.ExpectedUpdated)
	}
	// That an old pod goes to make room for a new one is what a rollout is about.
	if v.Note != "" && (v.Reason != plan.ReasonSpecified || v.Updated) {
		progress = strings.TrimSpace(progress + "  " + Clean(v.Note))
	}
	return []Line{n.podLine(*n.last, v.Name, said+map[bool]string{true: " (dry run)"}[e.DryRun], progress, e.Head)}
}

// tells says that an action is the one of a chain that carries the step: the patch of the pod itself, not of its status.
func tells(f plan.Fate, a plan.Action) bool {
	switch f {
	case plan.UpdateInPlace:
		return a.Verb == plan.Patch && a.Subresource == ""
	case plan.Make:
		return a.Verb == plan.Create
	case plan.Remove:
		return a.Verb == plan.Delete || a.Verb == plan.Evict
	}
	return true
}

// podLine puts a pod, what happened and a remark into columns.
func (n *Narrator) podLine(e Planned, name, what, remark string, at ...Head) Line {
	when := e.At
	if len(at) > 0 {
		when = at[0].At
	}
	tone := Plain
	if what == "ready" {
		tone = Good
	}
	text := fmt.Sprintf("%-*s  %-12s  %s", n.nameWidth(), Clean(name), what, remark)
	return n.line(when, tone, "%s", strings.TrimRight(text, " "))
}

// nameWidth is the width of the longest name of a pod of the subject, as generated: the set's name and five characters.
func (n *Narrator) nameWidth() int { return len(n.last.Subject.Name) + 6 }
