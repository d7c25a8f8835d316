package view

import (
	"strings"
	"time"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
)

// How long something has to last before it is told. Most waits end by themselves within seconds.
const (
	tellAilmentAfter = 3 * time.Second
	tellWaitAfter    = 10 * time.Second
	tellBackAfter    = 30 * time.Second
)

// waiting is what a narrator knows about the present waits.
type waiting struct {
	list []plan.Wait
	// since is when waiting began without a break.
	since time.Time
	// told is what was said last, without what changes all the time.
	told     string
	toldBack bool
}

// waitsChanged remembers what is waited for; Tick tells it if it lasts.
func (n *Narrator) waitsChanged(e Waiting) []Line {
	if len(e.Waits) == 0 {
		n.waits = waiting{}
		return nil
	}
	n.waits.list = e.Waits
	if n.waits.since.IsZero() {
		n.waits.since = e.At
	}
	return n.Tick(e.At)
}

// Tick gives the lines that time alone brings: a wait that lasts, and the way back out of an ailment that lasts.
func (n *Narrator) Tick(now time.Time) []Line {
	w := &n.waits
	if n.last == nil || len(w.list) == 0 {
		return nil
	}
	groups := n.visit()
	tell, back := now.Sub(w.since) >= tellWaitAfter, false
	for _, g := range groups {
		tell = tell || now.Sub(g.since) >= tellAilmentAfter
		back = back || now.Sub(g.since) >= tellBackAfter
	}
	back = back && !w.toldBack && n.Back != ""
	said := gist(w.list, groups)
	if !tell || said == w.told && !back {
		return nil
	}
	w.told = said
	lines := n.waitLines(now, groups)
	if back {
		w.toldBack = true
		lines = append(lines, below(Plain, "way back: %s", n.Back))
	}
	return lines
}

// gist is what makes one wait differ from another for a reader.
func gist(waits []plan.Wait, groups []patients) string {
	var b strings.Builder
	for _, w := range waits {
		b.WriteString(string(w.Reason) + "\n")
	}
	for _, g := range groups {
		b.WriteString(g.where + ": " + g.sort() + "\n")
	}
	return b.String()
}

func (n *Narrator) waitLines(now time.Time, groups []patients) []Line {
	var texts []string
	for _, w := range n.waits.list {
		text := waitView(w).Text
		if _, ill := ailmentOf(w.Note); ill {
			text = Why(w.Reason)
		}
		if len(w.Names) > 0 && len(groups) == 0 {
			text += " (" + names(w.Names) + ")"
		}
		texts = append(texts, text)
	}
	lines := []Line{n.line(now, Warn, "waiting: %s", strings.Join(texts, "; "))}
	for _, g := range groups {
		lines = append(lines, below(Warn, "%s", g.line(now)))
	}
	return lines
}
