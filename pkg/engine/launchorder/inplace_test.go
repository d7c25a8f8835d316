package launchorder

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/inplace"
)

// TestInPlaceBatchesFollowTheOrder is row 22: the batches of an in-place update read what Mutate writes.
func TestInPlaceBatchesFollowTheOrder(t *testing.T) {
	t.Parallel()
	t.Run("launchorder/22", func(t *testing.T) {
		t.Parallel()
		p := pod(ctr("app"), ctr("proxy", priority("10")), ctr("log"))
		if _, _, err := Mutate(p, Options{}); err != nil {
			t.Fatal(err)
		}
		work := &inplace.Work{Images: map[string]string{"app": "app:2", "proxy": "proxy:2"}}
		batch, _, later := inplace.NextBatch(p, work)
		if diff := cmp.Diff([]string{"proxy"}, batch) + cmp.Diff(map[string]string{"app": "app:2"}, later.Images); diff != "" {
			t.Error(diff)
		}
		batch, _, later = inplace.NextBatch(p, &later)
		if diff := cmp.Diff([]string{"app"}, batch) + cmp.Diff(map[string]string(nil), later.Images); diff != "" {
			t.Error(diff)
		}
		// The update of a container of a completed pod opens nothing and takes nothing back.
		completes(p)
		for _, c := range p.Spec.Containers {
			edit := ready
			if c.Name == "proxy" {
				edit = func(s *corev1.ContainerStatus) { waiting("ContainerCreating", "")(s) }
			}
			status(c.Name, edit)(p)
		}
		if out := Decide(World{Now: start.Add(time.Hour), Pod: p, Barrier: configMap("web-uid", "p_10", "p_0")}); !out.Empty() {
			t.Errorf("an in-place update: %v", does(t, &out.Plan))
		}
	})
}
