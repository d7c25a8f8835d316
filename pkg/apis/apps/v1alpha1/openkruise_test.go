package v1alpha1_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	yamlstream "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1alpha1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/features"
)

// stored are the CloneSets that a running OpenKruise wrote.
func stored(t *testing.T) []*v1beta1.CloneSet {
	t.Helper()
	files, err := filepath.Glob("../../../../testdata/openkruise*/*/*clonesets*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recorded CloneSets: %v", err)
	}
	var sets []*v1beta1.CloneSet
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
			set := &v1beta1.CloneSet{}
			if err := yaml.UnmarshalStrict(document[:n], set); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			if set.Kind == v1beta1.CloneSetKind {
				sets = append(sets, set)
			}
		}
	}
	return sets
}

// A set that OpenKruise stored has no field that we do not know, already has
// our defaults, and survives a round trip through v1alpha1.
func TestStoredByOpenKruise(t *testing.T) {
	t.Parallel()
	for _, set := range stored(t) {
		defaulted := set.DeepCopy()
		v1beta1.SetCloneSetAdmissionDefaults(defaulted, nil, features.Defaults())
		if diff := cmp.Diff(set, defaulted); diff != "" {
			t.Errorf("%s: defaults change what OpenKruise defaulted (-stored +ours):\n%s", set.Name, diff)
		}
		back := v1alpha1.CloneSetToHub(v1alpha1.CloneSetFromHub(set))
		if diff := cmp.Diff(plainHub(set), plainHub(back), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: round trip (-stored +ours):\n%s", set.Name, diff)
		}
	}
}

// A manifest that was applied, in either version, becomes what OpenKruise
// stored. Later generations were changed by other means than apply.
func TestAppliedToOpenKruise(t *testing.T) {
	t.Parallel()
	compared := map[string]int{}
	for _, set := range stored(t) {
		manifest := []byte(set.Annotations[corev1.LastAppliedConfigAnnotation])
		if set.Generation != 1 || len(manifest) == 0 {
			continue
		}
		var meta metav1.TypeMeta
		if err := yaml.Unmarshal(manifest, &meta); err != nil {
			t.Fatalf("%s: %v", set.Name, err)
		}
		got := &v1beta1.CloneSet{}
		if meta.APIVersion == v1alpha1.SchemeGroupVersion.String() {
			applied := &v1alpha1.CloneSet{}
			if err := yaml.UnmarshalStrict(manifest, applied); err != nil {
				t.Fatalf("%s: %v", set.Name, err)
			}
			v1alpha1.SetCloneSetAdmissionDefaults(applied, nil, features.Defaults())
			got = v1alpha1.CloneSetToHub(applied)
		} else {
			if err := yaml.UnmarshalStrict(manifest, got); err != nil {
				t.Fatalf("%s: %v", set.Name, err)
			}
			v1beta1.SetCloneSetAdmissionDefaults(got, nil, features.Defaults())
		}
		compared[meta.APIVersion]++
		if diff := cmp.Diff(set.Spec, got.Spec, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: spec (-stored +ours):\n%s", set.Name, diff)
		}
	}
	for _, version := range []string{"apps.kruise.io/v1alpha1", "apps.kruise.io/v1beta1"} {
		if compared[version] == 0 {
			t.Errorf("no recorded CloneSet was applied as %s", version)
		}
	}
}
