package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/cluster"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/cluster/clustertest"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/launchorder"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/reconcile"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/view"
)

// berth is a world whose kubelet creates a container only when the key that it waits for is there.
type berth struct {
	*world
	mu sync.Mutex
	// starts are the containers of each pod in the order in which they could be created; those that could at once are
	// joined by a plus.
	starts map[string][]string
	// sick containers never become ready, by name.
	sick map[string]bool
}

func newBerth(t *testing.T, objects ...plan.Object) *berth {
	b := &berth{world: newWorld(t, objects...), starts: map[string][]string{}, sick: map[string]bool{}}
	last := map[string]time.Time{}
	b.world.hold = func(pod *corev1.Pod, c *corev1.Container) bool {
		key, ok := keyOf(c)
		if ok && !b.has(pod, key) {
			return true
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		id := string(pod.UID)
		if order := b.starts[id]; len(order) > 0 && last[id].Equal(time.Now()) {
			order[len(order)-1] += "+" + c.Name
		} else {
			b.starts[id] = append(order, c.Name)
		}
		last[id] = time.Now()
		return false
	}
	b.unready = func(_ *corev1.Pod, c *corev1.Container) bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		return b.sick[c.Name]
	}
	return b
}

// cure lets a container become ready from now on.
func (b *berth) cure(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sick[name] = false
}

func keyOf(c *corev1.Container) (string, bool) {
	for _, e := range c.Env {
		if e.Name == keys.BarrierEnv {
			return e.ValueFrom.ConfigMapKeyRef.Key, true
		}
	}
	return "", false
}

// has says whether the kubelet sees a key.
func (b *berth) has(pod *corev1.Pod, key string) bool {
	barrier := b.configs[launchorder.BarrierName(pod.Name)]
	return barrier != nil && barrier.Data[key] != ""
}

// barrier is the barrier of a pod on the server.
func (b *berth) barrier(pod string) *corev1.ConfigMap {
	obj, err := b.server.Get(b.t.Context(), plan.ConfigMapKind, "shop", launchorder.BarrierName(pod))
	if err != nil {
		return nil
	}
	return obj.(*corev1.ConfigMap)
}

// order is how the containers of each pod came, and how many pods came so.
func (b *berth) order() map[string]int {
	b.mu.Lock()
	defer b.mu.Unlock()
	count := map[string]int{}
	for _, order := range b.starts {
		count[strings.Join(order, ", ")]++
	}
	return count
}

// bare is a pod without an owner whose containers start in the order of the list.
func bare(t *testing.T, name string, containers ...string) *corev1.Pod {
	t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Annotations: map[string]string{keys.LaunchPriorityAnnotation: "Ordered"}}}
	for _, c := range containers {
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: c, Image: c})
	}
	if _, _, err := launchorder.Mutate(pod, launchorder.Options{}); err != nil {
		t.Fatal(err)
	}
	return pod
}

// withProxy gives a set a container that has to come first.
func withProxy(set *v1beta1.CloneSet) *v1beta1.CloneSet {
	spec := &set.Spec.Template.Spec
	spec.Containers = append(spec.Containers, corev1.Container{Name: "proxy", Image: "proxy:1", Env: []corev1.EnvVar{{Name: keys.PriorityEnv, Value: "10"}}})
	return set
}

func (b *berth) completed(pod string) bool {
	obj, err := b.server.Get(b.t.Context(), plan.PodKind, "shop", pod)
	return err == nil && obj.GetAnnotations()[keys.LaunchCompletedAnnotation] == "true"
}

// loop drives everything until stop is called.
func (b *berth) loop(holder string) (stop func()) {
	ctx, cancel := context.WithCancel(b.t.Context())
	ended := make(chan error, 1)
	served := []reconcile.Served{served(), {Kind: reconcile.LaunchOrder(), APIVersion: "v1"}}
	go func() { ended <- b.session(holder).All(ctx, "shop", served...) }()
	return func() {
		cancel()
		if err := <-ended; err != nil {
			b.t.Errorf("the loop ended with %v", err)
		}
	}
}

// listed gives a set a container that has to come second.
func listed(set *v1beta1.CloneSet) *v1beta1.CloneSet {
	template := &set.Spec.Template
	metav1.SetMetaDataAnnotation(&template.ObjectMeta, keys.LaunchPriorityAnnotation, keys.LaunchPriorityOrdered)
	template.Spec.Containers = append(template.Spec.Containers, corev1.Container{Name: "log", Image: "log:1"})
	return set
}

func TestTheLoopOpensLevels(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		set  *v1beta1.CloneSet
		want string
	}{
		{"S-LP-1 by the list", listed(web("web", 3)), "main, log"},
		{"S-LP-2 by weight", withProxy(web("web", 3)), "proxy, main"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) { loopOpensLevels(t, tt.set, tt.want) })
		})
	}
}

// loopOpensLevels has the pods of a set beside one that nobody owns.
func loopOpensLevels(t *testing.T, set *v1beta1.CloneSet, want string) {
	b := newBerth(t, set, bare(t, "alone", "first", "second", "third"))
	stop := b.loop("laptop/1")
	until(t, "the pods available", func() bool { return b.settled("web", 3) && b.completed("alone") })
	until(t, "the last container of the bare pod", func() bool { return b.order()["first, second, third"] == 1 })
	if diff := cmp.Diff(map[string]int{want: 3, "first, second, third": 1}, b.order()); diff != "" {
		t.Error(diff)
	}
	if n := b.server.Watched(plan.PodKind); n != 1 {
		t.Errorf("the loop watches pods %d times", n)
	}
	writes := b.server.Writes()
	time.Sleep(5 * time.Second)
	if more := b.server.Writes() - writes; more > 4 { // the Lease
		t.Errorf("%d writes at rest", more)
	}
	stop()
}

// What somebody else looks after is not for the loop that ends: its order would be lost.
func TestALoopThatEndsLeavesPodsOfOthersAlone(t *testing.T) {
	t.Parallel()
	for _, lease := range []string{"kubectl-kruise-reconcile", "kubectl-kruise-cloneset-web"} {
		t.Run(lease, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				pod := bare(t, "db", "first", "second")
				yes := true
				pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps.kruise.io/v1alpha1", Kind: "CloneSet", Name: "web", UID: "w", Controller: &yes}}
				b := newBerth(t, pod)
				b.world.hold = func(*corev1.Pod, *corev1.Container) bool { return true }
				held, err := cluster.Acquire(t.Context(), b.server, "shop", lease, "kubectl-kruise/dev@bastion/9", "cloneset", time.Now)
				if err != nil {
					t.Fatal(err)
				}
				keeping, drop := context.WithCancel(t.Context())
				kept := make(chan error, 1)
				go func() { kept <- held.Keep(keeping) }()
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() {
					ended <- b.session("laptop/1").All(ctx, "", reconcile.Served{Kind: reconcile.LaunchOrder(), APIVersion: "v1"})
				}()
				time.Sleep(30 * time.Second)
				cancel()
				if err := <-ended; err != nil {
					t.Error(err)
				}
				if barrier := b.barrier("db"); lease == "kubectl-kruise-reconcile" && barrier != nil || barrier != nil && len(barrier.Data) == 2 {
					t.Errorf("opened: %v", barrier.Data)
				}
				drop()
				<-kept
			})
		})
	}
}

func TestAPodOfTheSameNameComesAgain(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		b := newBerth(t, bare(t, "db", "first", "second"))
		stop := b.loop("laptop/1")
		defer stop()
		until(t, "the first pod", func() bool { return b.completed("db") && b.order()["first, second"] == 1 })
		old := b.barrier("db").UID
		b.server.Remove(plan.PodKind, "shop", "db")
		b.server.Put(bare(t, "db", "first", "second"))
		until(t, "the second pod", func() bool { return b.completed("db") })
		until(t, "its last container", func() bool { return b.order()["first, second"] == 2 })
		if now := b.barrier("db"); now.UID == old {
			t.Errorf("launchorder/19: the barrier of the earlier pod is used: %v", now.OwnerReferences)
		}
	})
}

func TestADeletedBarrierComesBack(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		b := newBerth(t, bare(t, "db", "first", "second"))
		stop := b.loop("laptop/1")
		defer stop()
		until(t, "the pod", func() bool { return b.completed("db") && b.order()["first, second"] == 1 })
		b.server.Remove(plan.ConfigMapKind, "shop", "db-barrier")
		time.Sleep(time.Minute)
		b.server.Edit(plan.PodKind, "shop", "db", func(obj plan.Object) { // a container ends
			obj.(*corev1.Pod).Status.ContainerStatuses[1].State = corev1.ContainerState{}
		})
		until(t, "launchorder/20: the barrier", func() bool { return b.barrier("db") != nil && len(b.barrier("db").Data) == 2 })
		until(t, "launchorder/20: the container", func() bool { return b.order()["first, second, second"] == 1 })
	})
}

// What has the name of a barrier and is somebody else's is left alone; once that one has deleted it, the order goes on.
func TestAForeignConfigMapIsDeleted(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		b := newBerth(t, bare(t, "db", "first", "second"))
		b.server.Put(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db-barrier"}, Data: map[string]string{"app.conf": "x"}})
		stop := b.loop("laptop/1")
		defer stop()
		time.Sleep(3 * time.Minute)
		if foreign := b.barrier("db"); foreign == nil || foreign.Data["app.conf"] != "x" || b.order()["first, second"] != 0 {
			t.Errorf("ConfigMap %v, order %v", foreign, b.order())
		}
		b.server.Remove(plan.ConfigMapKind, "shop", "db-barrier")
		gone := time.Now()
		until(t, "the pod", func() bool { return b.completed("db") && b.order()["first, second"] == 1 })
		if took := time.Since(gone); took > 20*time.Second {
			t.Errorf("noticed after %s", took)
		}
	})
}

// A kubelet that does not come to it is not a reason to ask for the barrier again and again.
func TestABarrierIsAskedForLessAndLess(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		b := newBerth(t, bare(t, "db", "first", "second"))
		b.world.hold = func(*corev1.Pod, *corev1.Container) bool { return true }
		s := b.session("laptop/1")
		asked := &countingReader{Server: b.server}
		s.API = asked
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.All(ctx, "shop", reconcile.Served{Kind: reconcile.LaunchOrder(), APIVersion: "v1"}) }()
		until(t, "the first level", func() bool { barrier := b.barrier("db"); return barrier != nil && len(barrier.Data) == 1 })
		time.Sleep(6 * time.Minute)
		asked.mu.Lock()
		times := slices.Clone(asked.barriers)
		asked.mu.Unlock()
		cancel()
		var pauses []time.Duration
		for i, at := range times[1:] {
			pauses = append(pauses, at.Sub(times[i]).Round(time.Second))
		}
		want := []time.Duration{10 * time.Second, 20 * time.Second, 40 * time.Second, time.Minute, time.Minute, time.Minute, time.Minute}
		if diff := cmp.Diff(want, pauses); diff != "" {
			t.Errorf("pauses between questions (-want +got):\n%s", diff)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// countingReader remembers when ConfigMaps were read.
type countingReader struct {
	*clustertest.Server
	mu       sync.Mutex
	barriers []time.Time
}

func (c *countingReader) Get(ctx context.Context, kind schema.GroupKind, namespace, name string) (plan.Object, error) {
	if kind == plan.ConfigMapKind {
		c.mu.Lock()
		c.barriers = append(c.barriers, time.Now())
		c.mu.Unlock()
	}
	return c.Server.Get(ctx, kind, namespace, name)
}

// TestAnotherGoesOnBetweenTwoLevels kills the loop before the second level.
func TestAnotherGoesOnBetweenTwoLevels(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		b := newBerth(t, bare(t, "db", "first", "second"))
		b.sick["first"] = true
		first := &faultyWriter{Server: b.server}
		s := b.session("node/1")
		s.API = first
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.Hosted(ctx, "", reconcile.Served{Kind: reconcile.LaunchOrder(), APIVersion: "v1"}) }()
		until(t, "the first level", func() bool { return b.order()["first"] == 1 })
		first.die()
		cancel()
		<-ended
		b.cure("first")
		time.Sleep(30 * time.Second)
		if diff := cmp.Diff(map[string]int{"first": 1}, b.order()); diff != "" {
			t.Errorf("somebody went on: %s", diff)
		}
		stop := b.loop("laptop/2")
		defer stop()
		until(t, "the second level", func() bool { return b.order()["first, second"] == 1 && b.completed("db") })
	})
}

// faultyWriter writes nothing any more once it has died.
type faultyWriter struct {
	*clustertest.Server
	dead atomic.Bool
}

func (f *faultyWriter) die() { f.dead.Store(true) }

func (f *faultyWriter) Patch(ctx context.Context, ref plan.Ref, sub string, as types.PatchType, body []byte, dry bool) (plan.Object, error) {
	if f.dead.Load() {
		return nil, errors.New("the process is dead")
	}
	return f.Server.Patch(ctx, ref, sub, as, body, dry)
}

func TestARunLooksAfterItsPods(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		b := newBerth(t, withProxy(web("web", 4)))
		if result := b.drive(t.Context(), b.session("laptop/1"), "web", reconcile.RunOptions{}); !result.Reached {
			t.Fatalf("not reached: %+v", result)
		}
		if diff := cmp.Diff(map[string]int{"proxy, main": 4}, b.order()); diff != "" {
			t.Errorf("S-LP-2: %s", diff)
		}
	})
}

// TestNoPodIsLeftHanging ends a run while a container holds back the rest: what is left is opened in order.
func TestNoPodIsLeftHanging(t *testing.T) {
	t.Parallel()
	set := func() *v1beta1.CloneSet {
		set := withProxy(web("web", 3))
		set.Spec.Template.Spec.Containers = append(set.Spec.Template.Spec.Containers, corev1.Container{Name: "late", Image: "late",
			Env: []corev1.EnvVar{{Name: keys.PriorityEnv, Value: "-1"}}})
		return set
	}
	t.Run("a verb", func(t *testing.T) {
		t.Parallel()
		bubble(t, func(t *testing.T) {
			b := newBerth(t, set())
			b.sick["proxy"] = true
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan *reconcile.Result, 1)
			go func() { ended <- b.drive(ctx, b.session("laptop/1"), "web", reconcile.RunOptions{}) }()
			until(t, "the first level", func() bool { return b.order()["proxy"] == 3 })
			time.Sleep(20 * time.Second)
			if diff := cmp.Diff(map[string]int{"proxy": 3}, b.order()); diff != "" {
				t.Errorf("T6: a container that is not ready holds back no other: %s", diff)
			}
			cancel()
			if result := <-ended; result.Why != view.StopInterrupted {
				t.Fatalf("ended with %+v", result)
			}
			b.released(t)
			b.toldOpened(t, view.Subject{Kind: "CloneSet", Namespace: "shop", Name: "web"})
		})
	})
	t.Run("a foreground loop", func(t *testing.T) {
		t.Parallel()
		bubble(t, func(t *testing.T) {
			b := newBerth(t, set())
			b.sick["proxy"] = true
			stop := b.loop("laptop/1")
			until(t, "the first level", func() bool { return b.order()["proxy"] == 3 })
			stop()
			b.released(t)
			b.toldOpened(t, view.Subject{Kind: "Pod", Namespace: "shop"})
		})
	})
	t.Run("a verb that is told to leave them", func(t *testing.T) {
		t.Parallel()
		bubble(t, func(t *testing.T) {
			b := newBerth(t, set())
			b.sick["proxy"] = true
			s := b.session("laptop/1")
			s.KeepOrders = true
			if result := b.drive(t.Context(), s, "web", reconcile.RunOptions{Timeout: time.Minute}); result.Why != view.StopTimeout {
				t.Fatalf("ended with %+v", result)
			}
			time.Sleep(time.Minute)
			if diff := cmp.Diff(map[string]int{"proxy": 3}, b.order()); diff != "" {
				t.Errorf("opened nevertheless: %s", diff)
			}
			if told := b.opened(); len(told) != 1 || len(told[0].Kept) != 3 {
				t.Errorf("told %+v", told)
			}
		})
	})
	t.Run("another takes over", func(t *testing.T) {
		t.Parallel()
		bubble(t, func(t *testing.T) {
			b := newBerth(t, set())
			b.sick["proxy"] = true
			ended := make(chan *reconcile.Result, 1)
			go func() { ended <- b.drive(t.Context(), b.session("laptop/1"), "web", reconcile.RunOptions{}) }()
			until(t, "the first level", func() bool { return b.order()["proxy"] == 3 })
			b.lease("kruise-system", "kruise-manager", "kruise-manager-0")
			if result := <-ended; result.Why != view.StopDriver {
				t.Fatalf("ended with %+v", result)
			}
			time.Sleep(time.Minute)
			if diff := cmp.Diff(map[string]int{"proxy": 3}, b.order()); diff != "" {
				t.Errorf("opened although another drives: %s", diff)
			}
			if told := b.opened(); len(told) > 0 {
				t.Errorf("told %v", told)
			}
		})
	})
}

// released waits for all containers, and sees that the keys came from the highest level to the lowest.
func (b *berth) released(t *testing.T) {
	t.Helper()
	until(t, "all containers created", func() bool {
		for _, obj := range b.server.Objects(plan.PodKind) {
			if slices.ContainsFunc(obj.(*corev1.Pod).Status.ContainerStatuses, func(s corev1.ContainerStatus) bool { return s.State.Running == nil }) {
				return false
			}
		}
		return true
	})
	for _, obj := range b.server.Objects(plan.PodKind) {
		barrier := b.barrier(obj.GetName())
		if len(barrier.Data) != 3 || !b.completed(obj.GetName()) {
			t.Errorf("%s: %v", obj.GetName(), barrier.Data)
		}
	}
}

// opened are the events about pods whose levels were opened at the end.
func (b *berth) opened() []view.Opened {
	b.world.mu.Lock()
	defer b.world.mu.Unlock()
	var list []view.Opened
	for _, e := range b.events {
		if o, ok := e.(view.Opened); ok {
			list = append(list, o)
		}
	}
	return list
}

// toldOpened sees that all pods were named, once.
func (b *berth) toldOpened(t *testing.T, subject view.Subject) {
	t.Helper()
	var names []string
	for _, obj := range b.server.Objects(plan.PodKind) {
		names = append(names, obj.GetName())
	}
	slices.Sort(names)
	want := []view.Opened{{Head: view.Head{Subject: subject}, Pods: names}}
	if diff := cmp.Diff(want, b.opened(), cmpopts.IgnoreFields(view.Head{}, "At")); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// TestWhoMayNotWriteBarriersSaysSo is about a user without rights on ConfigMaps: each refusal is told, and at the end that
// the pod still waits.
func TestWhoMayNotWriteBarriersSaysSo(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		b := newBerth(t, withProxy(web("web", 1)))
		s := b.session("laptop/1")
		s.API = noConfigMaps{b.server}
		if result := b.drive(t.Context(), s, "web", reconcile.RunOptions{Timeout: 20 * time.Second}); result.Why != view.StopTimeout {
			t.Fatalf("ended with %+v", result)
		}
		if told := b.opened(); len(told) != 1 || len(told[0].Pods) != 0 || len(told[0].Left) != 1 {
			t.Errorf("told %+v", told)
		}
		b.world.mu.Lock()
		defer b.world.mu.Unlock()
		if !slices.ContainsFunc(b.events, func(e view.Event) bool {
			failed, ok := e.(view.ActionFailed)
			return ok && failed.Subject.Name == "web" && failed.Action.On.Kind == plan.ConfigMapKind
		}) {
			t.Error("nobody was told")
		}
	})
}

type noConfigMaps struct{ *clustertest.Server }

func (n noConfigMaps) Create(ctx context.Context, kind schema.GroupKind, obj plan.Object, dry bool) (plan.Object, error) {
	if kind == plan.ConfigMapKind {
		return nil, apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, obj.GetName(), errors.New("no"))
	}
	return n.Server.Create(ctx, kind, obj, dry)
}

func TestAHundredPodsAtOnce(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		var pods []plan.Object
		for i := range 100 {
			pods = append(pods, bare(t, fmt.Sprintf("p%d", i), "first", "second"))
		}
		b := newBerth(t, pods...)
		stop := b.loop("laptop/1")
		defer stop()
		until(t, "all of them", func() bool { return b.order()["first, second"] == 100 })
	})
}
