package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// pods follows the pods of a namespace.
type pods struct {
	mu      sync.Mutex
	now     map[string]*corev1.Pod
	changed chan struct{} // closed and replaced at every change
	err     error
	stop    func()
}

// follow begins with the pods that there are. An API server ends a watch after half an hour at the earliest, so one watch
// serves a whole measurement.
func (l *lab) follow(ctx context.Context, namespace string) (*pods, error) {
	list, err := l.client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	limit := int64(3600)
	w, err := l.client.CoreV1().Pods(namespace).Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion, TimeoutSeconds: &limit})
	if err != nil {
		return nil, err
	}
	p := &pods{now: map[string]*corev1.Pod{}, changed: make(chan struct{}), stop: w.Stop}
	for i := range list.Items {
		p.now[list.Items[i].Name] = &list.Items[i]
	}
	go p.take(w.ResultChan())
	return p, nil
}

func (p *pods) take(events <-chan watch.Event) {
	for e := range events {
		p.mu.Lock()
		pod, ok := e.Object.(*corev1.Pod)
		switch {
		case !ok:
			p.err = fmt.Errorf("watch: %v", e.Object)
		case e.Type == watch.Deleted:
			delete(p.now, pod.Name)
		default:
			p.now[pod.Name] = pod
		}
		close(p.changed)
		p.changed = make(chan struct{})
		p.mu.Unlock()
	}
}

// until returns when the condition holds, with the time at which that was seen. It gives up after five minutes.
func (p *pods) until(ctx context.Context, what string, holds func(map[string]*corev1.Pod) bool) (time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	for {
		p.mu.Lock()
		ok, err, changed := holds(p.now), p.err, p.changed
		p.mu.Unlock()
		if err != nil {
			return time.Time{}, err
		}
		if ok {
			return time.Now(), nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return time.Time{}, fmt.Errorf("waiting for %s: %w", what, ctx.Err())
		}
	}
}

func isReady(p *corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// settled says that there are n pods, all with the image and ready, and no others.
func settled(n int, image string) func(map[string]*corev1.Pod) bool {
	return func(now map[string]*corev1.Pod) bool {
		if len(now) != n {
			return false
		}
		for _, p := range now {
			if p.DeletionTimestamp != nil || p.Spec.Containers[0].Image != image || !isReady(p) {
				return false
			}
		}
		return true
	}
}
