package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
)

// pods follows the pods of a namespace.
type pods struct {
	mu      sync.Mutex
	now     map[string]*corev1.Pod
	changed chan struct{} // closed and replaced at every change
	stop    func()
}

// follow begins with the pods that there are.
func (l *lab) follow(ctx context.Context, namespace string) (*pods, error) {
	ctx, stop := context.WithCancel(ctx)
	p := &pods{now: map[string]*corev1.Pod{}, changed: make(chan struct{}), stop: stop}
	informer := informers.NewSharedInformerFactoryWithOptions(l.client, 0, informers.WithNamespace(namespace)).Core().V1().Pods().Informer()
	registered, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { p.take(o, false) },
		UpdateFunc: func(_, o any) { p.take(o, false) },
		DeleteFunc: func(o any) { p.take(o, true) },
	})
	if err != nil {
		stop()
		return nil, err
	}
	go informer.RunWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), registered.HasSynced) {
		stop()
		return nil, ctx.Err()
	}
	return p, nil
}

func (p *pods) take(object any, gone bool) {
	if last, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = last.Obj
	}
	pod := object.(*corev1.Pod)
	p.mu.Lock()
	defer p.mu.Unlock()
	if gone {
		delete(p.now, pod.Name)
	} else {
		p.now[pod.Name] = pod
	}
	close(p.changed)
	p.changed = make(chan struct{})
}

// until returns when the condition holds, with the time at which that was seen. It gives up after five minutes.
func (p *pods) until(ctx context.Context, what string, holds func(map[string]*corev1.Pod) bool) (time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	for {
		p.mu.Lock()
		ok, changed := holds(p.now), p.changed
		p.mu.Unlock()
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
