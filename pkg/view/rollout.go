package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
)

// Rollout is the snapshot of one workload: its numbers, what happens to each pod and why, what is waited for, who drives.
type Rollout struct {
	Meta
	Subject Subject `json:"subject"`
	// At is when the snapshot was taken.
	At time.Time `json:"at"`
	// Changes are what the command recorded before it, empty for a command that only looks.
	Changes []Change `json:"changes,omitempty"`
	// DryRun says what was done instead of writing: client or server.
	DryRun string `json:"dryRun,omitempty"`
	Driver Driver `json:"driver"`
	Counts Counts `json:"counts"`
	Limits Limits `json:"limits"`
	// Run is the batched run that is recorded on the workload.
	Run *RunView `json:"run,omitempty"`
	// Done says that the goal holds: as many pods as the partition lets move are updated and available.
	Done bool `json:"done"`
	// Stopped says why the goal was not waited for; empty while it is, and when it is reached.
	Stopped StopReason `json:"stopped,omitempty"`
	// Detail has the words to Stopped.
	Detail string     `json:"detail,omitempty"`
	Waits  []WaitView `json:"waits,omitempty"`
	// Warnings are sentences about what was asked for and is not carried out.
	Warnings []string  `json:"warnings,omitempty"`
	Pods     []PodView `json:"pods"`
}

// Change is one field that a command set. Fields that were absent before have an empty From.
type Change struct {
	// Field is the flag's name, with the container for an image: "image nginx", "partition".
	Field string `json:"field"`
	From  string `json:"from,omitempty"`
	To    string `json:"to"`
}

// imageField is what the field of an image begins with.
const imageField = "image "

// Container is the container of a changed image.
func (c Change) Container() (string, bool) { return strings.CutPrefix(c.Field, imageField) }

// Sentence tells a change: "image nginx: nginx:1.26 -> nginx:1.27", "partition 0 -> 80%".
func (c Change) Sentence() string {
	colon := ""
	if strings.HasPrefix(c.Field, imageField) {
		colon = ":"
	}
	if c.From == c.To { // it was not set
		return Clean(fmt.Sprintf("%s%s %s, the default until now", c.Field, colon, c.To))
	}
	return Clean(fmt.Sprintf("%s%s %s -> %s", c.Field, colon, c.From, c.To))
}

// Limits are the numbers of the strategy as the spec says them, with defaults where it says nothing.
type Limits struct {
	Type           string `json:"type"`
	Partition      string `json:"partition"`
	MaxUnavailable string `json:"maxUnavailable"`
	MaxSurge       string `json:"maxSurge"`
	Paused         bool   `json:"paused"`
	MinReady       int32  `json:"minReadySeconds"`
}

// WaitView is something that has to happen before more can be done.
type WaitView struct {
	Reason plan.Reason `json:"reason"`
	Pods   []string    `json:"pods,omitempty"`
	Text   string      `json:"text"`
	Since  time.Time   `json:"since,omitzero"`
}

// PodView is one pod: where it stands, what happens to it and why.
type PodView struct {
	Name      string      `json:"name"`
	Revision  string      `json:"revision,omitempty"`
	Updated   bool        `json:"updated"`
	Available bool        `json:"available"`
	Fate      plan.Fate   `json:"fate"`
	Reason    plan.Reason `json:"reason"`
	Text      string      `json:"text"`
	Since     time.Time   `json:"since,omitzero"`
}

// NewRollout makes a snapshot of what a loop planned. Pods are sorted: those that matter most to a person come first.
func NewRollout(p Planned, driver Driver) *Rollout {
	r := &Rollout{Meta: Of("Rollout"), Subject: p.Subject, At: p.At, Driver: driver, Counts: p.Counts,
		Limits: LimitsOf(p.Object), Done: p.Plan.Done, Warnings: p.Plan.Warnings, Pods: []PodView{}}
	for _, w := range p.Plan.Waits {
		r.Waits = append(r.Waits, waitView(w))
	}
	for _, v := range p.Plan.Verdicts {
		r.Pods = append(r.Pods, podView(v))
	}
	slices.SortFunc(r.Pods, func(a, b PodView) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a.Name, b.Name))
	})
	return r
}

func podView(v plan.Verdict) PodView {
	return PodView{Name: v.Name, Revision: v.Revision, Updated: v.Updated, Available: v.Available,
		Fate: v.Fate, Reason: v.Reason, Text: sentence(v.Reason, v.Note), Since: v.Since}
}

func waitView(w plan.Wait) WaitView {
	text := Clean(w.Note)
	if text == "" {
		text = Why(w.Reason)
	}
	return WaitView{Reason: w.Reason, Pods: w.Names, Text: text, Since: w.Since}
}

// rank puts pods in trouble first, then those under way, then the rest: updated before old.
func rank(p PodView) int {
	switch {
	case p.Reason == plan.ReasonNotReady || p.Reason == plan.ReasonNotEligible || p.Reason == plan.ReasonBadSpec:
		return 0
	case p.Fate != plan.Keep:
		return 1
	case p.Updated:
		return 2
	}
	return 3
}

// FromStatus makes a snapshot of what the workload's status says, for commands that do not look at its pods.
func FromStatus(set *v1beta1.CloneSet, driver Driver, now time.Time) *Rollout {
	s := &set.Status
	wanted := v1beta1.DefaultReplicas
	if set.Spec.Replicas != nil {
		wanted = *set.Spec.Replicas
	}
	return &Rollout{Meta: Of("Rollout"), Subject: Subject{Kind: v1beta1.CloneSetKind, Namespace: set.Namespace, Name: set.Name},
		At: now, Driver: driver, Limits: LimitsOf(set), Pods: []PodView{},
		Counts: Counts{Wanted: wanted, ExpectedUpdated: s.ExpectedUpdatedReplicas, Replicas: s.Replicas, Ready: s.ReadyReplicas,
			Available: s.AvailableReplicas, Updated: s.UpdatedReplicas, UpdatedReady: s.UpdatedReadyReplicas,
			UpdatedAvailable: s.UpdatedAvailableReplicas, UpdateRevision: s.UpdateRevision, CurrentRevision: s.CurrentRevision}}
}
