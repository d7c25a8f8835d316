package cli

import (
	"fmt"
	"io"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/view"
)

// Printer writes lines for people: results to one stream, progress to another, with colours where they are terminals that
// have them.
type Printer struct {
	Results, Progress             io.Writer
	ColourResults, ColourProgress bool
}

// NewPrinter is a printer for a verb. Where machines read the results, the lines for people all go to the error stream.
func NewPrinter(deps *Deps, output Output, plain bool) *Printer {
	p := &Printer{Results: deps.Out, Progress: deps.ErrOut,
		ColourResults: !plain && deps.Colour(deps.OutTerminal), ColourProgress: !plain && deps.Colour(deps.ErrTerminal)}
	if output != Text {
		p.Results, p.ColourResults = p.Progress, p.ColourProgress
	}
	return p
}

// Print writes lines. A stream that is gone ends the command by itself (Pipe), so errors are not looked at here.
func (p *Printer) Print(lines ...view.Line) {
	for _, l := range lines {
		w, colour := p.Progress, p.ColourProgress
		if l.Result {
			w, colour = p.Results, p.ColourResults
		}
		text := l.Text
		if code := map[view.Tone]string{view.Good: "32", view.Warn: "33", view.Bad: "31"}[l.Tone]; colour && code != "" {
			text = "\x1b[" + code + "m" + text + "\x1b[0m"
		}
		fmt.Fprintln(w, text)
	}
}
