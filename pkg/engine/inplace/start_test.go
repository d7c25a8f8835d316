package inplace

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/features"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
)

func imageSpec(kv ...string) *Spec {
	return &Spec{Revision: "web-new", Work: Work{Images: images(kv...)}}
}

var onServer = Options{Gates: vertical(), Resize: ResizeSubresource}

func TestStart(t *testing.T) {
	t.Parallel()
	var marks plan.MetaChange
	marks.Label(keys.ControllerRevisionHashLabel, "web-new")
	marks.Label(keys.LifecycleStateLabel, keys.StateUpdating)
	withGrace := imageSpec("c1", "foo2")
	withGrace.GraceSeconds = 3630
	renamed := podOf(tmpl(ctr("c1", "foo:1")))
	renamed.Annotations = map[string]string{keys.InPlaceUpdateStateOldAnnotation: "{}", keys.InPlaceUpdateGraceOldAnnotation: "broken"}
	noGate := podOf(tmpl(ctr("c1", "foo:1")))
	noGate.Spec.ReadinessGates = nil

	for _, tc := range []struct {
		name     string
		pod      *corev1.Pod
		spec     *Spec
		notReady string
		update   string
	}{
		{
			"inplace/15", podOf(tmpl(ctr("c1", "foo:1"))), imageSpec("c1", "foo:2"),
			`{"status":{"conditions":[` +
				`{"lastTransitionTime":"2026-07-01T12:00:00Z","message":null,"reason":"StartInPlaceUpdate","status":"False","type":"InPlaceUpdateReady"},` +
				`{"lastTransitionTime":"2026-07-01T12:00:00Z","message":"readiness gates not met: InPlaceUpdateReady","reason":"ReadinessGatesNotReady","status":"False","type":"Ready"}]}}`,
			`{"metadata":{"annotations":{"apps.kruise.io/inplace-update-state":` +
				`"{\"revision\":\"web-new\",\"updateTimestamp\":\"2026-07-01T12:00:00Z\",\"lastContainerStatuses\":{\"c1\":{\"imageID\":\"img-foo:1\",` +
				`\"containerID\":\"containerd://c1-0\",\"image\":\"foo:1\",\"generation\":1}},\"updateImages\":true,` +
				`\"containerBatchesRecord\":[{\"timestamp\":\"2026-07-01T12:00:00Z\",\"containers\":[\"c1\"]}]}"},` +
				`"labels":{"controller-revision-hash":"web-new","lifecycle.apps.kruise.io/state":"Updating"}},` +
				`"spec":{"containers":[{"image":"foo:2","name":"c1"}]}}`,
		},
		{
			"inplace/16", podOf(tmpl(ctr("c1", "foo:1"))), withGrace,
			`{"status":{"conditions":[` +
				`{"lastTransitionTime":"2026-07-01T12:00:00Z","message":null,"reason":"StartInPlaceUpdate","status":"False","type":"InPlaceUpdateReady"},` +
				`{"lastTransitionTime":"2026-07-01T12:00:00Z","message":"readiness gates not met: InPlaceUpdateReady","reason":"ReadinessGatesNotReady","status":"False","type":"Ready"}]}}`,
			`{"metadata":{"annotations":{` +
				`"apps.kruise.io/inplace-update-grace":"{\"revision\":\"web-new\",\"containerImages\":{\"c1\":\"foo2\"},\"graceSeconds\":3630}",` +
				`"apps.kruise.io/inplace-update-state":"{\"revision\":\"web-new\",\"updateTimestamp\":\"2026-07-01T12:00:00Z\",\"lastContainerStatuses\":null,\"updateImages\":true}"},` +
				`"labels":{"controller-revision-hash":"web-new","lifecycle.apps.kruise.io/state":"Updating"}}}`,
		},
		{
			"inplace/59 and 2: an empty difference", renamed, &Spec{Revision: "web-new"}, "",
			`{"metadata":{"annotations":{` +
				`"apps.kruise.io/inplace-update-state":"{\"revision\":\"web-new\",\"updateTimestamp\":\"2026-07-01T12:00:00Z\",\"lastContainerStatuses\":null}",` +
				`"inplace-update-grace":null,"inplace-update-state":null},` +
				`"labels":{"controller-revision-hash":"web-new","lifecycle.apps.kruise.io/state":"Updating"}}}`,
		},
		{
			"PF-IP-4", podOf(tmpl(ctr("c1", "foo:1"))), &Spec{Revision: "web-new", Meta: plan.MetaChange{Annotations: map[string]*string{"a": plan.Set("1"), "b": nil}}}, "",
			`{"metadata":{"annotations":{"a":"1",` +
				`"apps.kruise.io/inplace-update-state":"{\"revision\":\"web-new\",\"updateTimestamp\":\"2026-07-01T12:00:00Z\",\"lastContainerStatuses\":null}","b":null},` +
				`"labels":{"controller-revision-hash":"web-new","lifecycle.apps.kruise.io/state":"Updating"}}}`,
		},
		{
			"3.2.1 a pod without the gate", noGate, &Spec{Revision: "web-new", Work: Work{RefMetadata: map[string]RefMetadata{"c1": ref("k", "v")}}, EnvFromMetadata: true}, "",
			`{"metadata":{"annotations":{` +
				`"apps.kruise.io/inplace-update-state":"{\"revision\":\"web-new\",\"updateTimestamp\":\"2026-07-01T12:00:00Z\",\"lastContainerStatuses\":null,` +
				`\"updateEnvFromMetadata\":true,\"containerBatchesRecord\":[{\"timestamp\":\"2026-07-01T12:00:00Z\",\"containers\":[\"c1\"]}]}"},` +
				`"labels":{"controller-revision-hash":"web-new","k":"v","lifecycle.apps.kruise.io/state":"Updating"}}}`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			before := tc.pod.DeepCopy()
			writes, err := Start(tc.pod, tc.spec, marks, onServer, start)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.notReady, body(t, writes.NotReady)); diff != "" {
				t.Errorf("not ready (-want +got)\n%s", diff)
			}
			if diff := cmp.Diff(tc.update, body(t, writes.Update)); diff != "" {
				t.Errorf("update (-want +got)\n%s", diff)
			}
			if writes.Resize != nil {
				t.Error("a resize without resources")
			}
			if diff := cmp.Diff(before, tc.pod); diff != "" {
				t.Errorf("the pod that was given has changed\n%s", diff)
			}
		})
	}
}

func body(t testing.TB, change *plan.PodChange) string {
	t.Helper()
	if change == nil {
		return ""
	}
	text, err := change.Body()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestNeedsUnready(t *testing.T) {
	t.Parallel()
	cpu := func(edits ...func(*corev1.Container)) *corev1.Pod {
		return podOf(tmpl(ctr("c", "a", append(edits, requests("cpu", "1", "memory", "1Gi"))...)))
	}
	more := &Spec{Work: Work{Resources: map[string]corev1.ResourceRequirements{"c": {Requests: list("cpu", "2", "memory", "1Gi")}}}}
	both := &Spec{Work: Work{Resources: more.Resources, Images: images("c", "b")}}
	bare := cpu()
	bare.Spec.ReadinessGates = nil
	for _, tc := range []struct {
		name string
		pod  *corev1.Pod
		spec *Spec
		want bool
	}{
		{"inplace/43 no policy", cpu(), more, false},
		{"inplace/43 memory restarts", cpu(restartFor("memory")), more, false},
		{"inplace/44", cpu(restartFor("cpu")), more, true},
		{"inplace/45", cpu(), both, true},
		{"3.2.1 no gate", bare, both, false},
		{"3.2 metadata alone", cpu(), &Spec{Meta: plan.MetaChange{Labels: map[string]*string{"a": nil}}}, false},
		{"3.2 env from metadata", cpu(), &Spec{Work: Work{RefMetadata: map[string]RefMetadata{"c": ref("a", "b")}}, EnvFromMetadata: true}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := NeedsUnready(tc.pod, tc.spec); got != tc.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestResize(t *testing.T) {
	t.Parallel()
	pod := podOf(tmpl(
		ctr("c1", "a", limits("cpu", "100m", "memory", "1Gi"), requests("memory", "512Mi")),
		ctr("c2", "a", limits("cpu", "100m")),
	))
	want := &Spec{Revision: "web-new", Work: Work{Resources: map[string]corev1.ResourceRequirements{
		"c1": {Limits: list("cpu", "200m", "memory", "1Gi"), Requests: list("memory", "1Gi")},
		"c2": {Limits: list("cpu", "100m")},
	}}}
	const patch = `{"spec":{"containers":[{"name":"c1","resources":{"limits":{"cpu":"200m"},"requests":{"memory":"1Gi"}}}]}}`
	for _, tc := range []struct {
		name   string
		mode   ResizeMode
		pod    *corev1.Pod
		resize string
		inSpec bool
		fails  bool
	}{
		{"inplace/46", ResizeSubresource, pod, patch, false, false},
		{"inplace/46 nothing differs", ResizeSubresource, do(t, pod, &plan.PodChange{Resources: want.Resources}), "", false, false},
		{"5.1 before 1.32", ResizeInSpec, pod, "", true, false},
		{"5.1 before 1.27", ResizeNever, pod, "", false, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			writes, err := Start(tc.pod, want, plan.MetaChange{}, Options{Gates: vertical(), Resize: tc.mode}, start)
			if (err != nil) != tc.fails {
				t.Fatalf("error %v", err)
			}
			if tc.fails {
				return
			}
			if diff := cmp.Diff(tc.resize, body(t, writes.Resize)); diff != "" {
				t.Errorf("resize (-want +got)\n%s", diff)
			}
			if got := len(writes.Update.Resources) > 0; got != tc.inSpec {
				t.Errorf("resources in the pod's own change: %v", got)
			}
		})
	}
}

func TestStartOverAnUnfinishedUpdate(t *testing.T) {
	t.Parallel()
	t.Run("4.1 a pending update is replaced by the newer one", func(t *testing.T) {
		t.Parallel()
		first := imageSpec("c1", "x:2", "c2", "y:2")
		first.GraceSeconds = 30
		first.Meta.Annotate("first", "1")
		pod := begin(t, podOf(tmpl(ctr("c1", "x:1"), ctr("c2", "y:1"))), first, onServer, start)
		second := imageSpec("c1", "x:3")
		second.Revision, second.GraceSeconds = "web-newer", 30
		pod = begin(t, pod, second, onServer, start.Add(20*time.Second))
		if got := stateOf(t, pod).UpdateTimestamp; !got.Time.Equal(start) {
			t.Errorf("the grace period begins anew at %s", got)
		}
		kind, pod := step(t, pod, onServer, start.Add(30*time.Second))
		if kind != StepFinishGrace || specImage(pod, "c1") != "x:3" || specImage(pod, "c2") != "y:2" || pod.Annotations["first"] != "1" {
			t.Errorf("%s left %s and %s, annotations %v", kind, specImage(pod, "c1"), specImage(pod, "c2"), pod.Annotations)
		}
	})
	t.Run("4 batches that were left belong to the newer update", func(t *testing.T) {
		t.Parallel()
		pod := podOf(tmpl(ctr("c1", "x:1", barrier("p_2")), ctr("c2", "y:1", barrier("p_1"))))
		pod = begin(t, pod, imageSpec("c1", "x:2", "c2", "y:2"), onServer, start)
		second := imageSpec("c1", "x:3")
		second.Revision = "web-newer"
		pod = begin(t, pod, second, onServer, start)
		if diff := cmp.Diff(images("c2", "y:2"), stateOf(t, pod).NextContainerImages); diff != "" {
			t.Errorf("next images (-want +got)\n%s", diff)
		}
	})
	t.Run("what was owed on the way to another revision is dropped", func(t *testing.T) {
		t.Parallel()
		first := imageSpec("c1", "x:2")
		first.GraceSeconds = 30
		pod := begin(t, podOf(tmpl(ctr("c1", "x:1"))), first, onServer, start)
		pod.Labels[keys.ControllerRevisionHashLabel] = "web-other"
		pod = begin(t, pod, &Spec{Revision: "web-newer"}, onServer, start)
		if specImage(pod, "c1") != "x:1" || pod.Annotations[keys.InPlaceUpdateGraceAnnotation] != "" {
			t.Errorf("image %s, annotations %v", specImage(pod, "c1"), pod.Annotations)
		}
	})
	t.Run("inplace/47", func(t *testing.T) {
		t.Parallel()
		pod := podOf(tmpl(ctr("c", "a", requests("cpu", "1"))))
		huge := &Spec{Revision: "web-huge", Work: Work{Resources: map[string]corev1.ResourceRequirements{"c": {Requests: list("cpu", "100")}}}}
		pod = begin(t, pod, huge, onServer, start)
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: corev1.PodResizePending, Status: corev1.ConditionTrue, Reason: "Infeasible"})
		if done, why := Complete(pod, vertical()); done || why != "container c has not got its new resources: Infeasible" {
			t.Errorf("complete %v: %s", done, why)
		}
		fits := &Spec{Revision: "web-fits", Work: Work{Resources: map[string]corev1.ResourceRequirements{"c": {Requests: list("cpu", "2")}}}}
		pod = begin(t, pod, fits, onServer, start)
		containerStatus(pod, "c").Resources = pod.Spec.Containers[0].Resources.DeepCopy()
		if done, why := Complete(pod, vertical()); !done {
			t.Errorf("not complete: %s", why)
		}
	})
	t.Run("the same with a grace period for the way back", func(t *testing.T) {
		t.Parallel()
		back := imageSpec("c1", "x:1")
		back.Revision, back.GraceSeconds = "web-old", 30
		for _, followed := range []bool{false, true} {
			pod := begin(t, podOf(tmpl(ctr("c1", "x:1"))), imageSpec("c1", "x:2"), onServer, start)
			if followed {
				run(pod, "c1")
			}
			pod = begin(t, pod, back, onServer, start)
			kind, pod := step(t, pod, onServer, start.Add(30*time.Second))
			pod.Status.ObservedGeneration = pod.Generation
			done, why := Complete(pod, features.Defaults())
			// A container that never left x:1 has nothing to restart for, one that runs x:2 has.
			if kind != StepFinishGrace || specImage(pod, "c1") != "x:1" || done == followed {
				t.Errorf("followed %v: %s, image %s, complete %v %q", followed, kind, specImage(pod, "c1"), done, why)
			}
		}
	})
	t.Run("an update is taken back before the kubelet acted on it", func(t *testing.T) {
		t.Parallel()
		pod := begin(t, podOf(tmpl(ctr("c1", "x:1"))), imageSpec("c1", "x:2"), onServer, start)
		back := imageSpec("c1", "x:1")
		back.Revision = "web-old"
		pod = begin(t, pod, back, onServer, start)
		pod.Status.ObservedGeneration = pod.Generation - 1
		if done, _ := Complete(pod, features.Defaults()); done {
			t.Error("complete before the kubelet has seen the second change")
		}
		pod.Status.ObservedGeneration = pod.Generation
		if done, why := Complete(pod, features.Defaults()); !done {
			t.Errorf("waits for a restart that will never come: %s", why)
		}
	})
}
