package e2e

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/google/go-cmp/cmp"
)

// identity is what an in-place update leaves as it is.
type identity struct{ UID, IP, Node string }

func identities(pods map[string]*corev1.Pod) map[string]identity {
	ids := map[string]identity{}
	for name, p := range pods {
		ids[name] = identity{string(p.UID), p.Status.PodIP, p.Spec.NodeName}
	}
	return ids
}

// create applies a manifest and lets the verb bring it up.
func (s *space) create(manifest, set string) {
	s.Helper()
	s.apply(manifest)
	s.kubectl("kruise", "rollout", "cloneset/"+set)
	s.settle(set)
}

// S-CS-6: a changed image under InPlaceIfPossible.
func TestSCS6InPlace(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.create("app", "app")
	before := s.pods()

	s.kubectl("kruise", "rollout", "cloneset/app", "--image", "app=lab/app:2")
	set := s.cloneset("app")
	after := s.pods()
	if diff := cmp.Diff(identities(before), identities(after)); diff != "" {
		t.Errorf("pods before and after: -before +after\n%s", diff)
	}
	for name, pod := range after {
		if diff := cmp.Diff(map[string]int32{"app": 1, "side": 0}, restarts(pod)); diff != "" {
			t.Errorf("restarts of %s: -want +got\n%s", name, diff)
		}
		if image := pod.Spec.Containers[0].Image; image != "lab/app:2" || !isReady(pod) {
			t.Errorf("the rollout has ended, but %s runs %s, ready since %v", name, image, readySince(pod))
		}
	}
	s.until("there are events", func() (bool, string) {
		got := s.events("CloneSet", "app")
		for name := range after {
			want := fmt.Sprintf("Normal SuccessfulUpdatePodInPlace from cloneset-controller: successfully update pod %s in-place(revision %s)", name, set.Status.UpdateRevision)
			if got[want] != 1 {
				return false, fmt.Sprintf("%q is missing or repeated in %v", want, got)
			}
		}
		return true, ""
	})
}

// S-CS-9: a partition holds pods back, as a number and as a percentage.
func TestSCS9Partition(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.apply("cs-demo")
	s.patch("cs-demo", `{"spec":{"replicas":4,"updateStrategy":{"type":"InPlaceIfPossible"}}}`)
	s.kubectl("kruise", "rollout", "cloneset/cs-demo")

	steps := []struct {
		args    []string
		updated int
	}{
		{[]string{"--image", "nginx=nginx:1.27", "--partition", "75%"}, 1},
		{[]string{"--partition", "2"}, 2},
		{[]string{"--partition", "1%"}, 3}, // 1 % of 4 rounds up to one
		{[]string{"--partition", "0"}, 4},
	}
	for _, step := range steps {
		s.kubectl(append([]string{"kruise", "rollout", "cloneset/cs-demo"}, step.args...)...)
		set := s.cloneset("cs-demo")
		if got := hashes(s)[set.Status.UpdateRevision]; got != step.updated {
			t.Errorf("after %v: %d pods at %s, want %d: %v", step.args, got, set.Status.UpdateRevision, step.updated, hashes(s))
		}
		images := map[string]int{}
		for _, p := range s.pods() {
			images[p.Spec.Containers[0].Image]++
		}
		if images["nginx:1.27"] != step.updated || images["nginx:alpine"] != 4-step.updated {
			t.Errorf("after %v: %v, want %d updated", step.args, images, step.updated)
		}
	}
}

// hashes counts the pods by the column that `-L controller-revision-hash` adds.
func hashes(s *space) map[string]int {
	s.Helper()
	counts := map[string]int{}
	for _, line := range strings.Split(strings.TrimSpace(s.kubectl("get", "pods", "-L", "controller-revision-hash")), "\n")[1:] {
		fields := strings.Fields(line)
		counts[fields[len(fields)-1]]++
	}
	return counts
}

// An image that cannot be pulled: the rollout waits, in the container's own words, and names the way back. Nobody else's
// pod is touched, and the way back works.
func TestAnImageThatCannotBePulled(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.create("app", "app")
	before := s.pods()

	h := s.record()
	p := s.start("kruise", "rollout", "cloneset/app", "--image", "app=lab/app:nosuch")
	quoted := regexp.MustCompile(`(?m)(?:ErrImagePull|ImagePullBackOff) for \S+: "(.*)"$`)
	s.until("the container's message is quoted", func() (bool, string) {
		for _, m := range quoted.FindAllStringSubmatch(p.output(), -1) {
			if messages := h.waiting(); messages[m[1]] && strings.Contains(m[1], "lab/app:nosuch") {
				return true, ""
			}
		}
		return p.ended(), fmt.Sprintf("%s\nmessages of the containers: %v", p.output(), h.waiting())
	})
	s.until("the way back is named", func() (bool, string) {
		return strings.Contains(p.output(), "kubectl kruise rollout cloneset/app -n "+s.name+" --image app=lab/app:1") || p.ended(), p.output()
	})
	if p.ended() {
		t.Fatalf("the rollout ended:\n%s", p.output())
	}
	p.signal(s, syscall.SIGINT)
	if code := p.code(s); code != 130 {
		t.Errorf("exit code %d after Ctrl-C, want 130\n%s", code, p.output())
	}
	var touched []string
	for name, pod := range s.pods() {
		if pod.Spec.Containers[0].Image != "lab/app:1" {
			touched = append(touched, name)
		} else if !isReady(pod) {
			t.Errorf("%s was not to be touched, but is not ready", name)
		}
	}
	if len(touched) != 1 {
		t.Errorf("touched under maxUnavailable 20%% of 3: %v, want one pod", touched)
	}

	s.kubectl("kruise", "rollout", "cloneset/app", "--image", "app=lab/app:3")
	after := s.pods()
	if diff := cmp.Diff(identities(before), identities(after)); diff != "" {
		t.Errorf("pods before and after: -before +after\n%s", diff)
	}
}

// kubectl patch with the foreground loop does what the verb does: an image patched by index moves pods in place.
func TestPatchedImageWithTheLoop(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.reconcile()
	s.apply("app")
	s.settle("app")
	before, h := s.pods(), s.record()

	patch, err := json.Marshal([]map[string]string{{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "lab/app:4"}})
	if err != nil {
		t.Fatal(err)
	}
	s.kubectl("patch", "cloneset", "app", "--type=json", "-p", string(patch))
	s.until("all pods run the new image", func() (bool, string) {
		set := s.cloneset("app")
		return set.Status.ObservedGeneration == set.Generation && set.Status.UpdatedAvailableReplicas == 3 && set.Status.CurrentRevision == set.Status.UpdateRevision, fmt.Sprintf("%+v", set.Status)
	})
	if diff := cmp.Diff(identities(before), identities(s.pods())); diff != "" {
		t.Errorf("pods before and after: -before +after\n%s", diff)
	}
	moments := h.moments()
	begun := slices.IndexFunc(moments, func(m moment) bool { return len(m.pods) == 3 && m.ready() == 3 })
	for i, m := range moments[max(begun, 0):] {
		if m.ready() < 2 {
			t.Errorf("moment %d: %d pods ready, want at least 2", i+begun, m.ready())
		}
	}
}
