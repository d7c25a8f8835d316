package e2e

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// S-CS-7: labels, annotations and images of the template change in place; what else changes makes new pods under
// InPlaceIfPossible, and is refused with nothing written under InPlaceOnly.
func TestSCS7InPlaceOrNot(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.create("app", "app")
	before := s.pods()

	s.patch("app", `{"spec":{"template":{"metadata":{"labels":{"tier":"front"},"annotations":{"owner":"shop"}}}}}`)
	s.kubectl("kruise", "rollout", "cloneset/app")
	labelled := s.pods()
	if diff := cmp.Diff(identities(before), identities(labelled)); diff != "" {
		t.Errorf("pods before and after a change of labels: -before +after\n%s", diff)
	}
	for name, pod := range labelled {
		if pod.Labels["tier"] != "front" || pod.Annotations["owner"] != "shop" || restarts(pod)["app"] != 0 {
			t.Errorf("%s has labels %v, annotations %v, restarts %v", name, pod.Labels, pod.Annotations, restarts(pod))
		}
	}

	s.patch("app", `{"spec":{"updateStrategy":{"type":"InPlaceOnly"}}}`)
	s.kubectl("patch", "cloneset", "app", "--type=json", "-p", `[{"op":"add","path":"/spec/template/spec/containers/0/env","value":[{"name":"A","value":"b"}]}]`)
	if out, code := s.try("kruise", "rollout", "cloneset/app"); code != 2 || !strings.Contains(out, "env") {
		t.Errorf("an environment under InPlaceOnly: exit code %d, want 2\n%s", code, out)
	}
	if diff := cmp.Diff(identities(before), identities(s.pods())); diff != "" {
		t.Errorf("pods before and after the refusal: -before +after\n%s", diff)
	}

	s.patch("app", `{"spec":{"updateStrategy":{"type":"InPlaceIfPossible"}}}`)
	s.kubectl("kruise", "rollout", "cloneset/app")
	for name, pod := range s.pods() {
		if before[name] != nil || len(pod.Spec.Containers[0].Env) == 0 {
			t.Errorf("%s: an old pod, or one without the new environment", name)
		}
	}
}

// S-CS-10: the order follows weights, a labelled class is spread, and paused stops everything.
func TestSCS10OrderAndPause(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.apply("app")
	s.patch("app", `{"spec":{"replicas":4,"updateStrategy":{"maxUnavailable":"100%"}}}`)
	s.kubectl("kruise", "rollout", "cloneset/app")
	before := s.pods()
	names := slices.Sorted(maps.Keys(before))
	updated := func(image string) []string {
		var list []string
		for name, pod := range s.pods() {
			if pod.Spec.Containers[0].Image == image {
				list = append(list, name)
			}
		}
		slices.Sort(list)
		return list
	}

	s.patch("app", `{"spec":{"updateStrategy":{"paused":true}}}`)
	if out, code := s.try("kruise", "rollout", "cloneset/app", "--image", "app=lab/app:2", "--partition", "3"); code != 5 {
		t.Errorf("exit code %d of a paused set, want 5\n%s", code, out)
	}
	if got := updated("lab/app:2"); len(got) > 0 {
		t.Errorf("%v are updated though the set is paused", got)
	}

	favourite := names[len(names)-1]
	s.kubectl("label", "pod", favourite, "canary=true")
	s.patch("app", `{"spec":{"updateStrategy":{"priorityStrategy":{"weightPriority":[{"weight":50,"matchSelector":{"matchLabels":{"canary":"true"}}}]}}}}`)
	s.kubectl("kruise", "rollout", "resume", "cloneset/app")
	if diff := cmp.Diff([]string{favourite}, updated("lab/app:2")); diff != "" {
		t.Errorf("updated first: -want +got\n%s", diff)
	}

	s.kubectl("kruise", "rollout", "cloneset/app", "--partition", "0")
	for _, name := range names[:2] {
		s.kubectl("label", "pod", name, "class=a")
	}
	s.patch("app", `{"spec":{"updateStrategy":{"priorityStrategy":null,"scatterStrategy":[{"key":"class","value":"a"}]}}}`)
	s.kubectl("kruise", "rollout", "cloneset/app", "--image", "app=lab/app:3", "--partition", "2")
	half := updated("lab/app:3")
	inClass := 0
	for _, name := range half {
		if slices.Contains(names[:2], name) {
			inClass++
		}
	}
	if len(half) != 2 || inClass != 1 {
		t.Errorf("%v are updated first, %d of them of the class %v, want one of two", half, inClass, names[:2])
	}
	if diff := cmp.Diff(identities(before), identities(s.pods())); diff != "" {
		t.Errorf("pods: -before +after\n%s", diff)
	}
}

// A batch fails by an image that cannot be pulled or by a container that crashes: the run ends with the container's own
// words, either paused with the other pods untouched, or with the touched pods taken back.
func TestFailedBatch(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, image, onFailure, says string }{
		{"an image that cannot be pulled, stop", "lab/app:nosuch", "stop", "lab/app:nosuch"},
		{"a crash, undo", "lab/crash:1", "undo", "CrashLoopBackOff"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newSpace(t)
			s.apply("app")
			s.patch("app", `{"spec":{"minReadySeconds":5}}`)
			s.kubectl("kruise", "rollout", "cloneset/app")
			before := s.pods()

			out, code := s.try("kruise", "rollout", "cloneset/app", "--image", "app="+tt.image, "--batches", "1,100%", "--on-failure", tt.onFailure)
			if code != 3 || !strings.Contains(out, "failed: batch 1 of 2") || !strings.Contains(out, tt.says) {
				t.Fatalf("exit code %d, want 3 and %q\n%s", code, tt.says, out)
			}
			touched := 0
			for _, pod := range s.pods() {
				if pod.Spec.Containers[0].Image == tt.image {
					touched++
				}
			}
			set := s.cloneset("app")
			got := fmt.Sprintf("%d pods of the new image, paused %v", touched, set.Spec.UpdateStrategy.Paused)
			want := "1 pods of the new image, paused true"
			if tt.onFailure == "undo" {
				want = "0 pods of the new image, paused false"
			}
			if got != want {
				t.Errorf("got %s, want %s\n%s", got, want, out)
			}
			if tt.onFailure == "stop" {
				s.kubectl("kruise", "rollout", "undo", "cloneset/app")
			}
			s.settle("app")
			if diff := cmp.Diff(identities(before), identities(s.pods())); diff != "" {
				t.Errorf("pods: -before +after\n%s", diff)
			}
		})
	}
}
