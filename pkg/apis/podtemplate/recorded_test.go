package podtemplate_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	yamlstream "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/podtemplate"
)

// A pod that came from a real API server lacks none of its defaults.
func TestRecordedPodsHaveTheDefaults(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../../testdata/openkruise*/*/*pods.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recorded pods: %v", err)
	}
	compared := 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		documents := yamlstream.NewDocumentDecoder(io.NopCloser(bytes.NewReader(data)))
		for {
			document := make([]byte, len(data))
			n, err := documents.Read(document)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			pod := &corev1.Pod{}
			if err := yaml.Unmarshal(document[:n], pod); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			if pod.Kind != "Pod" {
				continue
			}
			compared++
			defaulted := pod.DeepCopy()
			podtemplate.SetPodDefaults(&defaulted.Spec)
			if diff := cmp.Diff(pod.Spec, defaulted.Spec); diff != "" {
				t.Errorf("%s: %s (-recorded +ours):\n%s", file, pod.Name, diff)
			}
		}
	}
	if compared == 0 {
		t.Error("the recorded files hold no pod")
	}
}
