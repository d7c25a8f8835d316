package rollout

import (
	"github.com/kubectl-kruise/kubectl-kruise/pkg/cluster"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/commands/cli"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/view"
)

// emit writes entries of the event stream. A stream that is gone ends the command by itself (cli.Pipe).
func (v *voice) emit(entries ...view.Entry) {
	for _, e := range entries {
		_ = cli.WriteLine(v.out, e)
	}
}

// tellChanges puts what was recorded into the stream.
func (v *voice) tellChanges(s *subject, changes []view.Change) {
	if v.stream == nil || len(changes) == 0 {
		return
	}
	e := view.NewEntry(view.EntryChange, v.now(), s.viewed())
	e.Changes, e.DryRun = changes, v.dryRun
	v.emit(e)
}

// tellRun keeps where a batched run stands, and puts it into the stream.
func (v *voice) tellRun(s *subject, run *view.RunView) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.run = run
	if v.stream != nil {
		v.emit(v.stream.Batch(run, v.now(), s.viewed())...)
	}
}

// told puts the writes of a verb's own into the stream.
func (v *voice) told(s *subject) func(cluster.Outcome) {
	if v.stream == nil {
		return nil
	}
	return func(o cluster.Outcome) {
		head := view.Head{At: v.now(), Subject: s.viewed()}
		v.mu.Lock()
		defer v.mu.Unlock()
		switch o.Result {
		case cluster.Done, cluster.Checked:
			v.emit(v.stream.Tell(view.Acted{Head: head, Stage: o.Stage, Action: o.Action, DryRun: o.Result == cluster.Checked, Took: o.Took})...)
		case cluster.Failed, cluster.Unknown:
			v.emit(v.stream.Tell(view.ActionFailed{Head: head, Stage: o.Stage, Action: o.Action, Err: o.Err.Error(), Unknown: o.Result == cluster.Unknown})...)
		}
	}
}

// show puts one look into the stream.
func (v *voice) show(p view.Planned, driver view.Driver) {
	if v.stream == nil {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.emit(v.stream.Tell(view.Started{Head: p.Head, Driver: driver})...)
	v.emit(v.stream.Tell(p)...)
	if len(p.Plan.Waits) > 0 {
		v.emit(v.stream.Tell(view.Waiting{Head: p.Head, Waits: p.Plan.Waits})...)
	}
}
