package batch_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/batch"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/budget"
)

func TestBackTakesTheBatchesInReverse(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		run      batch.Run
		replicas int32
		want     []string
	}{
		"the first batch":              {batch.Run{Batches: []string{"1", "25%", "100%"}, Batch: 1}, 10, []string{"100%"}},
		"the second, then the first":   {batch.Run{Batches: []string{"1", "25%", "100%"}, Batch: 2}, 10, []string{"9", "100%"}},
		"all three":                    {batch.Run{Batches: []string{"1", "25%", "100%"}, Batch: 3}, 10, []string{"7", "9", "100%"}},
		"batches that have become one": {batch.Run{Batches: []string{"1", "2", "3"}, Batch: 3}, 1, []string{"100%"}},
		"nothing was begun":            {batch.Run{Batches: []string{"1"}}, 10, []string{"100%"}},
	} {
		got, err := batch.Back(&c.run, c.replicas)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// The share keeps exactly as many pods now. Up to twice the replicas it lets no more pods move than a batch of that many
// pods, and never more than the share of the batch.
func TestShareKeepsTheSame(t *testing.T) {
	t.Parallel()
	for replicas := int32(1); replicas <= 120; replicas++ {
		for partition := int32(0); partition <= replicas; partition++ {
			share := batch.Share(partition, replicas)
			got, err := budget.Partition(&share, replicas)
			if err != nil || got != partition {
				t.Fatalf("%d of %d is %s, which keeps %d: %v", partition, replicas, share.String(), got, err)
			}
			for more := replicas; more <= 2*replicas; more++ {
				keeps, _ := budget.Partition(&share, more)
				if moved := replicas - partition; (more-keeps)*replicas > moved*more+replicas {
					t.Fatalf("%s of %d keeps %d: more than %d of %d move", share.String(), more, keeps, moved, replicas)
				}
			}
		}
	}
	for want, c := range map[string][2]int32{"90%": {9, 10}, "66.66%": {2, 3}, "0": {0, 5}, "100%": {5, 5}, "8.33%": {1, 12}, "0.08%": {1, 1200}} {
		share := batch.Share(c[0], c[1])
		if got := share.String(); got != want {
			t.Errorf("%d of %d is %s, want %s", c[0], c[1], got, want)
		}
	}
}
