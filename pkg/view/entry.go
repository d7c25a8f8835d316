package view

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
)

// EntryType says which of its fields an Entry has.
type EntryType string

// The types of entries.
const (
	// EntryChange: what the command recorded, or would record in a dry run.
	EntryChange EntryType = "change"
	// EntryDriver: who moves the pods, first and whenever that changes.
	EntryDriver EntryType = "driver"
	// EntryBatch: where a batched run stands, whenever that changes.
	EntryBatch EntryType = "batch"
	// EntryProgress: the numbers of the workload, whenever they change.
	EntryProgress EntryType = "progress"
	// EntryPod: one pod, whenever something about it changes; Gone when it is there no more.
	EntryPod EntryType = "pod"
	// EntryWrite: one write was carried out, or checked in a dry run of the server.
	EntryWrite EntryType = "write"
	// EntryFailure: one write was refused or had no answer.
	EntryFailure EntryType = "failure"
	// EntryWait: what is waited for, whenever that changes.
	EntryWait EntryType = "wait"
	// EntryWarning: what was asked for and is not carried out, or looks wrong.
	EntryWarning EntryType = "warning"
	// EntryTrouble: the cluster does not answer; without Error it answers again.
	EntryTrouble EntryType = "trouble"
	// EntryEnd: how it ended; the last of a workload.
	EntryEnd EntryType = "end"
)

// Entry is one line of an event stream: one thing that happened to one workload.
type Entry struct {
	Meta
	Type    EntryType `json:"type"`
	At      time.Time `json:"at"`
	Subject Subject   `json:"subject"`

	Changes []Change   `json:"changes,omitempty"`
	DryRun  string     `json:"dryRun,omitempty"`
	Driver  *Driver    `json:"driver,omitempty"`
	Run     *RunView   `json:"run,omitempty"`
	Counts  *Counts    `json:"counts,omitempty"`
	Pod     *PodView   `json:"pod,omitempty"`
	Gone    bool       `json:"gone,omitempty"`
	Action  *WriteView `json:"action,omitempty"`
	Error   string     `json:"error,omitempty"`
	// Unknown says that a write had no answer, so that it may have been carried out.
	Unknown bool `json:"unknown,omitempty"`
	// Waits is absent when nothing is waited for any more.
	Waits []WaitView `json:"waits,omitempty"`
	Text  string     `json:"text,omitempty"`
	End   *EndView   `json:"end,omitempty"`
}

// WriteView is one write.
type WriteView struct {
	Stage       string    `json:"stage"`
	Verb        plan.Verb `json:"verb"`
	Kind        string    `json:"kind"`
	Name        string    `json:"name"`
	Subresource string    `json:"subresource,omitempty"`
	Why         string    `json:"why,omitempty"`
}

// EndView is how a command ended for one workload.
type EndView struct {
	Done    bool       `json:"done"`
	Stopped StopReason `json:"stopped,omitempty"`
	Detail  string     `json:"detail,omitempty"`
}

// NewEntry makes an entry of a workload.
func NewEntry(t EntryType, at time.Time, subject Subject) Entry {
	return Entry{Meta: Of("Event"), Type: t, At: at, Subject: subject}
}

// EndOf is the last entry of a command that leaves a workload like this.
func EndOf(r *Rollout, at time.Time) Entry {
	e := NewEntry(EntryEnd, at, r.Subject)
	counts := r.Counts
	e.Counts, e.DryRun, e.End = &counts, r.DryRun, &EndView{Done: r.Done, Stopped: r.Stopped, Detail: Clean(r.Detail)}
	return e
}

// Stream turns the events of one subject into entries. What has not changed is not said again.
type Stream struct {
	driver   *Driver
	counts   *Counts
	pods     map[types.UID]PodView
	warnings []string
	run      *RunView
}

// Tell takes the next event and gives the entries for it. Ends are left to who knows how all of it ended.
func (s *Stream) Tell(e Event) []Entry {
	entry := func(t EntryType) Entry { return NewEntry(t, e.When(), e.About()) }
	switch e := e.(type) {
	case Started:
		return s.drives(entry(EntryDriver), e.Driver)
	case DriverChanged:
		return s.drives(entry(EntryDriver), e.Driver)
	case Planned:
		return s.planned(e)
	case Acted:
		x := entry(EntryWrite)
		x.Action = writeView(e.Stage, e.Action)
		if e.DryRun {
			x.DryRun = "server"
		}
		return []Entry{x}
	case ActionFailed:
		x := entry(EntryFailure)
		x.Action, x.Error, x.Unknown = writeView(e.Stage, e.Action), Clean(e.Err), e.Unknown
		return []Entry{x}
	case Waiting:
		x := entry(EntryWait)
		for _, w := range e.Waits {
			x.Waits = append(x.Waits, waitView(w))
		}
		return []Entry{x}
	case Opened:
		var list []Entry
		for _, text := range e.sentences() {
			x := entry(EntryWarning)
			x.Text = text
			list = append(list, x)
		}
		return list
	case Trouble:
		x := entry(EntryTrouble)
		x.Error = Clean(e.Err)
		return []Entry{x}
	}
	return nil
}

// Batch tells where a batched run stands.
func (s *Stream) Batch(run *RunView, at time.Time, subject Subject) []Entry {
	if run == nil || s.run != nil && s.run.ID == run.ID && s.run.Batch == run.Batch && s.run.Step == run.Step && s.run.Detail == run.Detail {
		return nil
	}
	s.run = run
	x := NewEntry(EntryBatch, at, subject)
	x.Run = run
	return []Entry{x}
}

func (s *Stream) drives(x Entry, d Driver) []Entry {
	if s.driver != nil && s.driver.Kind == d.Kind && s.driver.Holder == d.Holder {
		return nil
	}
	s.driver = &d
	x.Driver = &d
	return []Entry{x}
}

// planned tells what of a look differs from the one before: numbers, warnings, pods.
func (s *Stream) planned(e Planned) []Entry {
	var list []Entry
	if s.counts == nil || *s.counts != e.Counts {
		counts := e.Counts
		s.counts = &counts
		x := NewEntry(EntryProgress, e.At, e.Subject)
		x.Counts = &counts
		list = append(list, x)
	}
	for _, w := range e.Plan.Warnings {
		if !slices.Contains(s.warnings, w) {
			x := NewEntry(EntryWarning, e.At, e.Subject)
			x.Text = Clean(w)
			list = append(list, x)
		}
	}
	s.warnings = e.Plan.Warnings
	return append(list, s.podsChanged(e)...)
}

func (s *Stream) podsChanged(e Planned) []Entry {
	was := s.pods
	s.pods = make(map[types.UID]PodView, len(e.Plan.Verdicts))
	var list []Entry
	tell := func(p PodView, gone bool) {
		x := NewEntry(EntryPod, e.At, e.Subject)
		x.Pod, x.Gone = &p, gone
		list = append(list, x)
	}
	for _, v := range e.Plan.Verdicts {
		if v.UID == "" { // it is still to be made
			continue
		}
		p := podView(v)
		s.pods[v.UID] = p
		if old, known := was[v.UID]; !known || !samePod(old, p) {
			tell(p, false)
		}
	}
	gone := slices.SortedFunc(maps.Keys(was), func(a, b types.UID) int {
		return cmp.Or(strings.Compare(was[a].Name, was[b].Name), strings.Compare(string(a), string(b)))
	})
	for _, uid := range gone {
		if _, there := s.pods[uid]; !there {
			tell(was[uid], true)
		}
	}
	return list
}

func samePod(a, b PodView) bool {
	a.Since, b.Since = time.Time{}, time.Time{}
	return a == b
}

func writeView(stage string, a plan.Action) *WriteView {
	return &WriteView{Stage: stage, Verb: a.Verb, Kind: a.On.Kind.Kind, Name: a.On.Name, Subresource: a.Subresource, Why: Clean(a.Why)}
}
