package inplace

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/features"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
)

func TestComplete(t *testing.T) {
	t.Parallel()
	// A pod whose container c1 has spec image foo:2 and still runs what was recorded, unless edited.
	was := State{Revision: "web-old", LastContainerStatuses: map[string]LastStatus{"c1": {ImageID: "img01"}}, UpdateImages: true}
	ours := was
	ours.LastContainerStatuses = map[string]LastStatus{"c1": {ImageID: "img01", ContainerID: "containerd://old", Image: "foo:1", Generation: 1}}
	meta := func(pod *corev1.Pod, id string, plain uint64) {
		c := &pod.Spec.Containers[0]
		withState(t, pod, keys.RuntimeContainersMetaAnnotation, RuntimeMeta{Containers: []RuntimeContainer{{
			Name: "c1", ContainerID: id, Hashes: RuntimeHashes{PlainHash: plain, ExtractedEnvFromMetadataHash: EnvHash(pod, c)},
		}}})
	}
	status := func(pod *corev1.Pod) *corev1.ContainerStatus { return containerStatus(pod, "c1") }
	hash := func(pod *corev1.Pod) uint64 { return PlainHash(&pod.Spec.Containers[0]) }
	resources := func(pod *corev1.Pod) {
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: "c2"})
		requests("cpu", "2")(&pod.Spec.Containers[0])
		status(pod).Resources = &corev1.ResourceRequirements{Requests: list("cpu", "1")}
	}
	resized := State{UpdateResources: true, ContainerBatchesRecord: []BatchRecord{{Containers: []string{"c1"}}}}

	for _, tc := range []struct {
		name  string
		state any
		edit  func(pod *corev1.Pod)
		gates features.Gates
		want  bool
	}{
		{name: "inplace/23", state: was},
		{name: "inplace/24", state: was, edit: func(p *corev1.Pod) { status(p).ImageID = "img02" }, want: true},
		{name: "inplace/25 the same image string", state: was, edit: func(p *corev1.Pod) { status(p).Image = "foo:2" }, want: true},
		{name: "inplace/25 latest", state: was, edit: func(p *corev1.Pod) { p.Spec.Containers[0].Image, status(p).Image = "nginx", "nginx:latest" }, want: true},
		{name: "inplace/26", state: was, edit: func(p *corev1.Pod) { p.Status.ContainerStatuses = nil }},
		{name: "inplace/27", state: was, edit: func(p *corev1.Pod) { meta(p, "containerd://old", hash(p)) }, want: true},
		{name: "inplace/27 hash of an older kubelet", state: was, edit: func(p *corev1.Pod) { meta(p, "containerd://old", oldPlainHash(&p.Spec.Containers[0])) }, want: true},
		{name: "inplace/28", state: was, edit: func(p *corev1.Pod) { meta(p, "containerd://other", hash(p)) }},
		{name: "inplace/28 and the image is new", state: was, edit: func(p *corev1.Pod) { meta(p, "containerd://other", hash(p)); status(p).ImageID = "img02" }, want: true},
		{name: "another plain hash", state: was, edit: func(p *corev1.Pod) { meta(p, "containerd://old", 7) }},
		{name: "6.1.1 meta is not JSON", state: was, edit: func(p *corev1.Pod) {
			setMap(&p.Annotations, keys.RuntimeContainersMetaAnnotation, "{")
			status(p).ImageID = "img02"
		}},
		{name: "inplace/29", state: State{UpdateEnvFromMetadata: true}, edit: func(p *corev1.Pod) { envFrom("E", "metadata.labels['a']")(&p.Spec.Containers[0]) }},
		{name: "6.1.2 env is renewed", state: State{UpdateEnvFromMetadata: true}, edit: func(p *corev1.Pod) {
			envFrom("E", "metadata.labels['a']")(&p.Spec.Containers[0])
			meta(p, "containerd://old", 0)
		}, want: true},
		{name: "6.1.2 env is not renewed", state: State{UpdateEnvFromMetadata: true}, edit: func(p *corev1.Pod) {
			envFrom("E", "metadata.labels['a']")(&p.Spec.Containers[0])
			meta(p, "containerd://old", 0)
			p.Labels["a"] = "later"
		}},
		{name: "inplace/30", want: true},
		{name: "inplace/31", state: resized, edit: resources, gates: vertical()},
		{name: "inplace/31 gate off", state: resized, edit: resources, want: true},
		{name: "6.2 resources of others do not count", gates: vertical(), state: State{UpdateResources: true, ContainerBatchesRecord: []BatchRecord{{Containers: []string{"c2"}}}}, edit: func(p *corev1.Pod) {
			resources(p)
			p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{Name: "c2"})
		}, want: true},
		{name: "6.1.3 without a status", gates: vertical(), state: resized, edit: func(p *corev1.Pod) { p.Status.ContainerStatuses = nil }},
		{name: "inplace/51", state: ours, edit: func(p *corev1.Pod) { status(p).ContainerID = "containerd://new" }, want: true},
		{name: "PF-IP-2 the container is still the recorded one", state: ours, edit: func(p *corev1.Pod) { status(p).Image = "foo:2" }},
		{name: "PF-IP-2 the new container does not run yet", state: ours, edit: func(p *corev1.Pod) {
			status(p).ContainerID = "containerd://new"
			status(p).State = corev1.ContainerState{}
		}},
		{name: "6.2 not started", state: ours, edit: func(p *corev1.Pod) { status(p).ContainerID = ""; status(p).Image = "foo:2" }},
		{name: "6.2 the kubelet has not seen the change", state: ours, edit: func(p *corev1.Pod) {
			status(p).ContainerID, p.Generation, p.Status.ObservedGeneration = "containerd://new", 3, 2
		}},
		{name: "6.2 the kubelet has seen the change", state: ours, edit: func(p *corev1.Pod) {
			status(p).ContainerID, p.Generation, p.Status.ObservedGeneration = "containerd://new", 3, 3
		}, want: true},
		{name: "6.2 a crash of the new container", state: ours, edit: func(p *corev1.Pod) {
			*status(p) = corev1.ContainerStatus{Name: "c1", ContainerID: "containerd://new", ImageID: "img02", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}}
		}, want: true},
		{name: "batches are left", state: State{NextContainerImages: images("c1", "b")}},
		{name: "unreadable", state: "x"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			pod := podOf(tmpl(ctr("c1", "foo:2"), label("a", "b")))
			*status(pod) = corev1.ContainerStatus{
				Name: "c1", Image: "foo:1", ImageID: "img01", ContainerID: "containerd://old", Ready: true,
				State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
			}
			if tc.state != nil {
				withState(t, pod, keys.InPlaceUpdateStateAnnotation, tc.state)
			}
			if tc.edit != nil {
				tc.edit(pod)
			}
			done, why := Complete(pod, tc.gates)
			if done != tc.want || done == (why != "") {
				t.Errorf("complete %v, %q", done, why)
			}
			if old, ok := pod.Annotations[keys.InPlaceUpdateStateAnnotation]; ok {
				t.Run("inplace/59 under the old name", func(t *testing.T) {
					delete(pod.Annotations, keys.InPlaceUpdateStateAnnotation)
					pod.Annotations[keys.InPlaceUpdateStateOldAnnotation] = old
					if again, _ := Complete(pod, tc.gates); again != done {
						t.Errorf("got %v", again)
					}
				})
			}
		})
	}
}

func TestSameImage(t *testing.T) {
	t.Parallel()
	const a = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	const b = "sha256:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
	for _, tc := range []struct {
		spec, status, id string
		want             bool
	}{
		{"app", "docker.io/library/app:latest", "", true},
		{"localhost:5000/app", "localhost:5000/app:latest", "", true},
		{"localhost:5000/app:1", "localhost:5000/app", "", false},
		{"x:1", "docker.io/library/x:1", "", true},
		{"x:1", "docker.io/library/x:2", "", false},
		{"x:1", "docker.io/other/x:1", "", false},
		{"x@" + a, "docker.io/library/x@" + a, "", true},
		{"x:1@" + a, "docker.io/library/x@" + a, "", true},
		{"x@" + a, "docker.io/library/x@" + b, "", false},
		{"x@" + a, "docker.io/library/x:1", "docker.io/library/x@" + a, true},
		{"x@" + a, "docker.io/library/x:1", "docker-pullable://x@" + a, true},
		{"x@" + a, "docker.io/library/x:1", "docker.io/library/y@" + a, false},
		{"x:1", "docker.io/library/x:1@" + a, "", true},
		{"x", "docker.io/library/x@" + a, "", false},
		{"x:1", a, "", false},
		{"UPPER", "UPPER", "", true},
		{"UPPER", "upper", "", false},
	} {
		t.Run("PF-IP-1 "+tc.spec+" shown as "+tc.status+" with id "+tc.id, func(t *testing.T) {
			t.Parallel()
			if got := sameImage(tc.spec, tc.status, tc.id); got != tc.want {
				t.Errorf("got %v", got)
			}
		})
	}
}
