package main

import (
	"context"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/commands/cli"
)

// What timeout(1) sends is one request to stop at a safe point, not two that end the process in the middle of a rollout.
func TestSignalsCloseTogetherAreOneRequest(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		after   []time.Duration // when each signal after the first arrives
		endsNow bool
	}{
		"one":                       {nil, false},
		"the process and its group": {[]time.Duration{time.Millisecond}, false},
		"twice":                     {[]time.Duration{time.Second}, true},
		"an echo, and then again":   {[]time.Duration{time.Millisecond, time.Second}, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			signals := make(chan os.Signal, 1+len(test.after))
			start := time.Now()
			times := append([]time.Duration{0}, test.after...)
			for range times {
				signals <- syscall.SIGTERM
			}
			close(signals)
			now := func() time.Time {
				at := start.Add(times[0])
				times = times[1:]
				return at
			}
			var cause error
			_, endsNow := heed(signals, now, func(err error) { cause = err })
			if endsNow != test.endsNow {
				t.Errorf("ends at once: got %v, want %v", endsNow, test.endsNow)
			}
			if got := cli.CodeOf(context.Background(), cause); got != cli.Terminated {
				t.Errorf("got code %d, want %d", got, cli.Terminated)
			}
		})
	}
}
