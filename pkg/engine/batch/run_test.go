package batch_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/batch"
)

var start = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

func run(change func(*batch.Run)) *batch.Run {
	r := &batch.Run{ID: "x1", TargetRevision: "web-6599fc6cdd", Batches: []string{"1", "25%", "100%"}, Batch: 1, StartedAt: start,
		By: "ops@laptop", Version: batch.Version, Replicas: 10, Partition: 9, BatchStartedAt: start}
	if change != nil {
		change(r)
	}
	return r
}

func TestRunSurvivesItsText(t *testing.T) {
	t.Parallel()
	want := run(func(r *batch.Run) {
		r.PauseBetween, r.OnFailure, r.FromRevision, r.ReachedAt, r.Failed = "10m0s", batch.Undo, "web-old", start.Add(time.Second), "why"
	})
	text, err := want.Encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := batch.Parse(text)
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(batch.Run{})); err != nil || diff != "" {
		t.Fatalf("error %v, diff %s", err, diff)
	}
}

func TestFieldsOfOtherBuildsSurviveARewrite(t *testing.T) {
	t.Parallel()
	r, err := batch.Parse(`{"version":"v1","targetRevision":"a-b","batches":["1"],"batch":1,"later":{"a":[1]},"partition":3}`)
	if err != nil {
		t.Fatal(err)
	}
	r.Batch, r.Failed = 1, "why"
	text, err := r.Encode()
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]any{"a": []any{1.0}}, got["later"]); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff("why", got["failed"]); diff != "" {
		t.Error(diff)
	}
}

func TestRunsThatCannotBeCarriedOn(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{`:                                     "recorded run: unexpected end",
		`{"version":"v2","targetRevision":"a"}`: `version "v2" is not known, want v1`,
		`{"version":"v1"}`:                      "no target revision",
		`{"version":"v1","targetRevision":"a","batch":2,"batches":["1"]}`:                 "batch 2 of 1",
		`{"version":"v1","targetRevision":"a","batches":["x"]}`:                           `batch "x": want numbers`,
		`{"version":"v1","targetRevision":"a","batches":["1"],"pauseBetween":"soon"}`:     `pauseBetween "soon": want a duration`,
		`{"version":"v1","targetRevision":"a","batches":["1"],"onFailure":"panic"}`:       `onFailure "panic": want stop or undo`,
		`{"version":"v1","targetRevision":"a","batches":["1"],"startedAt":"yesterday"}`:   "recorded run: ",
		`{"version":"v1","targetRevision":"a","batches":["1"],"batch":-1,"partition":10}`: "batch -1 of 1",
	} {
		if _, err := batch.Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
	}
}

func TestParseBatches(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text     string
		replicas int32
		want     []int32
		err      string
	}{
		{"1,25%,100%", 10, []int32{1, 3, 10}, ""},
		{" 1 , 2 ", 10, []int32{1, 2}, ""},
		{"33.3%,100%", 3, []int32{1, 3}, ""},
		{"100%", 1, []int32{1}, ""},
		{"25%,100%", 4, []int32{1, 4}, ""},
		{"1,10%", 10, nil, `"1,10%": "10%" is 1 pods, not more than "1" before it; want numbers of pods or percentages that grow, e.g. 1,25%,100%`},
		{"5,3", 10, nil, `"3" is 3 pods, not more than "5" before it`},
		{"11", 10, nil, `"11" is 11 pods, above the 10 replicas`},
		{"101%", 10, nil, `"101%" is 11 pods, above the 10 replicas`},
		{"0,5", 10, nil, `"0" of 10 replicas is no pod`},
		{"", 10, nil, `"": "" is no size of a batch`},
		{"1,", 10, nil, `"1,": "" is no size of a batch`},
		{"1,half", 10, nil, `"half" is no size of a batch`},
		{"-1", 10, nil, `"-1" is no size of a batch`},
		{"+1", 10, nil, `"+1" is no size of a batch`},
		{"100%", 0, nil, `"100%" of 0 replicas is no pod`},
	} {
		_, got, err := batch.ParseBatches(c.text, c.replicas)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%q of %d: error %v, want %q", c.text, c.replicas, err, c.err)
			}
			continue
		}
		if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
			t.Errorf("%q of %d: error %v, diff %s", c.text, c.replicas, err, diff)
		}
	}
}

func TestGoalsOfRecordedBatchesFollowTheReplicas(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		batches  []string
		replicas int32
		want     []int32
	}{
		{[]string{"1", "25%", "100%"}, 20, []int32{1, 5, 20}},
		{[]string{"3", "25%", "100%"}, 4, []int32{3, 3, 4}},
		{[]string{"5", "8"}, 2, []int32{2, 2}},
		{[]string{"5", "100%"}, 0, []int32{0, 0}},
	} {
		got, err := batch.Goals(c.batches, c.replicas)
		if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
			t.Errorf("%v of %d: error %v, diff %s", c.batches, c.replicas, err, diff)
		}
	}
}

func TestApprovalsAreBoundToRevisionAndBatch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, target string
		batch        int
		want         bool
	}{
		{"web-6599fc6cdd/2", "web-6599fc6cdd", 2, true},
		{"6599fc6cdd/2", "web-6599fc6cdd", 2, true},
		{"web-6599fc6cdd/2", "6599fc6cdd", 2, true},
		{"web-6599fc6cdd/3", "web-6599fc6cdd", 2, false},
		{"web-7cb9c88699/2", "web-6599fc6cdd", 2, false},
	} {
		a, err := batch.ParseApproval(c.text)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.text, a.String()); diff != "" {
			t.Error(diff)
		}
		if got := a.Matches(c.target, c.batch); got != c.want {
			t.Errorf("%s for batch %d of %s: %t", c.text, c.batch, c.target, got)
		}
	}
	for _, text := range []string{"", "web", "/2", "web/", "web/0", "web/-1", "web/x", "web/2/3"} {
		if _, err := batch.ParseApproval(text); err == nil {
			t.Errorf("%q is taken for an approval", text)
		}
	}
}

func TestPauses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]batch.Pause{"": {}, "approve": {Approve: true}, "90s": {For: 90 * time.Second}} {
		got, err := batch.ParsePause(text)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%q: error %v, diff %s", text, err, diff)
		}
		again, err := batch.ParsePause(got.String())
		if diff := cmp.Diff(got, again); err != nil || diff != "" {
			t.Errorf("%q twice: error %v, diff %s", text, err, diff)
		}
	}
	for _, text := range []string{"5", "-5s", "0s", "approved", "1h5"} {
		if _, err := batch.ParsePause(text); err == nil {
			t.Errorf("%q is taken for a pause", text)
		}
	}
}
