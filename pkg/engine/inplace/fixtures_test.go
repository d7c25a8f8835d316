package inplace

import (
	"encoding/json"
	"hash/fnv"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/dump"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/features"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
)

// recorded reads the pods that ran under a real OpenKruise.
func recorded(t *testing.T, pattern string) []*corev1.Pod {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("../../../testdata", pattern))
	if err != nil {
		t.Fatal(err)
	}
	var pods []*corev1.Pod
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, doc := range strings.Split(string(text), "\n---\n") {
			pod := &corev1.Pod{}
			if err := yaml.Unmarshal([]byte(doc), pod); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			pods = append(pods, pod)
		}
	}
	if len(pods) == 0 {
		t.Fatalf("nothing matches %s", pattern)
	}
	return pods
}

// allOn are the gates of the recorded cluster.
func allOn(t *testing.T) features.Gates {
	t.Helper()
	gates, err := features.Parse("AllAlpha=true,AllBeta=true,EnableExternalCerts=false,TemplateNoDefaults=false")
	if err != nil {
		t.Fatal(err)
	}
	return gates
}

func TestRecordedStateKeepsItsBytes(t *testing.T) {
	t.Parallel()
	seen := 0
	for _, pod := range append(recorded(t, "openkruise/*/fx-pods.yaml"), recorded(t, "openkruise-more/*/pods.yaml")...) {
		state, found, err := ParseState(pod)
		if err != nil {
			t.Fatal(err)
		}
		if !found {
			continue
		}
		seen++
		text, err := json.Marshal(state)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(pod.Annotations[keys.InPlaceUpdateStateAnnotation], string(text)); diff != "" {
			t.Errorf("%s (-OpenKruise +ours)\n%s", pod.Name, diff)
		}
	}
	if seen < 5 {
		t.Errorf("only %d recorded states", seen)
	}
}

func TestRecordedHashes(t *testing.T) {
	t.Parallel()
	plain, env := 0, 0
	for _, pod := range append(recorded(t, "openkruise/*/fx-pods.yaml"), recorded(t, "openkruise-more/*/pods.yaml")...) {
		meta, err := ParseRuntimeMeta(pod)
		if err != nil {
			t.Fatal(err)
		}
		if meta == nil {
			continue
		}
		for i := range pod.Spec.Containers {
			c := &pod.Spec.Containers[i]
			r := meta.of(pod, c.Name)
			if r == nil {
				continue
			}
			plain++
			if got := PlainHash(c); got != r.Hashes.PlainHash {
				t.Errorf("%s container %s: plain hash %d, the kubelet has %d", pod.Name, c.Name, got, r.Hashes.PlainHash)
			}
			if r.Hashes.ExtractedEnvFromMetadataHash == 0 {
				continue
			}
			env++
			if got := EnvHash(pod, c); got != r.Hashes.ExtractedEnvFromMetadataHash {
				t.Errorf("%s container %s: env hash %d, the daemon has %d", pod.Name, c.Name, got, r.Hashes.ExtractedEnvFromMetadataHash)
			}
		}
	}
	if plain < 20 || env < 20 {
		t.Errorf("only %d plain and %d env hashes compared", plain, env)
	}
}

// TestTakeOver checks that pods of settled stages are complete and want nothing.
func TestTakeOver(t *testing.T) {
	t.Parallel()
	gates := allOn(t)
	for _, stage := range []string{"openkruise/1-created/fx-pods.yaml", "openkruise/3-updated/fx-pods.yaml", "openkruise-more/3-settled/pods.yaml"} {
		for _, pod := range recorded(t, stage) {
			if done, why := Complete(pod, gates); !done {
				t.Errorf("%s %s is not complete: %s", stage, pod.Name, why)
			}
			step, err := Refresh(pod, nil, Options{Gates: gates}, start)
			if err != nil || step.Kind != StepNone {
				t.Errorf("%s %s wants %s (%v)", stage, pod.Name, step.Kind, err)
			}
		}
	}
}

func TestDeepHash(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.String().Draw(t, "value")
		encoded, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		sum := fnv.New32a()
		sum.Write([]byte(dump.ForHash(encoded)))
		if got, want := deepHash(value), uint64(sum.Sum32()); got != want {
			t.Fatalf("hash is %d, Kubernetes has %d", got, want)
		}
	})
}
