package soak

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	toolswatch "k8s.io/client-go/tools/watch"

	"github.com/kubectl-kruise/kubectl-kruise/internal/apiserver"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1alpha1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/budget"
)

// recorder keeps every event of the watches of one namespace, from before its first object on.
type recorder struct {
	mu      sync.Mutex
	records []record
	byUser  map[types.UID]bool
	pods    map[string]map[types.UID]seen // now, by set
	failed  error
}

func newRecorder(t *testing.T, server *apiserver.Server) *recorder {
	t.Helper()
	r := &recorder{byUser: map[types.UID]bool{}, pods: map[string]map[types.UID]seen{}}
	pods, sets := server.Kube.CoreV1().Pods(server.Namespace), server.Dynamic.Resource(apiserver.CloneSets).Namespace(server.Namespace)
	list, err := pods.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r.follow(t, list.ResourceVersion, r.pod, func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) { return pods.Watch(ctx, o) })
	r.follow(t, list.ResourceVersion, r.cloneset, func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) { return sets.Watch(ctx, o) })
	return r
}

func (r *recorder) follow(t *testing.T, version string, take func(watch.Event) error, open func(context.Context, metav1.ListOptions) (watch.Interface, error)) {
	t.Helper()
	events, err := toolswatch.NewRetryWatcherWithContext(t.Context(), version, &toolscache.ListWatch{WatchFuncWithContext: open})
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for event := range events.ResultChan() {
			if err := take(event); err != nil {
				r.mu.Lock()
				r.failed = err
				r.mu.Unlock()
			}
		}
	}()
}

func version(o metav1.Object) (uint64, error) {
	return strconv.ParseUint(o.GetResourceVersion(), 10, 64)
}

func (r *recorder) pod(event watch.Event) error {
	pod, ok := event.Object.(*corev1.Pod)
	if !ok {
		return fmt.Errorf("the watch of pods sent %v", event.Object)
	}
	v, err := version(pod)
	if err != nil {
		return err
	}
	_, specified := pod.Labels[keys.SpecifiedDeleteLabel]
	s := seen{
		name: pod.Name, image: pod.Spec.Containers[0].Image, specified: specified,
		active: event.Type != watch.Deleted && pod.DeletionTimestamp == nil,
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			s.ready = s.active && c.Status == corev1.ConditionTrue
		}
	}
	set := pod.Labels["app"]
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pods[set] == nil {
		r.pods[set] = map[types.UID]seen{}
	}
	if s.active {
		r.pods[set][pod.UID] = s
	} else {
		delete(r.pods[set], pod.UID)
	}
	r.records = append(r.records, record{version: v, at: time.Now(), set: set, uid: pod.UID, pod: s})
	return nil
}

func (r *recorder) cloneset(event watch.Event) error {
	object, ok := event.Object.(*unstructured.Unstructured)
	if !ok {
		return fmt.Errorf("the watch of CloneSets sent %v", event.Object)
	}
	v, err := version(object)
	if err != nil {
		return err
	}
	l, err := wanted(object)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.records = append(r.records, record{version: v, at: time.Now(), set: object.GetName(), limits: &l})
	return nil
}

// wanted is what a CloneSet asks for.
func wanted(object *unstructured.Unstructured) (limits, error) {
	var set v1alpha1.CloneSet
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &set); err != nil {
		return limits{}, err
	}
	n, strategy := *set.Spec.Replicas, set.Spec.UpdateStrategy
	partition, _ := budget.Partition(strategy.Partition, n) // valid: the users' own
	surge, _ := budget.MaxSurge(strategy.MaxSurge, n)
	if strategy.Paused {
		surge = 0
	}
	unavailable, _ := budget.MaxUnavailable(strategy.MaxUnavailable, n, surge)
	return limits{
		replicas: int(n), partition: int(partition), surge: int(surge), unavailable: int(unavailable), paused: strategy.Paused,
		image: set.Spec.Template.Spec.Containers[0].Image,
	}, nil
}

// userDeletes notes that a user, and no driver, deletes a pod.
func (r *recorder) userDeletes(uid types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.byUser[uid] = true
}

// some returns any ready pod of a set; no name when there is none.
func (r *recorder) some(set string) (name string, uid types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, s := range r.pods[set] {
		if s.ready {
			return s.name, id
		}
	}
	return "", ""
}

// short says how a set's pods differ from what is asked; nothing when they do not.
func (r *recorder) short(set string, want limits) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	updated, ready := 0, 0
	for _, s := range r.pods[set] {
		if s.specified {
			return s.name + " of " + set + " is still to be deleted"
		}
		if s.image == want.image {
			updated++
		}
		if s.ready {
			ready++
		}
	}
	if n := len(r.pods[set]); n != want.replicas || ready != n || updated != want.replicas-want.partition {
		return fmt.Sprintf("%s: %d pods, %d ready, %d updated, want %d pods, %d updated", set, n, ready, updated, want.replicas, want.replicas-want.partition)
	}
	return ""
}
