package inplace

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/features"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/revision"
)

var start = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)

func vertical() features.Gates {
	return features.Defaults().With(features.InPlaceWorkloadVerticalScaling, true)
}

// tmpl is a template with the containers that the edits add.
func tmpl(edits ...func(*corev1.PodTemplateSpec)) *corev1.PodTemplateSpec {
	t := &corev1.PodTemplateSpec{}
	for _, edit := range edits {
		edit(t)
	}
	return t
}

func ctr(name, image string, edits ...func(*corev1.Container)) func(*corev1.PodTemplateSpec) {
	return func(t *corev1.PodTemplateSpec) {
		c := corev1.Container{Name: name, Image: image}
		for _, edit := range edits {
			edit(&c)
		}
		t.Spec.Containers = append(t.Spec.Containers, c)
	}
}

func label(key, value string) func(*corev1.PodTemplateSpec) {
	return func(t *corev1.PodTemplateSpec) { setMap(&t.Labels, key, value) }
}

func annotation(key, value string) func(*corev1.PodTemplateSpec) {
	return func(t *corev1.PodTemplateSpec) { setMap(&t.Annotations, key, value) }
}

func setMap(m *map[string]string, key, value string) {
	if *m == nil {
		*m = map[string]string{}
	}
	(*m)[key] = value
}

func finalizers(list ...string) func(*corev1.PodTemplateSpec) {
	return func(t *corev1.PodTemplateSpec) { t.Finalizers = list }
}

func env(name, value string) func(*corev1.Container) {
	return func(c *corev1.Container) { c.Env = append(c.Env, corev1.EnvVar{Name: name, Value: value}) }
}

func envFrom(name, fieldPath string) func(*corev1.Container) {
	return func(c *corev1.Container) {
		c.Env = append(c.Env, corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{
			FieldRef: &corev1.ObjectFieldSelector{FieldPath: fieldPath},
		}})
	}
}

func barrier(key string) func(*corev1.Container) {
	return func(c *corev1.Container) {
		c.Env = append(c.Env, corev1.EnvVar{Name: keys.BarrierEnv, ValueFrom: &corev1.EnvVarSource{
			ConfigMapKeyRef: &corev1.ConfigMapKeySelector{Key: key},
		}})
	}
}

func list(kv ...string) corev1.ResourceList {
	l := corev1.ResourceList{}
	for i := 0; i < len(kv); i += 2 {
		l[corev1.ResourceName(kv[i])] = resource.MustParse(kv[i+1])
	}
	return l
}

func limits(kv ...string) func(*corev1.Container) {
	return func(c *corev1.Container) { c.Resources.Limits = list(kv...) }
}

func requests(kv ...string) func(*corev1.Container) {
	return func(c *corev1.Container) { c.Resources.Requests = list(kv...) }
}

func restartFor(r corev1.ResourceName) func(*corev1.Container) {
	return func(c *corev1.Container) {
		c.ResizePolicy = append(c.ResizePolicy, corev1.ContainerResizePolicy{ResourceName: r, RestartPolicy: corev1.RestartContainer})
	}
}

func rev(t testing.TB, name string, template *corev1.PodTemplateSpec) *appsv1.ControllerRevision {
	t.Helper()
	data, err := revision.FromTemplate(template)
	if err != nil {
		t.Fatal(err)
	}
	return &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: runtime.RawExtension{Raw: data}}
}

// podOf is a running pod of a template at revision web-old, with the gate and its condition True. Container c1 runs as
// containerd://c1 with image id img-<image>.
func podOf(template *corev1.PodTemplateSpec) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "web-1", Namespace: "ns", UID: "uid", ResourceVersion: "10", Generation: 1,
			Labels: overlay(template.Labels, map[string]string{keys.ControllerRevisionHashLabel: "web-old"}), Annotations: template.Annotations,
			Finalizers: template.Finalizers,
		},
		Spec: *template.Spec.DeepCopy(),
	}
	pod.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: keys.InPlaceUpdateReady}}
	pod.Status.Phase = corev1.PodRunning
	for _, of := range []corev1.PodConditionType{keys.InPlaceUpdateReady, corev1.ContainersReady, corev1.PodReady} {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: of, Status: corev1.ConditionTrue})
	}
	for i := range pod.Spec.Containers {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{Name: pod.Spec.Containers[i].Name})
		run(pod, pod.Spec.Containers[i].Name)
	}
	return pod
}

// run starts the container from its spec, as a kubelet would.
func run(pod *corev1.Pod, name string) {
	status := containerStatus(pod, name)
	status.Image = specImage(pod, name)
	status.ImageID = "img-" + status.Image
	if status.ContainerID != "" {
		status.RestartCount++
	}
	status.ContainerID = fmt.Sprintf("containerd://%s-%d", name, status.RestartCount)
	status.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	status.Ready = true
	for i := range pod.Spec.Containers {
		if c := &pod.Spec.Containers[i]; c.Name == name {
			status.Resources = c.Resources.DeepCopy()
		}
	}
}

// do applies changes to a copy of the pod, as a server would.
func do(t testing.TB, pod *corev1.Pod, changes ...*plan.PodChange) *corev1.Pod {
	t.Helper()
	pod = pod.DeepCopy()
	for _, change := range changes {
		if change == nil {
			continue
		}
		if err := change.Apply(pod); err != nil {
			t.Fatal(err)
		}
		if len(change.Images)+len(change.Resources) > 0 {
			pod.Generation++
		}
	}
	return pod
}

// begin starts an update and writes it.
func begin(t testing.TB, pod *corev1.Pod, spec *Spec, o Options, now time.Time) *corev1.Pod {
	t.Helper()
	var marks plan.MetaChange
	marks.Label(keys.ControllerRevisionHashLabel, spec.Revision)
	marks.Label(keys.LifecycleStateLabel, keys.StateUpdating)
	writes, err := Start(pod, spec, marks, o, now)
	if err != nil {
		t.Fatal(err)
	}
	return do(t, pod, writes.NotReady, writes.Resize, writes.Update)
}

// step refreshes the pod and writes what it wants.
func step(t testing.TB, pod *corev1.Pod, o Options, now time.Time) (StepKind, *corev1.Pod) {
	t.Helper()
	s, err := Refresh(pod, nil, o, now)
	if err != nil {
		t.Fatal(err)
	}
	return s.Kind, do(t, pod, s.Resize, s.Change)
}

func stateOf(t testing.TB, pod *corev1.Pod) *State {
	t.Helper()
	state, found, err := ParseState(pod)
	if err != nil || !found {
		t.Fatalf("state found %v: %v", found, err)
	}
	return state
}

func batches(t testing.TB, pod *corev1.Pod) [][]string {
	t.Helper()
	var record [][]string
	for _, b := range stateOf(t, pod).ContainerBatchesRecord {
		record = append(record, b.Containers)
	}
	return record
}

// withState sets a state annotation.
func withState(t testing.TB, pod *corev1.Pod, key string, state any) *corev1.Pod {
	t.Helper()
	text, err := json.Marshal(state)
	if err != nil {
		t.Fatal(err)
	}
	setMap(&pod.Annotations, key, string(text))
	return pod
}

func images(kv ...string) map[string]string {
	m := map[string]string{}
	for i := 0; i < len(kv); i += 2 {
		m[kv[i]] = kv[i+1]
	}
	return m
}
