package inplace

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/features"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
)

func TestBatches(t *testing.T) {
	t.Parallel()
	shared := map[string]RefMetadata{"c2": ref("k2", "v"), "c3": ref("k2", "v")}
	k2 := envFrom("K2", "metadata.labels['k2']")
	for _, tc := range []struct {
		name string
		pod  *corev1.Pod
		work Work
		want [][]string
	}{
		{
			"inplace/33 and 35", podOf(tmpl(ctr("c1", "a", barrier("p_20")), ctr("c2", "b", barrier("p_10")))),
			Work{Images: images("c1", "a2", "c2", "b2")}, [][]string{{"c1"}, {"c2"}},
		},
		{
			"inplace/36", podOf(tmpl(ctr("c1", "a", barrier("p_20")), ctr("c2", "b", barrier("p_10")), ctr("c4", "d", barrier("p_0")))),
			Work{Images: images("c1", "a2", "c2", "b2", "c4", "d2")}, [][]string{{"c1"}, {"c2"}, {"c4"}},
		},
		{
			"inplace/37", podOf(tmpl(ctr("c1", "a", barrier("p_20")), ctr("c2", "b", barrier("p_10"), k2), ctr("c3", "c", barrier("p_0"), k2), ctr("c4", "d", barrier("p_0")))),
			Work{Images: images("c1", "a2", "c4", "d2"), RefMetadata: shared}, [][]string{{"c1"}, {"c2", "c3"}, {"c4"}},
		},
		{
			"inplace/38", podOf(tmpl(ctr("nginx", "a", barrier("p_0")), ctr("redis", "b", barrier("p_10")))),
			Work{Images: images("nginx", "a2", "redis", "b2")}, [][]string{{"redis"}, {"nginx"}},
		},
		{
			"inplace/40", podOf(tmpl(ctr("nginx", "a", barrier("p_0")), ctr("redis", "b", barrier("p_10"), k2))),
			Work{Images: images("nginx", "a2"), RefMetadata: map[string]RefMetadata{"redis": ref("k2", "v")}}, [][]string{{"redis"}, {"nginx"}},
		},
		{
			"inplace/41", podOf(tmpl(ctr("b", "a"), ctr("a", "b"))),
			Work{Images: images("a", "a2", "b", "b2")}, [][]string{{"a", "b"}},
		},
		{
			"inplace/42", podOf(tmpl(ctr("c1", "a", barrier("p_20")), ctr("c2", "b", barrier("p_10"), requests("cpu", "1")))),
			Work{Images: images("c1", "a2"), Resources: map[string]corev1.ResourceRequirements{"c2": {Requests: list("cpu", "2")}}}, [][]string{{"c1"}, {"c2"}},
		},
		{
			"PF-IP-7 a container that does not change is not touched", podOf(tmpl(ctr("c1", "a", barrier("p_20")), ctr("c2", "b", barrier("p_10")))),
			Work{Images: images("c2", "b2")}, [][]string{{"c2"}},
		},
		{
			"5.2 without a priority, and one that cannot be read", podOf(tmpl(ctr("c1", "a"), ctr("c2", "b", barrier("p_1")), ctr("c3", "c", barrier("x")))),
			Work{Images: images("c1", "a2", "c2", "b2", "c3", "c2")}, [][]string{{"c1", "c2"}, {"c3"}},
		},
		{
			"5 containers that the pod does not have", podOf(tmpl(ctr("c1", "a"))),
			Work{Images: images("c1", "a2", "ghost", "b2")}, [][]string{{"c1"}},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			spec := &Spec{Revision: "web-new", Work: tc.work, EnvFromMetadata: len(tc.work.RefMetadata) > 0}
			pod := begin(t, tc.pod, spec, onServer, start)
			for range len(tc.want) {
				pod = finish(t, pod)
				if kind, after := step(t, pod, onServer, start); kind == StepNextBatch {
					pod = after
				}
			}
			if diff := cmp.Diff(tc.want, batches(t, pod)); diff != "" {
				t.Errorf("batches (-want +got)\n%s", diff)
			}
			pod = finish(t, pod)
			kind, pod := step(t, pod, onServer, start)
			if kind != StepReady && len(tc.work.Resources) == 0 {
				t.Errorf("after the last batch comes %q", kind)
			}
			if done, why := Complete(pod, vertical()); !done {
				t.Errorf("not complete: %s", why)
			}
			for name, image := range tc.work.Images {
				if got := specImage(pod, name); got != image && got != "" {
					t.Errorf("container %s has image %s, want %s", name, got, image)
				}
			}
			for i := range pod.Status.ContainerStatuses {
				status := &pod.Status.ContainerStatuses[i]
				want := int32(0)
				if tc.work.Images[status.Name] != "" || len(tc.work.RefMetadata[status.Name].Labels) > 0 {
					want = 1
				}
				if status.RestartCount != want {
					t.Errorf("container %s restarted %d times, want %d", status.Name, status.RestartCount, want)
				}
			}
		})
	}
}

// finish lets kubelet and daemon do what the last batch asks for.
func finish(t testing.TB, pod *corev1.Pod) *corev1.Pod {
	t.Helper()
	pod = pod.DeepCopy()
	meta := RuntimeMeta{}
	if old, err := ParseRuntimeMeta(pod); err == nil && old != nil {
		meta = *old
	}
	seen := map[string]uint64{}
	for _, r := range meta.Containers {
		seen[r.Name] = r.Hashes.ExtractedEnvFromMetadataHash
	}
	meta.Containers = nil
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		status := containerStatus(pod, c.Name)
		env, known := seen[c.Name]
		if !known {
			env = EnvHash(&corev1.Pod{}, c)
		}
		if status.Image != c.Image || env != EnvHash(pod, c) {
			run(pod, c.Name)
		}
		status.Resources = c.Resources.DeepCopy()
		meta.Containers = append(meta.Containers, RuntimeContainer{
			Name: c.Name, ContainerID: status.ContainerID,
			Hashes: RuntimeHashes{PlainHash: PlainHash(c), ExtractedEnvFromMetadataHash: EnvHash(pod, c)},
		})
	}
	pod.Status.ObservedGeneration = pod.Generation
	return withState(t, pod, keys.RuntimeContainersMetaAnnotation, meta)
}

func TestNextBatchWaits(t *testing.T) {
	t.Parallel()
	pod := begin(t, podOf(tmpl(ctr("c1", "a", barrier("p_20")), ctr("c2", "b", barrier("p_10")))), &Spec{
		Revision: "web-new", Work: Work{Images: images("c1", "a2", "c2", "b2")}, Meta: metaLabel("general", "1"),
	}, onServer, start)

	t.Run("inplace/33", func(t *testing.T) {
		t.Parallel()
		state := stateOf(t, pod)
		if pod.Labels["general"] != "1" || specImage(pod, "c1") != "a2" || specImage(pod, "c2") != "b" {
			t.Errorf("labels %v, images %s %s", pod.Labels, specImage(pod, "c1"), specImage(pod, "c2"))
		}
		if diff := cmp.Diff(images("c2", "b2"), state.NextContainerImages); diff != "" {
			t.Errorf("next (-want +got)\n%s", diff)
		}
		if diff := cmp.Diff(&PreCheck{ContainersRequiredReady: []string{"c1"}}, state.PreCheckBeforeNext); diff != "" {
			t.Errorf("pre-check (-want +got)\n%s", diff)
		}
	})
	t.Run("inplace/34", func(t *testing.T) {
		t.Parallel()
		unready := pod.DeepCopy()
		run(unready, "c1")
		containerStatus(unready, "c1").Ready = false
		s, err := Refresh(unready, nil, onServer, start)
		if err != nil || s.Kind != StepPending || s.Change != nil || isTrue(unready, keys.InPlaceUpdateReady) {
			t.Errorf("%+v, %v", s, err)
		}
	})
	t.Run("inplace/39", func(t *testing.T) {
		t.Parallel()
		crashing := pod.DeepCopy()
		run(crashing, "c1")
		status := containerStatus(crashing, "c1")
		status.Ready, status.State = false, corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
		kind, after := step(t, crashing, onServer, start)
		if kind != StepPending || containerStatus(after, "c2").RestartCount != 0 {
			t.Errorf("%s", kind)
		}
		if diff := cmp.Diff([][]string{{"c1"}}, batches(t, after)); diff != "" {
			t.Errorf("batches (-want +got)\n%s", diff)
		}
	})
	t.Run("inplace/35", func(t *testing.T) {
		t.Parallel()
		ready := pod.DeepCopy()
		run(ready, "c1")
		kind, after := step(t, ready, onServer, start)
		state := stateOf(t, after)
		if kind != StepNextBatch || specImage(after, "c2") != "b2" || state.PreCheckBeforeNext != nil || state.NextContainerImages != nil {
			t.Errorf("%s, image %s, state %+v", kind, specImage(after, "c2"), state)
		}
		if len(state.LastContainerStatuses) != 2 {
			t.Errorf("last statuses %v", state.LastContainerStatuses)
		}
		if isTrue(after, keys.InPlaceUpdateReady) {
			t.Error("the condition turned True between batches")
		}
	})
}

// TestBatchProperties plays random updates to their end.
func TestBatchProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(rt, "containers")
		var edits []func(*corev1.PodTemplateSpec)
		work := Work{Images: map[string]string{}, RefMetadata: map[string]RefMetadata{}, Resources: map[string]corev1.ResourceRequirements{}}
		priorities := map[string]int{}
		for i := range n {
			name := fmt.Sprintf("c%d", i)
			c := []func(*corev1.Container){requests("cpu", "1")}
			priorities[name] = rapid.IntRange(-1, 3).Draw(rt, "priority")
			if priorities[name] >= 0 {
				c = append(c, barrier(fmt.Sprintf("p_%d", priorities[name])))
			}
			for _, key := range []string{"k1", "k2"} {
				if rapid.IntRange(0, 3).Draw(rt, "reads "+key) == 0 {
					c = append(c, envFrom("E"+key, "metadata.labels['"+key+"']"))
					old := work.RefMetadata[name]
					work.RefMetadata[name] = RefMetadata{Labels: overlay(old.Labels, ref(key, "new").Labels)}
				}
			}
			if rapid.Bool().Draw(rt, "image") {
				work.Images[name] = "new"
			}
			if rapid.IntRange(0, 3).Draw(rt, "resources") == 0 {
				work.Resources[name] = corev1.ResourceRequirements{Requests: list("cpu", "2")}
			}
			edits = append(edits, ctr(name, "old", c...))
		}
		pod := podOf(tmpl(edits...))
		var participants []string
		for name := range priorities {
			if work.names(name) {
				participants = append(participants, name)
			}
		}
		slices.Sort(participants)
		spec := &Spec{Revision: "web-new", Work: work, EnvFromMetadata: len(work.RefMetadata) > 0}
		pod = begin(t, pod, spec, onServer, start)
		for range n + 1 {
			before := pod
			pod = finish(t, pod)
			again, err := Refresh(pod, FactsOf(pod, onServer.Gates), onServer, start)
			if err != nil {
				rt.Fatal(err)
			}
			plain, err := Refresh(pod, nil, onServer, start)
			if err != nil {
				rt.Fatal(err)
			}
			if diff := cmp.Diff(plain, again); diff != "" {
				rt.Fatalf("a step depends on known facts\n%s", diff)
			}
			var kind StepKind
			if kind, pod = step(t, pod, onServer, start); kind != StepNextBatch {
				break
			}
			if isTrue(before, keys.InPlaceUpdateReady) && len(work.Images)+len(work.RefMetadata) > 0 {
				rt.Fatal("the condition is True between batches")
			}
		}
		if done, why := Complete(pod, onServer.Gates); !done || !isTrue(pod, keys.InPlaceUpdateReady) {
			rt.Fatalf("not complete: %s", why)
		}
		var record []string
		for i, batch := range batchesOf(rt, pod) {
			record = append(record, batch...)
			for _, name := range batch {
				if i > 0 && priorities[name] < 0 {
					rt.Fatalf("%s without priority is in batch %d", name, i)
				}
			}
		}
		slices.Sort(record)
		if diff := cmp.Diff(participants, record, cmpopts.EquateEmpty()); diff != "" {
			rt.Fatalf("batches do not partition the participants\n%s", diff)
		}
		for i := range pod.Spec.Containers {
			c := &pod.Spec.Containers[i]
			if want := work.Images[c.Name]; want != "" && c.Image != want {
				rt.Fatalf("%s has image %s", c.Name, c.Image)
			}
			if want := work.Resources[c.Name]; len(want.Requests) > 0 && !hasQuantities(want.Requests, c.Resources.Requests) {
				rt.Fatalf("%s has resources %v", c.Name, c.Resources)
			}
			if restarts := containerStatus(pod, c.Name).RestartCount; restarts > 1 {
				rt.Fatalf("%s restarted %d times", c.Name, restarts)
			}
		}
	})
}

func batchesOf(t *rapid.T, pod *corev1.Pod) [][]string {
	state, found, err := ParseState(pod)
	if err != nil || !found {
		t.Fatalf("state found %v: %v", found, err)
	}
	var record [][]string
	for _, b := range state.ContainerBatchesRecord {
		record = append(record, b.Containers)
	}
	return record
}

func BenchmarkRefreshUntouched(b *testing.B) {
	pod := podOf(tmpl(ctr("c1", "a"), label("a", "1"), label("b", "2"), annotation("c", "3"), annotation("d", "4")))
	gates := features.Defaults()
	o := Options{Gates: gates}
	for b.Loop() {
		if s, err := Refresh(pod, nil, o, start); err != nil || s.Kind != StepNone {
			b.Fatal(s, err)
		}
	}
}

func BenchmarkFactsUpdated(b *testing.B) {
	pod := begin(b, podOf(tmpl(ctr("c1", "a"))), imageSpec("c1", "b"), onServer, start)
	pod = finish(b, pod)
	for b.Loop() {
		if done, why := FactsOf(pod, onServer.Gates).Complete(); !done {
			b.Fatal(why)
		}
	}
}

func BenchmarkEligible(b *testing.B) {
	old, updated := rev(b, "web-old", tmpl(ctr("c1", "a"))), rev(b, "web-new", tmpl(ctr("c1", "b")))
	for b.Loop() {
		if _, obstacle := Eligible(old, updated, Options{}); obstacle != nil {
			b.Fatal(obstacle)
		}
	}
}
