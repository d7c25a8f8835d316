package reconcile_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/features"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/cluster"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/cluster/clustertest"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/reconcile"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/view"
)

// world is a server with a kubelet, and what a loop told.
type world struct {
	t      *testing.T
	server *clustertest.Server
	// node places pods; nil puts all on one node.
	node func(*corev1.Pod) string
	// sick pods never become ready.
	sick func(*corev1.Pod) bool
	// hold says that a container cannot be created yet; nil holds none.
	hold func(*corev1.Pod, *corev1.Container) bool
	// configs are the ConfigMaps that the kubelet sees.
	configs map[string]*corev1.ConfigMap
	// unready says that a container runs and is not ready; nil says it of none.
	unready func(*corev1.Pod, *corev1.Container) bool

	mu     sync.Mutex
	events []view.Event
	// most is the largest number of active pods that there were at a time; least the smallest number of ready ones since
	// it was set.
	most, least int
}

// newWorld starts a kubelet that looks every 100 ms of the bubble's time.
func newWorld(t *testing.T, objects ...plan.Object) *world {
	w := &world{t: t, server: clustertest.New(objects...), least: -1}
	w.server.Graceful = true
	go func() {
		for {
			select {
			case <-t.Context().Done():
				return
			case <-time.After(100 * time.Millisecond):
				w.kubelet()
			}
		}
	}()
	return w
}

func (w *world) kubelet() {
	active, ready := 0, 0
	w.configs = map[string]*corev1.ConfigMap{}
	for _, obj := range w.server.Objects(plan.ConfigMapKind) {
		w.configs[obj.GetName()] = obj.(*corev1.ConfigMap)
	}
	for _, obj := range w.server.Objects(plan.PodKind) {
		pod := obj.(*corev1.Pod)
		if pod.DeletionTimestamp != nil {
			w.server.Remove(plan.PodKind, pod.Namespace, pod.Name)
			continue
		}
		active++
		w.server.Edit(plan.PodKind, pod.Namespace, pod.Name, func(obj plan.Object) { w.run(obj.(*corev1.Pod)) })
		if isReady(pod) {
			ready++
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.most = max(w.most, active)
	if w.least >= 0 {
		w.least = min(w.least, ready)
	}
}

func isReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// run is one look of the kubelet at a pod: containers run their image, and the pod is ready when its gates are.
func (w *world) run(pod *corev1.Pod) {
	pod.Spec.NodeName, pod.Status.Phase = "node", corev1.PodRunning
	if w.node != nil {
		pod.Spec.NodeName = w.node(pod)
	}
	if pod.Status.ContainerStatuses == nil {
		pod.Status.ContainerStatuses = make([]corev1.ContainerStatus, len(pod.Spec.Containers))
	}
	healthy, all := w.sick == nil || !w.sick(pod), true
	for i, c := range pod.Spec.Containers {
		s := &pod.Status.ContainerStatuses[i]
		if w.hold != nil && s.State.Running == nil && w.hold(pod, &c) {
			s.Name, all = c.Name, false
			s.State.Waiting = &corev1.ContainerStateWaiting{Reason: "CreateContainerConfigError", Message: "configmap \"" + pod.Name + "-barrier\" lacks it"}
			continue
		}
		if s.Image != "" && s.Image != c.Image {
			s.RestartCount++
		}
		s.Name, s.Image, s.ImageID, s.Ready = c.Name, c.Image, "id-of-"+c.Image, healthy && (w.unready == nil || !w.unready(pod, &c))
		all = all && s.Ready
		s.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	}
	status := corev1.ConditionFalse
	if all && gatesAnswered(pod) {
		status = corev1.ConditionTrue
	}
	set(pod, corev1.ContainersReady, corev1.ConditionStatus(map[bool]string{true: "True", false: "False"}[all]))
	set(pod, corev1.PodReady, status)
}

func gatesAnswered(pod *corev1.Pod) bool {
	for _, gate := range pod.Spec.ReadinessGates {
		if !slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == gate.ConditionType && c.Status == corev1.ConditionTrue
		}) {
			return false
		}
	}
	return true
}

func set(pod *corev1.Pod, of corev1.PodConditionType, status corev1.ConditionStatus) {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == of {
			if c.Status != status {
				c.Status, c.LastTransitionTime = status, metav1.Now()
			}
			return
		}
	}
	pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: of, Status: status, LastTransitionTime: metav1.Now()})
}

// web is a CloneSet that updates in place where it can.
func web(name string, replicas int32) *v1beta1.CloneSet {
	labels := map[string]string{"app": name}
	return &v1beta1.CloneSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Generation: 1},
		Spec: v1beta1.CloneSetSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "app:1"}}},
			},
			UpdateStrategy: v1beta1.CloneSetUpdateStrategy{
				Type: v1beta1.RollingUpdateCloneSetUpdateStrategyType,
				RollingUpdate: &v1beta1.RollingUpdateCloneSetStrategy{
					PodUpdatePolicy: v1beta1.InPlaceIfPossiblePodUpdatePolicy, MaxUnavailable: ptr.To(intstr.FromInt32(1)),
				},
			},
		},
	}
}

func (w *world) target(name string) reconcile.Target {
	return reconcile.Target{Served: served(), Namespace: "shop", Name: name}
}

func served() reconcile.Served {
	return reconcile.Served{Kind: reconcile.CloneSet(), APIVersion: "apps.kruise.io/v1alpha1"}
}

// session is a process that may drive. Each has seeds of its own.
func (w *world) session(holder string) *reconcile.Session {
	var mu sync.Mutex
	var seed uint64
	for _, c := range holder {
		seed = seed*31 + uint64(c)
	}
	return &reconcile.Session{
		API: w.server, Gates: features.Defaults(), Now: time.Now, Holder: "kubectl-kruise/ops@" + holder,
		Random: func() uint64 {
			mu.Lock()
			defer mu.Unlock()
			seed = seed*6364136223846793005 + 1442695040888963407
			return seed
		},
		Tell: func(e view.Event) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.events = append(w.events, e)
		},
	}
}

func (w *world) set(name string) *v1beta1.CloneSet {
	w.t.Helper()
	obj, err := w.server.Get(w.t.Context(), plan.CloneSetKind, "shop", name)
	if err != nil {
		w.t.Fatal(err)
	}
	return obj.(*v1beta1.CloneSet)
}

// edit changes the spec of a set as kubectl would.
func (w *world) edit(name string, change func(*v1beta1.CloneSet)) {
	w.t.Helper()
	if !w.server.Edit(plan.CloneSetKind, "shop", name, func(obj plan.Object) {
		set := obj.(*v1beta1.CloneSet)
		set.Generation++
		change(set)
	}) {
		w.t.Fatalf("no CloneSet %s", name)
	}
}

// drive claims a set and runs it to the end.
func (w *world) drive(ctx context.Context, s *reconcile.Session, name string, options reconcile.RunOptions) *reconcile.Result {
	w.t.Helper()
	claim, err := s.Claim(ctx, w.target(name))
	if err != nil {
		w.t.Fatal(err)
	}
	defer claim.Release()
	if options.Object == nil {
		options.Object = w.set(name)
	}
	return claim.Run(ctx, options)
}

// pods describes the active pods of a set: name, image, restarts, ready.
func (w *world) pods(name string) map[string]string {
	pods := map[string]string{}
	for _, obj := range w.server.Objects(plan.PodKind) {
		pod := obj.(*corev1.Pod)
		if pod.DeletionTimestamp != nil || pod.Labels["app"] != name {
			continue
		}
		var restarts int32
		for _, s := range pod.Status.ContainerStatuses {
			restarts += s.RestartCount
		}
		pods[string(pod.UID)] = fmt.Sprintf("%s restarts=%d ready=%v", pod.Spec.Containers[0].Image, restarts, isReady(pod))
	}
	return pods
}

// tally counts the descriptions of the active pods of a set.
func (w *world) tally(name string) map[string]int {
	count := map[string]int{}
	for _, what := range w.pods(name) {
		count[what]++
	}
	return count
}

// told lists the kinds of events, without repetitions.
func (w *world) told() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var list []string
	for _, e := range w.events {
		text := strings.TrimPrefix(fmt.Sprintf("%T", e), "view.")
		if stopped, ok := e.(view.Stopped); ok {
			text += " " + string(stopped.Why)
		}
		if len(list) == 0 || list[len(list)-1] != text {
			list = append(list, text)
		}
	}
	return list
}

func (w *world) holder(lease string) string {
	for _, obj := range w.server.Objects(cluster.LeaseKind) {
		if obj.GetName() == lease {
			return *obj.(*coordinationv1.Lease).Spec.HolderIdentity
		}
	}
	return "no lease"
}

// bubble runs a test in time that passes only when everybody waits.
func bubble(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, test)
}

// until waits for a condition, for a minute of the bubble's time.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for range 6000 {
		if holds() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("not seen: %s", what)
}
