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

// sleep waits and says whether the time passed before the context ended.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
