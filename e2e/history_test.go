package e2e

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// history is what the API server told about the pods of a namespace, in its order.
type history struct {
	mu     sync.Mutex
	events []watch.Event
	broken error
}

// record begins a history with the pods as they are now.
func (s *space) record() *history {
	s.Helper()
	h := &history{}
	w, err := lab.client.CoreV1().Pods(s.name).Watch(s.Context(), metav1.ListOptions{})
	if err != nil {
		s.Fatal(err)
	}
	go func() {
		for e := range w.ResultChan() {
			h.mu.Lock()
			if _, ok := e.Object.(*corev1.Pod); ok {
				h.events = append(h.events, e)
			} else if s.Context().Err() == nil { // the end of the test ends the watch
				h.broken = fmt.Errorf("the watch said %s: %v", e.Type, e.Object)
			}
			h.mu.Unlock()
		}
		if s.Context().Err() == nil {
			h.mu.Lock()
			h.broken = errors.New("the watch ended before the test")
			h.mu.Unlock()
		}
	}()
	s.Cleanup(func() {
		w.Stop()
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.broken != nil {
			s.Error(h.broken)
		}
	})
	return h
}

// moment is one step of a history: what is there, by name, terminating pods among it, and which pod has just changed.
type moment struct {
	pods map[string]*corev1.Pod
	pod  *corev1.Pod
	kind watch.EventType
}

// moments plays the history so far.
func (h *history) moments() []moment {
	h.mu.Lock()
	events := slices.Clone(h.events)
	h.mu.Unlock()
	var out []moment
	pods := map[string]*corev1.Pod{}
	for _, e := range events {
		pod := e.Object.(*corev1.Pod)
		now := map[string]*corev1.Pod{}
		for name, p := range pods {
			if name != pod.Name {
				now[name] = p
			}
		}
		if e.Type != watch.Deleted {
			now[pod.Name] = pod
		}
		pods = now
		out = append(out, moment{now, pod, e.Type})
	}
	return out
}

// first is the index of the first moment for which the condition holds, or -1.
func first(moments []moment, holds func(moment) bool) int { return slices.IndexFunc(moments, holds) }

// created says that a pod came into being that was not there at the beginning of the history.
func created(known map[string]*corev1.Pod) func(moment) bool {
	return func(m moment) bool { return m.kind == watch.Added && known[m.pod.Name] == nil }
}

// leaving says that the deletion of this pod was asked for.
func leaving(name string) func(moment) bool {
	return func(m moment) bool {
		return m.pod.Name == name && (m.pod.DeletionTimestamp != nil || m.kind == watch.Deleted)
	}
}

// ready counts the pods that are ready and stay.
func (m moment) ready() int {
	n := 0
	for _, p := range m.pods {
		if p.DeletionTimestamp == nil && isReady(p) {
			n++
		}
	}
	return n
}

// waiting is the set of messages that waiting containers had.
func (h *history) waiting() map[string]bool {
	messages := map[string]bool{}
	for _, m := range h.moments() {
		for _, c := range m.pod.Status.ContainerStatuses {
			if c.State.Waiting != nil {
				messages[c.State.Waiting.Message] = true
			}
		}
	}
	return messages
}
