package view

import (
	"fmt"
	"strings"
	"time"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/sim/estimate"
)

// Outlook is what `rollout plan` shows: what a rollout would do, before anything is written.
type Outlook struct {
	Meta
	Subject Subject   `json:"subject"`
	At      time.Time `json:"at"`
	// Changes are the fields that the command would set, Template what of the pods' template differs from the revision
	// that they come from.
	Changes  []Change    `json:"changes,omitempty"`
	Template []FieldDiff `json:"template,omitempty"`
	// From and To are the revisions; New says that To does not exist yet.
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
	New  bool   `json:"new,omitempty"`
	// Batches are played in virtual time at the pace of the pods' own past. They are empty when nothing is to be done.
	Batches []OutlookBatch `json:"batches"`
	// Obstacles say why pods are recreated that could have been updated in place otherwise.
	Obstacles []string `json:"obstacles,omitempty"`
	// Stuck says why the rollout would not come to its end by itself.
	Stuck    string   `json:"stuck,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
	// Seconds is about how long it takes, without pauses between batches.
	Seconds float64 `json:"seconds"`
	// Watchers are others who own, limit or scale the workload.
	Watchers []Watcher `json:"watchers,omitempty"`
	Driver   Driver    `json:"driver"`
}

// OutlookBatch is one batch of an Outlook.
type OutlookBatch struct {
	Batch int `json:"batch"`
	// Pods is how many pods it moves; the others say how.
	Pods      int `json:"pods"`
	InPlace   int `json:"inPlace,omitempty"`
	Recreated int `json:"recreated,omitempty"`
	Created   int `json:"created,omitempty"`
	Removed   int `json:"removed,omitempty"`
	// Moves names the pods that are updated or removed; of very many only some.
	Moves []string `json:"moves,omitempty"`
	// Worst is how many of Of wanted pods are unavailable at the worst moment.
	Worst   int32   `json:"worst"`
	Of      int32   `json:"of"`
	Seconds float64 `json:"seconds"`
}

// Watcher is somebody else who has a say: an autoscaler, a disruption budget, an owner, a tool that applies manifests.
type Watcher struct {
	Kind string `json:"kind"`
	Name string `json:"name,omitempty"`
	Note string `json:"note,omitempty"`
}

// SetEstimate fills in what the simulator found out.
func (o *Outlook) SetEstimate(e *estimate.Estimate, wanted int32) {
	o.Batches, o.Obstacles, o.Stuck, o.Seconds = []OutlookBatch{}, e.Obstacles, e.Stuck, e.Total.Round(100*time.Millisecond).Seconds()
	for i := range e.Batches {
		b := &e.Batches[i]
		moves := append(append(append([]string{}, b.InPlace...), b.Recreated...), b.Removed...)
		inPlace, recreated := len(b.InPlace)+b.Guessed, len(b.Recreated)
		if len(b.Recreated) > len(b.InPlace) {
			inPlace, recreated = len(b.InPlace), recreated+b.Guessed
		}
		o.Batches = append(o.Batches, OutlookBatch{Batch: i + 1, Pods: b.Moved(), InPlace: inPlace, Recreated: recreated,
			Created: len(b.Created), Removed: len(b.Removed), Moves: moves, Worst: b.Worst, Of: wanted,
			Seconds: b.Took.Round(100 * time.Millisecond).Seconds()})
	}
}

// Moved is how many pods move in all batches, Recreated how many of them by a new pod in their place.
func (o *Outlook) Moved() (moved, recreated int) {
	for _, b := range o.Batches {
		moved, recreated = moved+b.Pods, recreated+b.Recreated
	}
	return moved, recreated
}

// Differs says that there is something to do.
func (o *Outlook) Differs() bool {
	moved, _ := o.Moved()
	return moved > 0 || len(o.Changes) > 0 || o.Stuck != ""
}

// Text shows the outlook to people.
func (o *Outlook) Text() []Line {
	var lines []Line
	add := func(tone Tone, label, format string, args ...any) {
		lines = append(lines, result(tone, "%-10s%s", label, fmt.Sprintf(format, args...)))
	}
	switch {
	case o.From == o.To || o.From == "":
		add(Plain, "revision", "%s", Clean(o.To)+o.newness())
	default:
		add(Plain, "revision", "%s -> %s", Clean(o.From), Clean(o.To)+o.newness())
	}
	for _, text := range DiffText(o.Template) {
		add(Plain, "template", "%s", text)
	}
	for _, c := range o.Changes {
		if _, image := c.Container(); !image {
			add(Plain, "change", "%s", c.Sentence())
		}
	}
	for _, text := range o.Obstacles {
		add(Warn, "recreates", "because of %s", Clean(text))
	}
	for _, text := range o.Warnings {
		add(Warn, "warning", "%s", Clean(text))
	}
	moved, recreated := o.Moved()
	if moved > 0 {
		lines = append(lines, o.table()...)
	}
	if text := o.watchedBy(); text != "" {
		lines = append(lines, result(Plain, "watched by  %s", text))
	}
	lines = append(lines, result(Plain, "driver    %s", o.Driver.Sentence()))
	if o.Stuck != "" {
		lines = append(lines, result(Warn, "stops     %s", Clean(o.Stuck)))
	}
	switch {
	case !o.Differs():
		return append(lines, result(Good, "nothing to do; nothing written"))
	case moved == 0:
		return append(lines, result(Plain, "no pod moves; nothing written"))
	case recreated == 0:
		return append(lines, result(Plain, "%s %s, none is recreated; nothing written", count(moved, "pod"), verb(moved, "change")))
	}
	return append(lines, result(Plain, "%s %s, %d of them recreated; nothing written", count(moved, "pod"), verb(moved, "change"), recreated))
}

// verb is the verb for a number of things.
func verb(n int, plural string) string {
	if n == 1 {
		return plural + "s"
	}
	return plural
}

func (o *Outlook) newness() string {
	if o.New {
		return " (new)"
	}
	return ""
}

func (o *Outlook) table() []Line {
	rows := [][]string{{"batch", "pods", "way", "at worst unavailable", "about"}}
	for _, b := range o.Batches {
		rows = append(rows, []string{fmt.Sprint(b.Batch), fmt.Sprint(b.Pods), b.way(), fmt.Sprintf("%d of %d", b.Worst, b.Of),
			Clock(time.Duration(b.Seconds * float64(time.Second)).Round(time.Second))})
	}
	return tableLines(rows)
}

func (b OutlookBatch) way() string {
	var parts []string
	for _, p := range []struct {
		n    int
		word string
	}{{b.InPlace, "in place"}, {b.Recreated, "recreated"}, {b.Created, "created"}, {b.Removed, "removed"}} {
		switch {
		case p.n == b.Pods && p.n > 0:
			return p.word
		case p.n > 0:
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.word))
		}
	}
	if len(parts) == 0 {
		return "-"
	}
	return strings.Join(parts, ", ")
}

func (o *Outlook) watchedBy() string {
	var parts []string
	for _, w := range o.Watchers {
		text := Clean(w.Kind)
		if w.Name != "" {
			text += "/" + Clean(w.Name)
		}
		if w.Note != "" {
			text += " (" + Clean(w.Note) + ")"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

// tableLines lines up columns, two spaces between them.
func tableLines(rows [][]string) []Line {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], len([]rune(cell)))
		}
	}
	lines := make([]Line, 0, len(rows))
	for _, row := range rows {
		var b strings.Builder
		for i, cell := range row {
			fmt.Fprintf(&b, "%-*s  ", widths[i], cell)
		}
		lines = append(lines, result(Plain, "%s", strings.TrimRight(b.String(), " ")))
	}
	return lines
}
