package batch

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"
)

// Version is the version of the cursor that this build writes. A cursor of another version is not touched.
const Version = "v1"

// Pause is what happens between two batches: nothing, an approval, or a time.
type Pause struct {
	Approve bool
	For     time.Duration
}

// approve is how a pause until an approval is written.
const approve = "approve"

// ParsePause reads "", "approve" or a duration.
func ParsePause(text string) (Pause, error) {
	switch text {
	case "":
		return Pause{}, nil
	case approve:
		return Pause{Approve: true}, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return Pause{}, fmt.Errorf("%q: want a duration above 0, e.g. 10m, or %s", text, approve)
	}
	return Pause{For: d}, nil
}

// String is the form that ParsePause reads.
func (p Pause) String() string {
	switch {
	case p.Approve:
		return approve
	case p.For > 0:
		return p.For.String()
	}
	return ""
}

// OnFailure is what is done when a batch fails.
type OnFailure string

// What can be done: leave the run paused, or take the touched pods back.
const (
	Stop OnFailure = "stop"
	Undo OnFailure = "undo"
)

// Run is the cursor of a batched run as it is recorded on the workload (design.md "Fixed once").
type Run struct {
	// ID tells this run from others of the same revision.
	ID string `json:"id"`
	// TargetRevision is the revision that the run goes to, with or without the workload's name.
	TargetRevision string `json:"targetRevision"`
	// Batches are the cumulative sizes as they were typed: numbers of pods or percentages.
	Batches []string `json:"batches"`
	// Batch is the batch that was begun last, counted from 1; 0 before the first.
	Batch int `json:"batch"`
	// StartedAt is when the run began, By who began it, Version the form of this cursor.
	StartedAt time.Time `json:"startedAt"`
	By        string    `json:"by"`
	Version   string    `json:"version"`

	// FromRevision is where the pods come from, for the way back.
	FromRevision string `json:"fromRevision,omitempty"`
	// PauseBetween is a duration, "approve", or empty.
	PauseBetween string `json:"pauseBetween,omitempty"`
	// OnFailure is what the operator asked for; empty means Stop.
	OnFailure OnFailure `json:"onFailure,omitempty"`
	// Replicas and Partition are the numbers that Batch was begun with.
	Replicas  int32 `json:"replicas,omitempty"`
	Partition int32 `json:"partition"`
	// BatchStartedAt is when Batch began, ReachedAt when its goal was first seen to hold.
	BatchStartedAt time.Time `json:"batchStartedAt,omitzero"`
	ReachedAt      time.Time `json:"reachedAt,omitzero"`
	// Failed says why the run is over; a new attempt removes it.
	Failed string `json:"failed,omitempty"`

	// Undoes is why the run is a way back: the failure of the one before. Reaching its end is no success.
	Undoes string `json:"undoes,omitempty"`

	// unknown are fields that another build wrote.
	unknown map[string]json.RawMessage
}

// Parse reads a cursor. It refuses one that this build cannot carry on.
func Parse(text string) (*Run, error) {
	r := &Run{}
	if err := json.Unmarshal([]byte(text), r); err != nil {
		return nil, fmt.Errorf("recorded run: %w", err)
	}
	if err := json.Unmarshal([]byte(text), &r.unknown); err != nil {
		return nil, fmt.Errorf("recorded run: %w", err)
	}
	maps.DeleteFunc(r.unknown, func(key string, _ json.RawMessage) bool { return slices.Contains(known(), key) })
	if err := r.check(); err != nil {
		return nil, fmt.Errorf("recorded run: %w", err)
	}
	return r, nil
}

func (r *Run) check() error {
	switch {
	case r.Version != Version:
		return fmt.Errorf("version %q is not known, want %s", r.Version, Version)
	case r.TargetRevision == "":
		return errors.New("no target revision")
	case r.Batch < 0 || r.Batch > len(r.Batches):
		return fmt.Errorf("batch %d of %d", r.Batch, len(r.Batches))
	case r.OnFailure != "" && r.OnFailure != Stop && r.OnFailure != Undo:
		return fmt.Errorf("onFailure %q: want %s or %s", r.OnFailure, Stop, Undo)
	}
	if _, err := ParsePause(r.PauseBetween); err != nil {
		return fmt.Errorf("pauseBetween %w", err)
	}
	_, err := Goals(r.Batches, 1)
	return err
}

// Encode is the cursor as it is recorded, with the fields that this build does not know. The same run always has the same
// text.
func (r *Run) Encode() (string, error) {
	raw, err := json.Marshal(r)
	if err != nil {
		return "", fmt.Errorf("record the run: %w", err)
	}
	if len(r.unknown) == 0 {
		return string(raw), nil
	}
	all := map[string]json.RawMessage{}
	if err := json.Unmarshal(raw, &all); err != nil {
		return "", fmt.Errorf("record the run: %w", err)
	}
	for key, value := range r.unknown {
		all[key] = value
	}
	raw, err = json.Marshal(all)
	return string(raw), err
}

// known are the names of the fields of this build.
func known() []string {
	var names []string
	for t, i := reflect.TypeFor[Run](), 0; i < t.NumField(); i++ {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if name != "" {
			names = append(names, name)
		}
	}
	return names
}

// pause is what PauseBetween says; Parse has checked it.
func (r *Run) pause() Pause {
	p, _ := ParsePause(r.PauseBetween)
	return p
}
