package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// The plugin is killed at a random moment of an in-place rollout, and a second process finishes it: no pod is lost, and
// no container is restarted twice. Each round has an image of its own, so that every restart is one of this rollout.
func TestKilledRolloutIsFinishedByAnother(t *testing.T) {
	t.Parallel()
	rounds := 3
	if os.Getenv("KRUISE_TEST_LONG") != "" {
		rounds = 20
	}
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	s := newSpace(t)
	s.create("app", "app")
	before := s.pods()
	alive := 0
	const whole = 4 * time.Second // about what the rollout takes
	for round := 1; round <= rounds; round++ {
		image := fmt.Sprintf("lab/app:%d", round+1)
		moment := time.Duration(random.Int64N(int64(whole)))
		p := s.start("kruise", "rollout", "cloneset/app", "--image", "app="+image)
		select {
		case <-time.After(moment):
			p.signal(s, syscall.SIGKILL)
			<-p.exited
		case <-p.exited:
		}
		killed := !p.cmd.ProcessState.Exited()
		if killed {
			alive++
		}

		s.finish(image)
		after := s.pods()
		if diff := cmp.Diff(identities(before), identities(after)); diff != "" {
			t.Fatalf("round %d, killed %v after %s (seed %d): pods: -before +after\n%s", round, killed, moment, seed, diff)
		}
		for name, pod := range after {
			want := map[string]int32{"app": int32(round), "side": 0}
			if diff := cmp.Diff(want, restarts(pod)); diff != "" || pod.Spec.Containers[0].Image != image || !isReady(pod) {
				t.Fatalf("round %d, killed %v after %s (seed %d): %s runs %s, restarts: -want +got\n%s", round, killed, moment, seed, name, pod.Spec.Containers[0].Image, diff)
			}
		}
	}
	if alive == 0 {
		t.Errorf("no process was killed before it had ended by itself (seed %d)", seed)
	}
}

// finish runs the rollout to its end by another process. The killed one may still hold the Lease for some seconds; until
// then the other is refused and says so.
func (s *space) finish(image string) {
	s.Helper()
	s.until("a second process has finished the rollout to "+image, func() (bool, string) {
		out, code := s.try("kruise", "rollout", "cloneset/app", "--image", "app="+image)
		if code != 0 && !(code == 1 && strings.Contains(out, "is being driven by")) {
			s.Fatalf("exit code %d\n%s", code, out)
		}
		return code == 0, out
	})
}
