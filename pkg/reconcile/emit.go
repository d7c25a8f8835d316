package reconcile

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/view"
)

// mostQueued bounds what waits for a reader that takes nothing, such as a pipe that nobody reads.
const mostQueued = 4096

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
	if t.queue = append(t.queue, event); len(t.queue) > mostQueued {
		t.queue = thinned(t.queue)
	}
	select {
	case <-t.idle:
		t.idle = make(chan struct{})
		go t.pass(t.idle)
	default:
	}
}

// thinned is the queue without the older half of what later events make good: looks, writes and waits. Beginnings, ends
// and drivers stay; there are few of them.
func thinned(queue []view.Event) []view.Event {
	half := len(queue) / 2
	kept := slices.DeleteFunc(slices.Clone(queue[:half]), func(e view.Event) bool {
		switch e.(type) {
		case view.Planned, view.Acted, view.ActionFailed, view.Waiting, view.Trouble:
			return true
		}
		return false
	})
	return append(kept, queue[half:]...)
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
