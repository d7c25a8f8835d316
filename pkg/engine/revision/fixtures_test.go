package revision_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/revision"
)

// workload is the part of a CloneSet or StatefulSet of any version that revisions depend on.
type workload struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Selector             *metav1.LabelSelector          `json:"selector"`
		Template             corev1.PodTemplateSpec         `json:"template"`
		VolumeClaimTemplates []corev1.PersistentVolumeClaim `json:"volumeClaimTemplates"`
	} `json:"spec"`
	Status struct {
		CollisionCount *int32 `json:"collisionCount"`
		UpdateRevision string `json:"updateRevision"`
	} `json:"status"`
}

func (w *workload) input(t *testing.T, revs []*appsv1.ControllerRevision) revision.Input {
	t.Helper()
	selector, err := metav1.LabelSelectorAsSelector(w.Spec.Selector)
	if err != nil {
		t.Fatal(err)
	}
	return revision.Input{
		APIVersion: w.APIVersion, Kind: w.Kind, Namespace: w.Namespace, Name: w.Name, UID: w.UID,
		Annotations: w.Annotations, Selector: selector, Template: &w.Spec.Template,
		ClaimTemplates: w.Spec.VolumeClaimTemplates, HashClaims: w.Kind == "CloneSet",
		CollisionCount: w.Status.CollisionCount, Revisions: revs,
	}
}

// read decodes all documents of the files that match the pattern below the folder with what a real OpenKruise wrote.
func read[T any](t *testing.T, pattern string) []*T {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("../../../testdata", pattern))
	if err != nil {
		t.Fatal(err)
	}
	var list []*T
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, doc := range strings.Split(string(text), "\n---\n") {
			object := new(T)
			if err := yaml.Unmarshal([]byte(doc), object); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			list = append(list, object)
		}
	}
	if len(list) == 0 {
		t.Fatalf("nothing matches %s", pattern)
	}
	return list
}

func revisions(t *testing.T, stage string) []*appsv1.ControllerRevision {
	t.Helper()
	return read[appsv1.ControllerRevision](t, filepath.Join(stage, "*controllerrevisions.yaml"))
}

var stages = []string{
	"openkruise/1-created", "openkruise/2-recreating", "openkruise/3-updated",
	"openkruise-more/1-created", "openkruise-more/2-hooks-holding", "openkruise-more/3-settled",
}

// TestRecordedNames checks the bytes and names of all revisions that OpenKruise wrote for CloneSets and StatefulSets.
func TestRecordedNames(t *testing.T) {
	t.Parallel()
	for _, stage := range stages {
		for _, rev := range revisions(t, stage) {
			owner := metav1.GetControllerOf(rev)
			if owner.Kind != "CloneSet" && owner.Kind != "StatefulSet" {
				continue
			}
			t.Run(stage+"/"+rev.Name, func(t *testing.T) {
				t.Parallel()
				template, err := revision.Template(rev)
				if err != nil {
					t.Fatal(err)
				}
				data, err := revision.FromTemplate(template)
				if err != nil {
					t.Fatal(err)
				}
				if string(data) != string(rev.Data.Raw) {
					t.Errorf("data is\n%s\nOpenKruise wrote\n%s", data, rev.Data.Raw)
				}
				if name := revision.Name(owner.Name, revision.Hash(data, 0)); name != rev.Name {
					t.Errorf("name is %s, OpenKruise chose %s", name, rev.Name)
				}
			})
		}
	}
}

// TestTakeOver checks that each recorded workload keeps the revision that OpenKruise gave it, without a write.
func TestTakeOver(t *testing.T) {
	t.Parallel()
	t.Run("cloneset/60", func(t *testing.T) {
		t.Parallel()
		for _, stage := range stages {
			list := read[workload](t, filepath.Join(stage, "*clonesets.yaml"))
			if strings.HasPrefix(stage, "openkruise/") {
				list = append(list, read[workload](t, filepath.Join(stage, "*statefulsets-kruise.yaml"))...)
			}
			for _, w := range list {
				choice, err := revision.Choose(w.input(t, revisions(t, stage)))
				if err != nil {
					t.Fatal(err)
				}
				if choice.Update.Name != w.Status.UpdateRevision || len(choice.Actions) > 0 {
					t.Errorf("%s %s: chose %s with %d actions, OpenKruise has %s",
						stage, w.Name, choice.Update.Name, len(choice.Actions), w.Status.UpdateRevision)
				}
			}
		}
	})
	t.Run("the same from nothing", func(t *testing.T) {
		t.Parallel()
		for _, stage := range stages {
			for _, w := range read[workload](t, filepath.Join(stage, "*clonesets.yaml")) {
				choice, err := revision.Choose(w.input(t, nil))
				if err != nil {
					t.Fatal(err)
				}
				got := choice.Update
				if !choice.Created || got.Name != w.Status.UpdateRevision || got.Revision != 1 {
					t.Errorf("%s %s: made %s number %d, OpenKruise made %s",
						stage, w.Name, got.Name, got.Revision, w.Status.UpdateRevision)
				}
				for _, rev := range revisions(t, stage) {
					if rev.Name != got.Name {
						continue
					}
					for k, v := range rev.Annotations {
						if got.Annotations[k] != v && !strings.HasPrefix(k, "kubectl.kubernetes.io/") {
							t.Errorf("%s %s: annotation %s is %q, OpenKruise wrote %q", stage, w.Name, k, got.Annotations[k], v)
						}
					}
					for k, v := range got.Labels {
						if rev.Labels[k] != v {
							t.Errorf("%s %s: label %s is %q, OpenKruise wrote %q", stage, w.Name, k, v, rev.Labels[k])
						}
					}
				}
			}
		}
	})
}

func set(kv ...string) labels.Set {
	s := labels.Set{}
	for i := 0; i < len(kv); i += 2 {
		s[kv[i]] = kv[i+1]
	}
	return s
}
