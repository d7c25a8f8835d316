package cloneset

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A rollout that is done says so when a container of an updated pod has ended since, and not because of the update.
func TestRestartedContainersAreTold(t *testing.T) {
	t.Parallel()
	const words = "1 updated pod restarted a container after the update (pod "
	for rule, c := range map[string]struct {
		begun, ended time.Duration
		told         bool
	}{
		"it was begun after the update and has ended": {begun: time.Second, ended: 2 * time.Second, told: true},
		"it ended because it was updated":             {begun: -time.Hour, ended: time.Second},
		"that is long ago":                            {begun: -2 * time.Hour, ended: -time.Hour},
	} {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, 2, policy(inPlace), maxUnavailable("2"))
			s.settle()
			s.change(image("v2"))
			s.settle()
			updated := s.w.Now
			first := true
			s.edit(func(p *corev1.Pod) {
				if !first {
					return
				}
				first = false
				status := &p.Status.ContainerStatuses[0]
				status.RestartCount = 2
				status.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error",
					StartedAt: metav1.NewTime(updated.Add(c.begun)), FinishedAt: metav1.NewTime(updated.Add(c.ended))}
			})
			s.w.Now = updated.Add(5 * time.Second)
			p := s.plan()
			told := strings.HasPrefix(strings.Join(p.Warnings, "\n"), words)
			if !p.Done || told != c.told {
				t.Errorf("done %v, warnings %q, want told %v", p.Done, p.Warnings, c.told)
			}
		})
	}
}
