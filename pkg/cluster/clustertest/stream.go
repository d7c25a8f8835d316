package clustertest

import (
	"strconv"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
)

// stream is one watch: an unbounded queue in front of a channel, so that the server never waits for a reader.
type stream struct {
	in  func(key, plan.Object) bool
	out chan watch.Event

	mu      sync.Mutex
	queue   []watch.Event
	ended   bool
	wake    chan struct{}
	stopped chan struct{}
	once    sync.Once
}

func newStream(in func(key, plan.Object) bool) *stream {
	w := &stream{in: in, out: make(chan watch.Event), wake: make(chan struct{}, 1), stopped: make(chan struct{})}
	go w.pump()
	return w
}

// ResultChan implements watch.Interface.
func (w *stream) ResultChan() <-chan watch.Event { return w.out }

// Stop implements watch.Interface.
func (w *stream) Stop() { w.once.Do(func() { close(w.stopped) }) }

func (w *stream) pump() {
	defer close(w.out)
	for {
		w.mu.Lock()
		queue, ended := w.queue, w.ended
		w.queue = nil
		w.mu.Unlock()
		for _, event := range queue {
			select {
			case w.out <- event:
			case <-w.stopped:
				return
			}
		}
		if len(queue) > 0 {
			continue
		}
		if ended {
			return
		}
		select {
		case <-w.wake:
		case <-w.stopped:
			return
		}
	}
}

func (w *stream) push(event watch.Event, end bool) {
	w.mu.Lock()
	if event.Object != nil {
		w.queue = append(w.queue, event)
	}
	w.ended = w.ended || end
	w.mu.Unlock()
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// send passes a change on as this watch sees it: an object whose labels leave the filter is deleted for it.
func (w *stream) send(c change) {
	before, after := w.in(c.key, c.old), w.in(c.key, c.new)
	switch {
	case after && before:
		w.push(watch.Event{Type: watch.Modified, Object: clone(c.new)}, false)
	case after:
		w.push(watch.Event{Type: watch.Added, Object: clone(c.new)}, false)
	case before:
		last := clone(c.old)
		last.SetResourceVersion(strconv.FormatUint(c.version, 10))
		w.push(watch.Event{Type: watch.Deleted, Object: last}, false)
	}
}

func (w *stream) mark(version uint64) {
	mark := &corev1.Pod{}
	mark.SetResourceVersion(strconv.FormatUint(version, 10))
	w.push(watch.Event{Type: watch.Bookmark, Object: mark}, false)
}

func (w *stream) fail(err *errors.StatusError) {
	status := err.Status()
	w.push(watch.Event{Type: watch.Error, Object: &status}, false)
}

func (w *stream) end() { w.push(watch.Event{}, true) }
