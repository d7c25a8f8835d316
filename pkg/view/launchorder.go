package view

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/launchorder"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
)

// LaunchOrder is what `launch-order why` shows: which level of a pod's launch order is open and what the next one waits
// for.
type LaunchOrder struct {
	Meta
	Pod    Subject     `json:"pod"`
	At     time.Time   `json:"at"`
	Driver Driver      `json:"driver"`
	State  LaunchState `json:"state"`
	// Priority is the lowest level that is open; absent when none is.
	Priority *int64 `json:"priority,omitempty"`
	// Levels come in the order in which they start.
	Levels []LaunchLevel `json:"levels"`
	// Waits is absent when the next level waits for nothing.
	Waits    []LaunchWait `json:"waits,omitempty"`
	Warnings []string     `json:"warnings,omitempty"`
}

// LaunchWait is what the next level waits for.
type LaunchWait struct {
	Reason     plan.Reason `json:"reason"`
	Containers []string    `json:"containers,omitempty"`
	Text       string      `json:"text"`
	Since      time.Time   `json:"since,omitzero"`
}

// LaunchState says where a launch order stands.
type LaunchState string

// The states.
const (
	// LaunchNone: the pod has no launch order.
	LaunchNone LaunchState = "none"
	// LaunchWaits: a level waits for containers above it.
	LaunchWaits LaunchState = "waits"
	// LaunchOpens: the next level is opened as soon as somebody drives.
	LaunchOpens LaunchState = "opens"
	// LaunchBlocked: no level can be opened until somebody changes something.
	LaunchBlocked LaunchState = "blocked"
	// LaunchCompleted: all levels are open.
	LaunchCompleted LaunchState = "completed"
	// LaunchOver: the pod has ended or is being deleted; nothing starts any more.
	LaunchOver LaunchState = "over"
)

// LaunchLevel is the containers that start together.
type LaunchLevel struct {
	Priority   int64             `json:"priority"`
	Open       bool              `json:"open"`
	Containers []LaunchContainer `json:"containers"`
}

// LaunchContainer is one container.
type LaunchContainer struct {
	Name  string `json:"name"`
	Ready bool   `json:"ready"`
	// State says it in words, Since is when that began.
	State string    `json:"state"`
	Since time.Time `json:"since,omitzero"`
}

// NewLaunchOrder shows what was decided about a pod.
func NewLaunchOrder(pod Subject, out *launchorder.Output, driver Driver, at time.Time) *LaunchOrder {
	o := &LaunchOrder{Meta: Of("LaunchOrder"), Pod: pod, At: at, Driver: driver, State: launchState(out), Levels: []LaunchLevel{}}
	for _, w := range out.Warnings {
		o.Warnings = append(o.Warnings, Clean(w))
	}
	for _, w := range out.Waits {
		wait := LaunchWait{Reason: w.Reason, Text: Clean(w.Note), Since: w.Since}
		if w.Reason == plan.ReasonOrder {
			wait.Containers = w.Names
		}
		o.Waits = append(o.Waits, wait)
	}
	if current := out.Current(); current != nil {
		o.Priority = &current.Priority
	}
	verdicts := map[string]plan.Verdict{}
	for _, v := range out.Verdicts {
		verdicts[v.Name] = v
	}
	for _, l := range out.Levels {
		level := LaunchLevel{Priority: l.Priority, Open: l.Open}
		for _, c := range l.Containers {
			v := verdicts[c.Name]
			level.Containers = append(level.Containers, LaunchContainer{Name: c.Name, Ready: c.Ready, State: launchWords(c, v), Since: v.Since})
		}
		o.Levels = append(o.Levels, level)
	}
	return o
}

func launchState(out *launchorder.Output) LaunchState {
	switch {
	case len(out.Levels) == 0:
		return LaunchNone
	case out.Stopped != "":
		return LaunchBlocked
	case out.Completed:
		return LaunchCompleted
	case out.Done:
		return LaunchOver
	case len(out.Waits) > 0:
		return LaunchWaits
	}
	return LaunchOpens
}

func launchWords(c launchorder.Container, v plan.Verdict) string {
	switch {
	case c.Ready:
		return "ready"
	case v.Reason == plan.ReasonOrder && v.Note == "":
		return "waits for its level to open"
	case c.Held && v.Reason == plan.ReasonNotReady:
		return "its level is open; the kubelet has not tried again yet"
	case v.Note != "":
		return Clean(v.Note)
	}
	return Clean(c.Note)
}

// Text shows it to people.
func (o *LaunchOrder) Text() []Line {
	tone := Plain
	switch o.State {
	case LaunchWaits, LaunchBlocked:
		tone = Warn
	case LaunchCompleted:
		tone = Good
	}
	lines := []Line{result(tone, "pod/%s: %s", o.Pod.Name, o.standing())}
	for _, w := range o.Warnings {
		lines = append(lines, result(Warn, "warning: %s", w))
	}
	if len(o.Levels) == 0 {
		return lines
	}
	rows := [][]string{{"priority", "level", "container", "state", "since"}}
	for _, l := range o.Levels {
		state := "closed"
		if l.Open {
			state = "open"
		}
		priority := strconv.FormatInt(l.Priority, 10)
		for _, c := range l.Containers {
			since := ""
			if !c.Since.IsZero() {
				since = Clock(o.At.Sub(c.Since)) + " ago"
			}
			rows = append(rows, []string{priority, state, Clean(c.Name), c.State, since})
			priority, state = "", ""
		}
	}
	lines = append(lines, tableLines(rows)...)
	if o.State == LaunchWaits || o.State == LaunchOpens {
		lines = append(lines, result(Plain, "%s", o.driver()))
	}
	return lines
}

func (o *LaunchOrder) standing() string {
	switch o.State {
	case LaunchNone:
		return "no launch order: all containers start together"
	case LaunchCompleted:
		return fmt.Sprintf("all %s are open", count(len(o.Levels), "level"))
	case LaunchOver:
		return "it has ended or is being deleted, so nothing starts any more"
	case LaunchWaits, LaunchBlocked:
		var parts []string
		for _, w := range o.Waits {
			text := w.Text
			if !w.Since.IsZero() {
				text += ", for " + Clock(o.At.Sub(w.Since))
			}
			parts = append(parts, text)
		}
		return strings.Join(parts, "; ")
	}
	return "the next level is about to be opened"
}

// driver says who opens levels; without anybody, what to type.
func (o *LaunchOrder) driver() string {
	if o.Driver.Kind == DriverNone {
		return "nobody drives: no level is opened until somebody does; next: kubectl kruise reconcile -n " + Clean(o.Pod.Namespace)
	}
	return o.Driver.Sentence()
}
