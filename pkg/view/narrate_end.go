package view

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// done tells that the goal holds and, when the partition keeps pods back, how to go on.
func (n *Narrator) done(e Done) []Line {
	if n.Prefix != "" {
		return []Line{n.line(e.At, Good, "done: %s", e.Counts.Sentence())}
	}
	lines := []Line{result(Good, "done in %s: %s", Span(e.Took), e.Counts.Sentence())}
	if n.last != nil && e.Counts.ExpectedUpdated < e.Counts.Wanted {
		lines = append(lines, result(Plain, "next: %s --partition %s", n.Command, nextPartition(LimitsOf(n.last.Object).Partition)))
	}
	return lines
}

// Sentence says where a workload stands: "2 of 2 updated and available at web-6599fc6cdd, 8 stay at web-7cb9c88699".
func (c Counts) Sentence() string {
	if c.Wanted == 0 && c.Replicas == 0 {
		return "no pods wanted, none there"
	}
	var b strings.Builder
	switch {
	case c.ExpectedUpdated == 0 && c.Updated == 0:
		fmt.Fprintf(&b, "%d of %d available", c.Available, c.Wanted)
	case c.Updated > c.ExpectedUpdated && c.Updated == c.UpdatedAvailable:
		fmt.Fprintf(&b, "%d updated and available", c.Updated)
	case c.Updated > c.ExpectedUpdated:
		fmt.Fprintf(&b, "%d updated, %d of them available", c.Updated, c.UpdatedAvailable)
	case c.Updated == c.UpdatedAvailable:
		fmt.Fprintf(&b, "%d of %d updated and available", c.Updated, c.ExpectedUpdated)
	default:
		fmt.Fprintf(&b, "%d of %d updated, %d of them available", c.Updated, c.ExpectedUpdated, c.UpdatedAvailable)
	}
	if c.UpdateRevision != "" && c.Updated > 0 {
		b.WriteString(" at " + c.UpdateRevision)
	}
	if more := c.Updated - c.ExpectedUpdated; more > 0 {
		fmt.Fprintf(&b, ", %d more than wanted", more)
	}
	if stay := c.Replicas - c.Updated; stay > 0 && c.Updated >= c.ExpectedUpdated {
		fmt.Fprintf(&b, ", %d stay", stay)
		if stay == 1 {
			b.WriteString("s")
		}
		if c.CurrentRevision != "" && c.CurrentRevision != c.UpdateRevision {
			b.WriteString(" at " + c.CurrentRevision)
		}
	}
	return b.String()
}

// nextPartition proposes the partition of the next step: about half of what is still kept back, then nothing.
func nextPartition(partition string) string {
	if percent, ok := strings.CutSuffix(partition, "%"); ok {
		if p, err := strconv.ParseFloat(percent, 64); err == nil && p > 50 {
			return "50%"
		}
		return "0"
	}
	p, _ := strconv.Atoi(partition)
	return strconv.Itoa(p / 2)
}

// Stopping is what the first Ctrl-C is answered with.
func (n *Narrator) Stopping() Line {
	text := "stopping: no new pod is touched"
	if flying := n.inFlight(); flying == 1 {
		text += "; 1 in flight finishes on its own"
	} else if flying > 1 {
		text += fmt.Sprintf("; %d in flight finish on their own", flying)
	}
	return Line{Text: text}
}

func (n *Narrator) inFlight() int {
	flying := 0
	for _, p := range n.pods {
		if p.updated && !p.available {
			flying++
		}
	}
	return flying
}

// stopped tells why the goal was not reached, what was left undone, and the next command.
func (n *Narrator) stopped(e Stopped) []Line {
	if n.Prefix != "" {
		return []Line{n.line(e.At, Warn, "%s", stopText(e))}
	}
	lines := []Line{result(stopTone(e.Why), "%s", stopText(e))}
	groups := n.lastVisit()
	for _, g := range groups {
		lines = append(lines, result(Warn, "      %s", g.line(e.At)))
	}
	return append(lines, n.goOn(e, len(groups) > 0)...)
}

func (n *Narrator) lastVisit() []patients {
	if n.last == nil {
		return nil
	}
	return n.visit()
}

func stopTone(why StopReason) Tone {
	if why == StopFailed || why == StopGone {
		return Bad
	}
	return Warn
}

func stopText(e Stopped) string {
	where := e.Counts.Sentence()
	detail := Clean(e.Detail)
	if detail != "" {
		detail = ": " + detail
	}
	switch e.Why {
	case StopInterrupted:
		return fmt.Sprintf("stopped at %s; nothing is lost", where)
	case StopTimeout:
		return fmt.Sprintf("timed out%s; stopped at %s", detail, where)
	case StopPaused:
		return fmt.Sprintf("paused%s; %s", detail, where)
	case StopSuperseded:
		return fmt.Sprintf("superseded%s; stopped at %s", detail, where)
	case StopLeaseLost:
		return fmt.Sprintf("lost the lease%s; stopped at %s", detail, where)
	case StopDriver:
		return fmt.Sprintf("somebody else drives now%s; stopped at %s", detail, where)
	case StopGone:
		return fmt.Sprintf("gone%s; nothing is left to do", detail)
	}
	return fmt.Sprintf("failed%s; stopped at %s", detail, where)
}

// goOn proposes what to type next.
func (n *Narrator) goOn(e Stopped, ill bool) []Line {
	var lines []Line
	add := func(label, command string) { lines = append(lines, result(Plain, "%-8s %s", label, command)) }
	switch e.Why {
	case StopInterrupted, StopTimeout, StopLeaseLost:
		add("go on:", n.Command)
	case StopPaused:
		if n.last != nil && LimitsOf(n.last.Object).Paused {
			add("go on:", n.Command+" --paused=false")
		}
	case StopSuperseded:
		// Who changed the spec need not drive: pods that were under way are finished by whoever goes on.
		if n.driver.Kind == DriverSelf {
			add("go on:", n.Command)
			break
		}
		fallthrough
	case StopDriver:
		add("watch:", strings.Replace(n.Command, " rollout ", " rollout status ", 1)+" --watch")
	}
	if n.Back != "" && e.Why != StopGone && e.Why != StopSuperseded && ill {
		add("back:", n.Back)
	}
	return lines
}

// opened tells of launch orders that were not kept to their end.
func (n *Narrator) opened(e Opened) []Line {
	var lines []Line
	for _, text := range e.sentences() {
		if n.Prefix != "" {
			lines = append(lines, n.line(e.At, Warn, "%s", text))
			continue
		}
		lines = append(lines, result(Warn, "%s", text))
	}
	return lines
}

func (e Opened) sentences() []string {
	var list []string
	if len(e.Pods) > 0 {
		list = append(list, fmt.Sprintf("opened what was left of the launch order of %s, ready or not: nobody would do it later", podNames(e.Pods)))
	}
	if len(e.Left) > 0 {
		list = append(list, fmt.Sprintf("could not open all of the launch order of %s: containers wait until somebody drives", podNames(e.Left)))
	}
	if len(e.Kept) > 0 {
		list = append(list, fmt.Sprintf("left the launch order of %s as it is: containers wait until somebody drives", podNames(e.Kept)))
	}
	return list
}

// podNames is "1 pod (a)" or "5 pods (a, b, c and 2 more)".
func podNames(names []string) string {
	const shown = 3
	noun, text := "pods", strings.Join(names[:min(shown, len(names))], ", ")
	if len(names) == 1 {
		noun = "pod"
	}
	if more := len(names) - shown; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("%d %s (%s)", len(names), noun, Clean(text))
}

// Timeout is the detail of a stop because the given time is over.
func Timeout(d time.Duration) string { return "--timeout " + d.String() + " is over" }
