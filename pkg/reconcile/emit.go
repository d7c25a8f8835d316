package reconcile

import (
	"context"
	"sync"
	"time"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/view"
)

// drainTime is how long the end of a loop waits for a reader that does not take its events.
const drainTime = time.Second

// teller passes events on to a reader in order, one at a time, without ever waiting for it.
type teller struct {
	to func(view.Event)

	mu    sync.Mutex
	queue []view.Event
	idle  chan struct{}
}

func newTeller(to func(view.Event)) *teller {
	idle := make(chan struct{})
	close(idle)
	return &teller{to: to, idle: idle}
}

func (t *teller) tell(event view.Event) {
	if t.to == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.queue = append(t.queue, event)
	select {
	case <-t.idle:
		t.idle = make(chan struct{})
		go t.pass(t.idle)
	default:
	}
}

func (t *teller) pass(idle chan struct{}) {
	for {
		t.mu.Lock()
		if len(t.queue) == 0 {
			close(idle)
			t.mu.Unlock()
			return
		}
		queue := t.queue
		t.queue = nil
		t.mu.Unlock()
		for _, event := range queue {
			t.to(event)
		}
	}
}

// drain waits until everything has been passed on; for a reader that takes nothing it waits only so long.
func (t *teller) drain() {
	ctx, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	t.mu.Lock()
	idle := t.idle
	t.mu.Unlock()
	select {
	case <-idle:
	case <-ctx.Done():
	}
}
