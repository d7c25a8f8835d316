package batch_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/batch"
)

// at is a state in the first batch, with one pod updated and available.
func at(change func(*batch.State)) batch.State {
	s := batch.State{Now: start.Add(time.Minute), Run: run(nil), UpdateRevision: "web-6599fc6cdd", Replicas: 10, Partition: 9,
		Updated: 1, UpdatedAvailable: 1}
	if change != nil {
		change(&s)
	}
	return s
}

func TestNext(t *testing.T) {
	t.Parallel()
	pause := func(s *batch.State, text string) { s.Run.PauseBetween = text }
	for _, c := range []struct {
		rule string
		s    batch.State
		want batch.Decision
		// cursor is what is to be recorded: batch and partition; zero for nothing.
		cursor [2]int32
	}{
		{"a run that has not begun begins with its first batch",
			at(func(s *batch.State) { s.Run.Batch, s.Partition, s.Updated, s.UpdatedAvailable = 0, 0, 0, 0 }),
			batch.Decision{Step: batch.Begin, Batch: 1, Goal: 1, Partition: 9, Why: "batch 1 of 3: 1 of 10 pods"}, [2]int32{1, 9}},
		{"without a pause the next batch follows",
			at(nil), batch.Decision{Step: batch.Begin, Batch: 2, Goal: 3, Partition: 7, Why: "batch 2 of 3: 3 of 10 pods"}, [2]int32{2, 7}},
		{"an unavailable pod holds",
			at(func(s *batch.State) { s.UpdatedAvailable = 0 }),
			batch.Decision{Step: batch.Hold, Batch: 1, Goal: 1, Partition: 9, Why: "1 of 1 pods updated, 0 of them available"}, [2]int32{}},
		{"a hold ends with the deadline",
			at(func(s *batch.State) { s.UpdatedAvailable, s.Deadline = 0, 10*time.Minute }),
			batch.Decision{Step: batch.Hold, Batch: 1, Goal: 1, Partition: 9, Until: start.Add(10 * time.Minute), Why: "1 of 1 pods updated, 0 of them available"}, [2]int32{}},
		{"the deadline is a failure",
			at(func(s *batch.State) { s.UpdatedAvailable, s.Deadline = 0, time.Minute }),
			batch.Decision{Step: batch.Fail, Batch: 1, Goal: 1, Partition: 9, Why: "batch 1 of 3: not done after 1m0s: 1 of 1 pods updated, 0 of them available"}, [2]int32{1, 9}},
		{"a goal that is reached has no deadline",
			at(func(s *batch.State) { s.Deadline = time.Second; pause(s, "approve") }),
			batch.Decision{Step: batch.AwaitApproval, Batch: 1, Goal: 1, Partition: 9, Why: "batch 2 of 3 waits for an approval"}, [2]int32{}},
		{"an approval of the next batch lets it begin",
			at(func(s *batch.State) { pause(s, "approve"); s.Approval = "6599fc6cdd/2" }),
			batch.Decision{Step: batch.Begin, Batch: 2, Goal: 3, Partition: 7, Why: "batch 2 of 3: 3 of 10 pods"}, [2]int32{2, 7}},
		{"an approval of another batch does not",
			at(func(s *batch.State) { pause(s, "approve"); s.Approval = "6599fc6cdd/3" }),
			batch.Decision{Step: batch.AwaitApproval, Batch: 1, Goal: 1, Partition: 9, Why: "batch 2 of 3 waits for an approval"}, [2]int32{}},
		{"an approval that cannot be read does not",
			at(func(s *batch.State) { pause(s, "approve"); s.Approval = "yes" }),
			batch.Decision{Step: batch.AwaitApproval, Batch: 1, Goal: 1, Partition: 9, Why: "batch 2 of 3 waits for an approval"}, [2]int32{}},
		{"the time of a pause is recorded first",
			at(func(s *batch.State) { pause(s, "5m") }),
			batch.Decision{Step: batch.Reach, Batch: 1, Goal: 1, Partition: 9, Why: "the pause of 5m0s before batch 2 begins"}, [2]int32{1, 9}},
		{"then it runs",
			at(func(s *batch.State) { pause(s, "5m"); s.Run.ReachedAt = start }),
			batch.Decision{Step: batch.AwaitTime, Batch: 1, Goal: 1, Partition: 9, Until: start.Add(5 * time.Minute), Why: "batch 2 of 3 waits 5m0s after the one before"}, [2]int32{}},
		{"and ends",
			at(func(s *batch.State) { pause(s, "1m"); s.Run.ReachedAt = start }),
			batch.Decision{Step: batch.Begin, Batch: 2, Goal: 3, Partition: 7, Why: "batch 2 of 3: 3 of 10 pods"}, [2]int32{2, 7}},
		{"the last batch completes the run",
			at(func(s *batch.State) {
				s.Run.Batch, s.Run.Partition, s.Partition, s.Updated, s.UpdatedAvailable = 3, 0, 0, 10, 10
			}),
			batch.Decision{Step: batch.Complete, Batch: 3, Goal: 10, Why: "the last batch is updated and available"}, [2]int32{}},
		{"another template supersedes",
			at(func(s *batch.State) { s.UpdateRevision = "web-7cb9c88699" }),
			batch.Decision{Step: batch.Superseded, Batch: 1, Why: "the run goes to web-6599fc6cdd, the template is at web-7cb9c88699 now"}, [2]int32{}},
		{"so does another partition",
			at(func(s *batch.State) { s.Partition = 5 }),
			batch.Decision{Step: batch.Superseded, Batch: 1, Goal: 1, Partition: 5, Why: "somebody else set partition 5, batch 1 has 9"}, [2]int32{}},
		{"more replicas raise the partition, so that no more pods move than the batch has",
			at(func(s *batch.State) { s.Run.Batch, s.Run.Partition, s.Partition, s.Replicas = 2, 7, 7, 20 }),
			batch.Decision{Step: batch.Adjust, Batch: 2, Goal: 5, Partition: 15, Why: "replicas 10 -> 20, so batch 2 is 5 pods"}, [2]int32{2, 15}},
		{"fewer replicas take no updated pod back",
			at(func(s *batch.State) {
				s.Run.Batch, s.Run.Partition, s.Partition, s.Replicas, s.Updated, s.UpdatedAvailable = 2, 7, 7, 4, 3, 3
			}),
			batch.Decision{Step: batch.Adjust, Batch: 2, Goal: 1, Partition: 1, Why: "replicas 10 -> 4, so batch 2 is 1 pods"}, [2]int32{2, 1}},
		{"a failure is recorded with its reason",
			at(func(s *batch.State) {
				s.UpdatedAvailable = 0
				s.Failure = &batch.Failure{Cause: batch.ImagePull, Container: "nginx", Reason: "ErrImagePull", Message: "not found", Pods: []string{"web-a"}}
			}),
			batch.Decision{Step: batch.Fail, Batch: 1, Goal: 1, Partition: 9, Why: `batch 1 of 3: image cannot be pulled: nginx: ErrImagePull: "not found" (web-a)`}, [2]int32{1, 9}},
		{"a run that failed stays failed",
			at(func(s *batch.State) { s.Run.Failed = "batch 1 of 3: why" }),
			batch.Decision{Step: batch.Fail, Batch: 1, Why: "batch 1 of 3: why"}, [2]int32{}},
	} {
		got := batch.Next(c.s)
		if diff := cmp.Diff(c.want, got, cmpopts.IgnoreFields(batch.Decision{}, "Run")); diff != "" {
			t.Errorf("%s: %s", c.rule, diff)
		}
		var cursor [2]int32
		if got.Run != nil {
			cursor = [2]int32{int32(got.Run.Batch), got.Run.Partition}
		}
		if diff := cmp.Diff(c.cursor, cursor); diff != "" {
			t.Errorf("%s: cursor %s", c.rule, diff)
		}
	}
}
