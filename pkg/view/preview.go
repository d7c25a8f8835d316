package view

import (
	"fmt"
	"strings"
)

// Preview tells what a plan would do now, for a command that writes nothing.
func (r *Rollout) Preview() []Line {
	var lines []Line
	width := 0
	for _, p := range r.Pods {
		width = max(width, len(p.Name))
	}
	changing := 0
	for _, p := range r.Pods {
		does := Does(p.Fate)
		if does == "" {
			continue
		}
		changing++
		lines = append(lines, result(Plain, "  %s", strings.TrimRight(fmt.Sprintf("%-*s  %-12s  %s", width, Clean(p.Name), does, p.Text), " ")))
	}
	for _, w := range r.Waits {
		lines = append(lines, result(Warn, "  waiting: %s", w.Text))
	}
	for _, w := range r.Warnings {
		lines = append(lines, result(Warn, "  warning: %s", Clean(w)))
	}
	return append(lines, result(Plain, "%s of %d would be changed now; nothing written", count(changing, "pod"), len(r.Pods)))
}
