package view

import (
	"fmt"
	"strings"
)

// Verdicts of one part of a check.
const (
	CheckOK      = "ok"
	CheckWarning = "warning"
	CheckFailed  = "failed"
	// CheckUnknown is what could not be looked at, for lack of permission.
	CheckUnknown = "unknown"
	// CheckAbsent is what is not installed and need not be.
	CheckAbsent = "absent"
)

// Check is what `check` shows: whether what is installed works.
type Check struct {
	Meta
	// OK says that nothing failed.
	OK bool `json:"ok"`
	// InstallNamespace is where the managers are, Namespace the one that rights and admission were tried in.
	InstallNamespace string      `json:"installNamespace"`
	Namespace        string      `json:"namespace"`
	Parts            []CheckPart `json:"parts"`
	// Missed are pods that came up without a step of admission.
	Missed []MissedPod `json:"missed,omitempty"`
}

// CheckPart is one thing that was looked at.
type CheckPart struct {
	Name    string `json:"name"`
	Verdict string `json:"verdict"`
	Text    string `json:"text"`
	// Hint is what to do about it.
	Hint string `json:"hint,omitempty"`
}

// MissedPod is a pod that came up without all of its admission.
type MissedPod struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Steps are those that were left out; all of them where admission did not answer.
	Steps string `json:"steps"`
}

// Add appends a part.
func (c *Check) Add(part CheckPart) { c.Parts = append(c.Parts, part) }

// Finish sets OK.
func (c *Check) Finish() {
	c.OK = true
	for _, part := range c.Parts {
		c.OK = c.OK && part.Verdict != CheckFailed
	}
}

// shownMissed is how many pods that missed a step are shown to people; JSON has them all.
const shownMissed = 10

// Text shows the check to people: a line for each part, and below one that is not in order what to do.
func (c *Check) Text() string {
	width, verdict := 0, 0
	for _, part := range c.Parts {
		width, verdict = max(width, len(part.Name)), max(verdict, len(part.Verdict))
	}
	var b strings.Builder
	for _, part := range c.Parts {
		fmt.Fprintf(&b, "%-*s  %-*s  %s\n", width, part.Name, verdict, part.Verdict, Clean(part.Text))
		if part.Hint != "" {
			fmt.Fprintf(&b, "%*s  %-*s  next: %s\n", width, "", verdict, "", Clean(part.Hint))
		}
	}
	for i, pod := range c.Missed {
		if i == shownMissed {
			fmt.Fprintf(&b, "and %d more pods, see -o json\n", len(c.Missed)-shownMissed)
			break
		}
		fmt.Fprintf(&b, "missed  %s/%s  %s\n", Clean(pod.Namespace), Clean(pod.Name), Clean(pod.Steps))
	}
	return b.String()
}
