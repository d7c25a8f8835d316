package launchorder

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
)

// stored reads the objects of one file that a running OpenKruise wrote.
func stored[T any](t *testing.T, stage, file string) []T {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("../../../testdata/openkruise-more", stage, file))
	if err != nil {
		t.Fatal(err)
	}
	var items []T
	for _, doc := range bytes.Split(raw, []byte("\n---\n")) {
		var item T
		if err := yaml.Unmarshal(doc, &item); err != nil {
			t.Fatal(err)
		}
		items = append(items, item)
	}
	return items
}

func TestTakeover(t *testing.T) {
	t.Parallel()
	for _, stage := range []string{"1-created", "2-hooks-holding", "3-settled"} {
		barriers := map[string]*corev1.ConfigMap{}
		for _, c := range stored[corev1.ConfigMap](t, stage, "configmaps.yaml") {
			barriers[c.Name] = &c
		}
		found := 0
		for _, p := range stored[corev1.Pod](t, stage, "pods.yaml") {
			if !Ordered(&p) {
				continue
			}
			found++
			out := Decide(World{Now: start, Pod: &p, Barrier: barriers[BarrierName(p.Name)]})
			if !out.Done || !out.Empty() {
				t.Errorf("%s %s: not settled: %v", stage, p.Name, does(t, &out.Plan))
			}
			again := p
			if _, _, err := Mutate(&again, Options{}); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(p.Spec, again.Spec); diff != "" {
				t.Errorf("%s %s: our variables differ from OpenKruise's: %s", stage, p.Name, diff)
			}
			fresh := *p.DeepCopy()
			delete(fresh.Annotations, keys.LaunchCompletedAnnotation)
			fresh.Status = corev1.PodStatus{}
			made := Decide(World{Now: start, Pod: &fresh}).Actions()[0].Object.(*corev1.ConfigMap)
			if diff := cmp.Diff(barriers[made.Name].OwnerReferences, made.OwnerReferences); diff != "" {
				t.Errorf("%s %s: our owner differs from OpenKruise's: %s", stage, p.Name, diff)
			}
		}
		if found != 2 {
			t.Errorf("%s: %d pods with an order, want gx-ordered and gx-env", stage, found)
		}
	}
}
