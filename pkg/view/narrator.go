package view

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
)

// Tone says how a line should look on a terminal that has colours.
type Tone int

// The tones.
const (
	Plain Tone = iota
	Good
	Warn
	Bad
)

// Line is one line for a person. A result is what the command was asked for; the rest is progress.
type Line struct {
	Text   string
	Tone   Tone
	Result bool
}

// Narrator turns the events of one subject into lines. It says each thing once. Between events Tick lets it speak of
// waits that last.
type Narrator struct {
	// Command is how the user goes on, such as "kubectl kruise rollout cloneset/web".
	Command string
	// Back is the command that takes the change back; empty when it is not known.
	Back string
	// Prefix stands before each line, for loops with many subjects; such a loop tells no beginning and no end.
	Prefix string
	// Start is what the seconds in front of each line count from.
	Start time.Time

	driver Driver
	last   *Planned
	pods   map[types.UID]podState
	acted  map[types.UID]plan.Fate
	moved  int32
	waits  waiting
	// ill says since when pods have an ailment, as far as was seen.
	ill map[types.UID]time.Time
	// failures says when a failure was last told.
	failures map[string]time.Time
}

// podState is what was last known of a pod.
type podState struct {
	name               string
	updated, available bool
}

// Tell takes the next event and gives the lines for it.
func (n *Narrator) Tell(e Event) []Line {
	switch e := e.(type) {
	case Started:
		n.driver = e.Driver
	case Planned:
		return n.planned(e)
	case Acted:
		return n.actedOn(e)
	case ActionFailed:
		return n.failed(e)
	case Waiting:
		return n.waitsChanged(e)
	case Trouble:
		if e.Err == "" {
			return []Line{n.line(e.At, Good, "the cluster answers again")}
		}
		return []Line{n.line(e.At, Warn, "trouble: %s", Clean(e.Err))}
	case DriverChanged:
		n.driver = e.Driver
		return []Line{n.line(e.At, Warn, "%s", e.Driver.Sentence())}
	case Opened:
		return n.opened(e)
	case Done:
		return n.done(e)
	case Stopped:
		return n.stopped(e)
	}
	return nil
}

// failed tells a failure when it first comes and, while it goes on, once more each minute.
func (n *Narrator) failed(e ActionFailed) []Line {
	text := Clean(e.Action.On.Name) + "  failed: " + Clean(e.Err)
	if told, ok := n.failures[text]; ok && e.At.Sub(told) < time.Minute {
		return nil
	}
	if n.failures == nil {
		n.failures = map[string]time.Time{}
	}
	n.failures[text] = e.At
	return []Line{n.line(e.At, Bad, "%s", text)}
}

// Last is the snapshot of the latest plan; nil before the first.
func (n *Narrator) Last() *Rollout {
	if n.last == nil {
		return nil
	}
	return NewRollout(*n.last, n.driver)
}

// line makes a progress line with the seconds since the start in front.
func (n *Narrator) line(at time.Time, tone Tone, format string, args ...any) Line {
	text := fmt.Sprintf("%4s  %s%s", Clock(at.Sub(n.Start)), n.Prefix, fmt.Sprintf(format, args...))
	return Line{Text: text, Tone: tone}
}

// below makes a line that belongs to the one above it.
func below(tone Tone, format string, args ...any) Line {
	return Line{Text: "      " + fmt.Sprintf(format, args...), Tone: tone}
}

func result(tone Tone, format string, args ...any) Line {
	return Line{Text: fmt.Sprintf(format, args...), Tone: tone, Result: true}
}
