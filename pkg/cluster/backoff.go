package cluster

import (
	"context"
	"time"
)

const (
	minDelay = 50 * time.Millisecond
	maxDelay = 30 * time.Second
)

// backoff doubles from minDelay to maxDelay.
type backoff struct{ last time.Duration }

func (b *backoff) next() time.Duration {
	b.last = min(max(2*b.last, minDelay), maxDelay)
	return b.last
}

// Pause waits and says whether the time passed before the context ended.
func Pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
