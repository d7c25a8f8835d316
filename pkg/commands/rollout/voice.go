package rollout

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/cluster"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/commands/cli"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/view"
)

// voice tells a run to the user. Events come from the loop, ticks and the stop from elsewhere; one at a time is heard.
type voice struct {
	printer *cli.Printer
	now     func() time.Time
	timeout time.Duration
	// refuse ends the run when the plan turns out to want what may not be.
	refuse func(error)
	target target

	mu       sync.Mutex
	narrator *view.Narrator
	recorded []view.Change
	stopping bool
	// note is what the line about the change ends with.
	note string
	// looksOnly says that a stop stops nothing but the looking.
	looksOnly bool
	mute      bool
	// started is when a run of several loops began; zero for a run of one.
	started time.Time
	// drop takes events off the story.
	drop func(view.Event) bool
	// stream turns events into lines for machines; nil when nobody asked for them.
	stream *view.Stream
	out    io.Writer
	dryRun string
	// run is the batched run as it was last seen.
	run *view.RunView
}

func newVoice(deps *cli.Deps, o *options, s *subject) *voice {
	v := &voice{
		printer: cli.NewPrinter(deps, o.output, o.plain), now: deps.Now, timeout: o.timeout, target: o.target, refuse: func(error) {},
		narrator: &view.Narrator{Command: s.command(deps), Start: deps.Now()},
	}
	if o.output == cli.JSONL {
		v.stream, v.out = &view.Stream{}, deps.Out
		if o.dryRun != cluster.DryRunNone {
			v.dryRun = string(o.dryRun)
		}
	}
	return v
}

// say tells lines of the verb's own in the middle of a run.
func (v *voice) say(lines ...view.Line) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.print(lines...)
}

// swallow takes events off the story from now on; nil ends that.
func (v *voice) swallow(drop func(view.Event) bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.drop = drop
}

// refuseBy says how to end the run when its plan wants what may not be.
func (v *voice) refuseBy(cancel func(error)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.refuse = cancel
}

func (v *voice) print(lines ...view.Line) {
	if !v.mute {
		v.printer.Print(lines...)
	}
}

// changes tells what was recorded.
func (v *voice) changes(s *subject, change *cluster.IntentChange, asked bool) {
	defaults := view.LimitsOf(s.set)
	var parts []string
	before := len(v.recorded)
	for _, f := range change.Fields {
		c := view.Change{Field: f.Name, From: f.Old, To: f.New}
		if c.From == "" {
			c.From = defaults.Field(f.Name)
		}
		v.recorded = append(v.recorded, c)
		parts = append(parts, c.Sentence())
	}
	switch {
	case len(parts) > 0:
		v.print(view.Line{Text: s.target.full() + " " + strings.Join(parts, ", ") + v.note, Result: true})
	case asked && !change.Changes():
		v.print(view.Line{Text: s.target.full() + " is as wanted already", Result: true})
	}
	v.tellChanges(s, v.recorded[before:])
	v.narrator.Start = v.now()
}

// hear takes the events of the loop.
func (v *voice) hear(e view.Event) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.drop != nil && v.drop(e) {
		return
	}
	if v.stream != nil {
		v.emit(v.stream.Tell(e)...)
	}
	switch stopped := e.(type) {
	case view.Planned:
		if note, ok := forbidden(stopped.Plan); ok {
			v.mute = true
			v.refuse(cli.Usagef("%s: %s", v.target, view.Clean(note)))
		}
	case view.Done:
		if !v.started.IsZero() {
			stopped.Took = stopped.At.Sub(v.started)
			e = stopped
		}
	case view.Stopped:
		if stopped.Why == view.StopInterrupted {
			v.sayStopping()
		}
		if stopped.Why == view.StopTimeout && stopped.Detail == "" {
			stopped.Detail = view.Timeout(v.timeout)
			e = stopped
		}
	}
	v.print(v.narrator.Tell(e)...)
}

// forbidden says that nothing can be done because InPlaceOnly forbids the change of the template.
func forbidden(p *plan.Plan) (string, bool) {
	if !p.Empty() {
		return "", false
	}
	for _, w := range p.Waits {
		if w.Reason == plan.ReasonNotEligible {
			return w.Note, true
		}
	}
	return "", false
}

// sayStopping answers a Ctrl-C, once.
func (v *voice) sayStopping() {
	if !v.stopping && !v.looksOnly {
		v.stopping = true
		v.print(v.narrator.Stopping())
	}
}

// attend ticks until the context ends, and answers the user's request to stop as soon as it comes.
func (v *voice) attend(ctx, user context.Context) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	stop := user.Done()
	for {
		select {
		case <-ctx.Done():
			return
		case <-stop:
			stop = nil
			v.mu.Lock()
			v.sayStopping()
			v.mu.Unlock()
		case <-ticker.C:
			v.mu.Lock()
			v.print(v.narrator.Tick(v.now())...)
			v.mu.Unlock()
		}
	}
}

// snapshot is what is known at the end. Without a look at the pods it has the numbers of the status alone.
func (v *voice) snapshot(s *subject, driver view.Driver) *view.Rollout {
	v.mu.Lock()
	defer v.mu.Unlock()
	r := v.narrator.Last()
	if r == nil {
		r = view.FromStatus(s.set, driver, v.now())
	}
	r.Changes, r.Run = v.recorded, v.run
	return r
}

// answer writes the result for machines.
func (o *options) answer(deps *cli.Deps, r *view.Rollout) error {
	switch o.output {
	case cli.Text:
		return nil
	case cli.Name:
		_, err := fmt.Fprintln(deps.Out, o.target.full())
		return err
	case cli.JSONL:
		return cli.WriteLine(deps.Out, view.EndOf(r, deps.Now()))
	}
	return o.output.Write(deps.Out, r)
}
