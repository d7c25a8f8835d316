package cloneset

import (
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/features"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/revision"
)

var sizes = []int{100, 1000, 10_000, 100_000}

// rolloutWorld is the middle of an in-place rollout of n pods: half of them updated, one in ten not ready, one percent to
// be acted on.
func rolloutWorld(tb testing.TB, n int) World {
	tb.Helper()
	w := settledWorld(tb, n)
	w.Set = w.Set.DeepCopy()
	w.Set.Spec.Template.Spec.Containers[0].Image = "v2"
	update := addRevision(tb, &w, 2)
	w.Set.Spec.UpdateStrategy.RollingUpdate.Partition = number(n/2 - n/100)
	hash := revision.HashOf(update)
	for i := range w.Pods {
		pod := w.Pods[i].Pod
		if i%2 == 0 {
			pod.Labels[keys.ControllerRevisionHashLabel], pod.Labels[keys.PodTemplateHashLabel] = update.Name, hash
			pod.Annotations[keys.InPlaceUpdateStateAnnotation] = fmt.Sprintf(
				`{"revision":%q,"updateTimestamp":"2026-07-01T11:00:00Z","lastContainerStatuses":{"main":{"imageID":"sha256:v1"}},"updateImages":true,"containerBatchesRecord":[{"timestamp":"2026-07-01T11:00:00Z","containers":["main"]}]}`, update.Name)
			pod.Spec.Containers[0].Image = "v2"
			run(pod, start.Add(-time.Hour))
		}
		if i%10 == 0 {
			setReady(pod, corev1.ConditionFalse, start)
			pod.Status.ContainerStatuses[0].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: "back-off"}}
		}
	}
	withFacts(&w)
	return w
}

// settledWorld is a set of n pods with nothing to do.
func settledWorld(tb testing.TB, n int) World {
	tb.Helper()
	set := &v1beta1.CloneSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "set-uid", Generation: 1},
		Spec: v1beta1.CloneSetSpec{
			Replicas: ptr(int32(n)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "v1"}}}},
			UpdateStrategy: v1beta1.CloneSetUpdateStrategy{RollingUpdate: &v1beta1.RollingUpdateCloneSetStrategy{PodUpdatePolicy: inPlace}},
		},
	}
	w := World{Now: start, Gates: features.Defaults(), Set: set, OwnerAPIVersion: "apps.kruise.io/v1alpha1"}
	rev := addRevision(tb, &w, 1)
	p, err := newPass(&w)
	if err != nil {
		tb.Fatal(err)
	}
	if err := p.reviseAndMark(); err != nil {
		tb.Fatal(err)
	}
	for i, a := range p.create(n, 0) {
		pod := a.Object.DeepCopyObject().(*corev1.Pod)
		pod.UID, pod.ResourceVersion = types.UID(fmt.Sprint("uid", i)), fmt.Sprint(i+1)
		pod.CreationTimestamp = metav1.NewTime(start.Add(-time.Duration(i+60) * time.Minute))
		pod.Labels[keys.LifecycleStateLabel] = keys.StateNormal
		for _, g := range pod.Spec.ReadinessGates {
			pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: g.ConditionType, Status: corev1.ConditionTrue})
		}
		run(pod, pod.CreationTimestamp.Add(time.Minute))
		w.Pods = append(w.Pods, Pod{Pod: pod})
	}
	set.Status = v1beta1.CloneSetStatus{CurrentRevision: rev.Name}
	withFacts(&w)
	return w
}

func addRevision(tb testing.TB, w *World, n int64) *appsv1.ControllerRevision {
	tb.Helper()
	w.Template = nil
	p, err := newPass(w)
	if err != nil {
		tb.Fatal(err)
	}
	if err := p.reviseAndMark(); err != nil {
		tb.Fatal(err)
	}
	r := p.rev.update.DeepCopy()
	r.UID, r.Revision = types.UID(fmt.Sprint("rev", n)), n
	facts, err := revision.FactsOfRevision(r, DefaultTemplate)
	if err != nil {
		tb.Fatal(err)
	}
	w.Revisions = append(w.Revisions, Revision{ControllerRevision: r, Facts: facts})
	return r
}

// withFacts fills in what an observer caches.
func withFacts(w *World) {
	w.Template, _ = revision.FactsOf(&w.Set.Spec.Template, DefaultTemplate)
	for i := range w.Pods {
		w.Pods[i].Facts = FactsOf(w.Pods[i].Pod, w.Gates)
	}
}

func benchmark(b *testing.B, world func(testing.TB, int) World, check func(*Plan) bool) {
	for _, n := range sizes {
		b.Run(fmt.Sprintf("pods=%d", n), func(b *testing.B) {
			w := world(b, n)
			p, err := Decide(w)
			if err != nil {
				b.Fatal(err)
			}
			if want := min(n, len(w.Pods)+atOnce); !check(p) || len(p.Verdicts) < want {
				b.Fatalf("not the plan to measure: %s, %d verdicts, numbers %+v", did(p), len(p.Verdicts), p.Numbers)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Decide(w); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms/op")
		})
	}
}

func BenchmarkCloneSetPlan(b *testing.B) {
	benchmark(b, rolloutWorld, func(p *Plan) bool { return p.Numbers.Update > 0 && !p.Empty() })
}

func BenchmarkCloneSetPlanSettled(b *testing.B) {
	benchmark(b, settledWorld, func(p *Plan) bool { return p.Numbers.Update == 0 })
}

func BenchmarkCloneSetPlanCreate(b *testing.B) {
	benchmark(b, func(tb testing.TB, n int) World {
		w := settledWorld(tb, n)
		w.Pods = nil
		return w
	}, func(p *Plan) bool { return p.Numbers.ScaleUpLimit > 0 })
}

func BenchmarkCloneSetPlanRecreate(b *testing.B) {
	benchmark(b, func(tb testing.TB, n int) World {
		w := rolloutWorld(tb, n)
		w.Set.Spec.UpdateStrategy.RollingUpdate.PodUpdatePolicy = v1beta1.ReCreatePodUpdatePolicy
		return w
	}, func(p *Plan) bool { return p.Numbers.Update > 0 && !p.Empty() })
}

// Facts and plan as an observer has to make them: of all pods when it begins, of one pod after an event.
func benchmarkFacts(b *testing.B, changed func(n int) int) {
	for _, n := range sizes {
		b.Run(fmt.Sprintf("pods=%d", n), func(b *testing.B) {
			w := rolloutWorld(b, n)
			b.ReportAllocs()
			for b.Loop() {
				for i := range changed(n) {
					w.Pods[i].Facts = FactsOf(w.Pods[i].Pod, w.Gates)
				}
				if changed(n) == n {
					w.Template, _ = revision.FactsOf(&w.Set.Spec.Template, DefaultTemplate)
				}
				if _, err := Decide(w); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkCloneSetPlanFromNothing(b *testing.B) {
	benchmarkFacts(b, func(n int) int { return n })
}

func BenchmarkCloneSetPlanAfterEvent(b *testing.B) {
	benchmarkFacts(b, func(int) int { return 1 })
}
