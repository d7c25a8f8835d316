package reconcile

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// roster knows the runners of a loop by their subjects, and which subjects changed that have none yet. V is what a mark
// says besides.
type roster[V any] struct {
	// signal receives when subjects are marked that have no runner.
	signal chan struct{}
	// slots limits how many runners look and write at a time.
	slots chan struct{}

	mu      sync.Mutex
	dirty   map[types.UID]V
	runners map[types.UID]*runner
}

func newRoster[V any]() *roster[V] {
	return &roster[V]{signal: make(chan struct{}, 1), slots: make(chan struct{}, atATime), dirty: map[types.UID]V{}, runners: map[types.UID]*runner{}}
}

// mark says that something changed about a subject. It is called with a mirror locked and never waits.
func (o *roster[V]) mark(uid types.UID, with V) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if r := o.runners[uid]; r != nil {
		r.poke()
		return
	}
	o.stir(uid, with)
}

// stir has fresh look at a subject. It is called with the lock held.
func (o *roster[V]) stir(uid types.UID, with V) {
	o.dirty[uid] = with
	select {
	case o.signal <- struct{}{}:
	default:
	}
}

// fresh makes runners for the marked subjects that have none: two for one subject would be two drivers. make returns nil
// for a subject that is gone.
func (o *roster[V]) fresh(make func(uid types.UID, with V) *runner) []*runner {
	o.mu.Lock()
	dirty := o.dirty
	o.dirty = map[types.UID]V{}
	o.mu.Unlock()
	var list []*runner
	for uid, with := range dirty { // without the lock, because mirrors are read
		if r := make(uid, with); r != nil {
			list = append(list, r)
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	added := list[:0]
	for _, r := range list {
		if there := o.runners[r.uid]; there != nil { // marked again before its runner was known
			there.poke()
			continue
		}
		o.runners[r.uid] = r
		added = append(added, r)
	}
	return added
}

// pokeAll has every runner look again.
func (o *roster[V]) pokeAll() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, r := range o.runners {
		r.poke()
	}
}

// forget drops a runner that has ended. A mark that came too late for it is for the next one.
func (o *roster[V]) forget(r *runner, with V) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.runners, r.uid)
	select {
	case <-r.wake:
		o.stir(r.uid, with)
	default:
	}
}

// turn is one look of a runner, when a slot is free, with what follows from it. It returns when to look again at the latest.
func (o *roster[V]) turn(ctx context.Context, r *runner) (until time.Time, gone bool) {
	select {
	case o.slots <- struct{}{}:
	case <-ctx.Done():
		return time.Time{}, false
	}
	defer func() { <-o.slots }()
	seen := r.look(ctx)
	if ctx.Err() != nil {
		return time.Time{}, false
	}
	r.tell(seen)
	if seen.gone {
		return time.Time{}, true
	}
	return r.act(ctx, seen), false
}
