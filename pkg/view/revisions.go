package view

import (
	"fmt"
	"time"
)

// History is what `rollout history` shows: the revisions of a workload, the newest first.
type History struct {
	Meta
	Subject   Subject        `json:"subject"`
	At        time.Time      `json:"at"`
	Revisions []RevisionView `json:"revisions"`
	// Diff is there when two revisions are compared.
	Diff *RevisionDiff `json:"diff,omitempty"`
}

// RevisionView is one revision.
type RevisionView struct {
	Number int64  `json:"number"`
	Name   string `json:"name"`
	// Update says that it is what the template says now, Current that it is what the workload comes from.
	Update  bool      `json:"update,omitempty"`
	Current bool      `json:"current,omitempty"`
	Pods    int       `json:"pods"`
	Created time.Time `json:"created"`
	Images  []string  `json:"images,omitempty"`
	// Cause is the annotation kubernetes.io/change-cause.
	Cause string `json:"cause,omitempty"`
}

// RevisionDiff is what of the templates of two revisions differs.
type RevisionDiff struct {
	From     RevisionRef `json:"from"`
	To       RevisionRef `json:"to"`
	Template []FieldDiff `json:"template"`
}

// RevisionRef names a revision.
type RevisionRef struct {
	Number int64  `json:"number"`
	Name   string `json:"name"`
}

// Text shows the history to people, or the difference that was asked for.
func (h *History) Text() []Line {
	if d := h.Diff; d != nil {
		lines := []Line{result(Plain, "%s (%d) -> %s (%d)", Clean(d.From.Name), d.From.Number, Clean(d.To.Name), d.To.Number)}
		for _, text := range DiffText(d.Template) {
			lines = append(lines, result(Plain, "%s", text))
		}
		if len(d.Template) == 0 {
			lines = append(lines, result(Plain, "the templates are the same"))
		}
		return lines
	}
	if len(h.Revisions) == 0 {
		return []Line{result(Plain, "no revisions yet")}
	}
	rows := [][]string{{"revision", "name", "pods", "age", "images", "note"}}
	for _, r := range h.Revisions {
		rows = append(rows, []string{fmt.Sprint(r.Number), Clean(r.Name), fmt.Sprint(r.Pods), age(h.At.Sub(r.Created)), r.images(), r.note()})
	}
	return tableLines(rows)
}

func (r RevisionView) images() string {
	text := ""
	for i, image := range r.Images {
		if i > 0 {
			text += ", "
		}
		text += image
	}
	return Clean(text)
}

func (r RevisionView) note() string {
	text := ""
	add := func(word string) {
		if text != "" {
			text += ", "
		}
		text += word
	}
	if r.Update {
		add("update")
	}
	if r.Current {
		add("current")
	}
	if r.Cause != "" {
		add(Clean(r.Cause))
	}
	return text
}

// age is how old something is, in the unit that people use for it.
func age(d time.Duration) string {
	if d < 10*time.Second {
		return Clock(d)
	}
	return Span(d)
}
