package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
)

// Reasons is what `rollout why` shows: what happens next to each pod and what it waits for. Pods that are alike are told
// together.
type Reasons struct {
	Meta
	Subject Subject      `json:"subject"`
	At      time.Time    `json:"at"`
	Driver  Driver       `json:"driver"`
	Counts  Counts       `json:"counts"`
	Run     *RunView     `json:"run,omitempty"`
	Groups  []ReasonView `json:"groups"`
	// Warnings are sentences about what was asked for and is not carried out.
	Warnings []string `json:"warnings,omitempty"`
}

// ReasonView is a group of alike pods.
type ReasonView struct {
	Pods []string `json:"pods"`
	// State is where they stand: "updated, ready", "old".
	State string `json:"state"`
	// Since is when the first of them came into that state.
	Since time.Time `json:"since,omitzero"`
	// Next is what happens to them and what they wait for.
	Next   string      `json:"next"`
	Fate   plan.Fate   `json:"fate"`
	Reason plan.Reason `json:"reason"`

	rank int
	ill  bool
}

// RunView is a batched run that is recorded on a workload.
type RunView struct {
	ID       string   `json:"id"`
	Revision string   `json:"revision"`
	Batches  []string `json:"batches"`
	Batch    int      `json:"batch"`
	// Goal is how many pods are updated at the end of the batch.
	Goal      int32     `json:"goal"`
	By        string    `json:"by"`
	StartedAt time.Time `json:"startedAt"`
	// Step is what the run does now, Detail says it in words, Until is when that ends by itself.
	Step   string    `json:"step"`
	Detail string    `json:"detail"`
	Until  time.Time `json:"until,omitzero"`
}

// NewReasons groups the pods of a plan. Words are what the events of pods say, by name, for those of which the status does
// not say it. With only, no other pod is told.
func NewReasons(p Planned, driver Driver, words map[string]string, only string) *Reasons {
	r := &Reasons{Meta: Of("Reasons"), Subject: p.Subject, At: p.At, Driver: driver, Counts: p.Counts, Warnings: p.Plan.Warnings, Groups: []ReasonView{}}
	for _, v := range p.Plan.Verdicts {
		if v.Fate == plan.Make || only != "" && v.Name != only {
			continue
		}
		g := ReasonView{Pods: []string{v.Name}, State: standing(v), Fate: v.Fate, Reason: v.Reason, rank: reasonRank(v), ill: !v.Available}
		g.Next = next(v, p.Plan, words[v.Name])
		if !v.Available {
			g.Since = v.Since
		}
		k := slices.IndexFunc(r.Groups, func(o ReasonView) bool {
			return o.State == g.State && o.Next == g.Next && o.Fate == g.Fate && o.Reason == g.Reason
		})
		if k < 0 {
			r.Groups = append(r.Groups, g)
			continue
		}
		r.Groups[k].Pods = append(r.Groups[k].Pods, v.Name)
		if g.Since.Before(r.Groups[k].Since) {
			r.Groups[k].Since = g.Since
		}
	}
	for i := range r.Groups {
		slices.Sort(r.Groups[i].Pods)
	}
	slices.SortFunc(r.Groups, func(a, b ReasonView) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), -cmp.Compare(len(a.Pods), len(b.Pods)), strings.Compare(a.Pods[0], b.Pods[0]))
	})
	return r
}

// standing is where a pod stands.
func standing(v plan.Verdict) string {
	state := "old"
	if v.Updated {
		state = "updated"
	}
	switch {
	case v.Available:
		return state + ", ready"
	case v.Reason == plan.ReasonMinReady:
		return state + ", ready but not yet available"
	case v.Reason == plan.ReasonDeleting || v.Reason == plan.ReasonFinished:
		return state
	}
	return state + ", not ready"
}

// reasonRank puts pods with nothing to tell first, as a summary, then those in trouble, then those that wait or move.
func reasonRank(v plan.Verdict) int {
	switch {
	case v.Reason == plan.ReasonUpToDate:
		return 0
	case !v.Available:
		return 1
	case v.Fate != plan.Keep:
		return 2
	}
	return 3
}

// next says what will happen to a pod, or what it waits for.
func next(v plan.Verdict, p *plan.Plan, event string) string {
	note := Clean(v.Note)
	if note == "" && !v.Available {
		note = Clean(event)
	}
	with := func(text string) string {
		if note != "" {
			return text + ": " + note
		}
		return text
	}
	switch v.Fate {
	case plan.UpdateInPlace:
		return with("next: it is updated in place")
	case plan.Recreate:
		return with("next: it is recreated")
	case plan.Remove:
		return "next: it is deleted, " + with(Why(v.Reason))
	case plan.Release:
		return "next: it is released, " + with(Why(v.Reason))
	}
	switch v.Reason {
	case plan.ReasonUpToDate:
		return "nothing more to do"
	case plan.ReasonPartition:
		return "stays: the partition keeps it"
	case plan.ReasonMaxUnavailable, plan.ReasonScaleLimit:
		return "waits: " + limitWait(v.Reason, p)
	case plan.ReasonOrder:
		return "waits: another step comes first"
	case plan.ReasonPaused, plan.ReasonOnDelete:
		return "waits: " + Why(v.Reason)
	case plan.ReasonNotReady, plan.ReasonUpdating:
		if note != "" {
			return note
		}
	}
	return with(Why(v.Reason))
}

// limitWait names who uses up a limit.
func limitWait(reason plan.Reason, p *plan.Plan) string {
	for _, w := range p.Waits {
		if w.Reason == reason {
			note, _, _ := strings.Cut(w.Note, ",")
			if len(w.Names) > 0 {
				note += " by " + names(w.Names)
			}
			return Clean(note)
		}
	}
	return strings.TrimPrefix(Why(reason), "waits: ")
}

// Text shows the reasons to people.
func (r *Reasons) Text() []Line {
	var rows [][]string
	var tones []Tone
	for _, g := range r.Groups {
		tone, who, state := Plain, "", g.State
		if g.ill {
			tone = Warn
		}
		if g.Reason != plan.ReasonUpToDate || len(r.Groups) == 1 && len(g.Pods) == 1 {
			who = names(g.Pods)
		}
		if !g.Since.IsZero() && g.ill {
			state += " for " + Clock(r.At.Sub(g.Since))
		}
		if who != "" {
			state = who + "  " + state
		}
		rows, tones = append(rows, []string{count(len(g.Pods), "pod"), state, g.Next}), append(tones, tone)
	}
	lines := tableLines(rows)
	for i := range lines {
		lines[i].Tone = tones[i]
	}
	if len(r.Groups) == 0 {
		lines = append(lines, result(Plain, "no pods"))
	}
	for _, w := range r.Warnings {
		lines = append(lines, result(Warn, "warning: %s", Clean(w)))
	}
	if r.Run != nil {
		lines = append(lines, r.Run.line())
	}
	return append(lines, result(Plain, "%s", r.held()))
}

// line tells where a batched run stands.
func (v *RunView) line() Line {
	text := fmt.Sprintf("batch %d of %d (%s) to %s, begun by %s: %s", v.Batch, len(v.Batches), strings.Join(v.Batches, ", "), v.Revision, v.By, v.Detail)
	return result(Plain, "%s", Clean(text))
}

// held says who drives, since when, and how sure that is.
func (r *Reasons) held() string {
	d := r.Driver
	if d.Kind != DriverVerb && d.Kind != DriverForeground {
		return d.Sentence()
	}
	text := "held by " + Holder(d.Holder)
	if !d.Since.IsZero() {
		text += " since " + d.Since.Local().Format("15:04")
	}
	text += " (lease " + Clean(d.Lease)
	if !d.Renewed.IsZero() {
		text += ", renewed " + Clock(r.At.Sub(d.Renewed)) + " ago"
	}
	return text + ")"
}
