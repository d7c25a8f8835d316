package cloneset

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/features"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
)

// fixtures are objects that a running OpenKruise wrote; the gates are those it ran with (see their README).
const fixtures = "../../../testdata/openkruise"

const fixtureGates = "AllAlpha=true,AllBeta=true,EnableExternalCerts=false,TemplateNoDefaults=false"

var fixtureTime = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// load reads all objects of a YAML file.
func load[T any](t *testing.T, path ...string) []*T {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(append([]string{fixtures}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	var list []*T
	for _, doc := range bytes.Split(data, []byte("\n---\n")) {
		object := new(T)
		if err := yaml.Unmarshal(doc, object); err != nil {
			t.Fatalf("%v: %v", path, err)
		}
		list = append(list, object)
	}
	return list
}

// takenOver is the world of a set of the fixtures. The spec may come from another stage than the pods.
func takenOver(t *testing.T, name, specStage, podStage string) World {
	t.Helper()
	gates, err := features.Parse(fixtureGates)
	if err != nil {
		t.Fatal(err)
	}
	w := World{Now: fixtureTime, Gates: gates, OwnerAPIVersion: "apps.kruise.io/v1beta1"}
	for _, set := range load[v1beta1.CloneSet](t, specStage, "fx-clonesets.yaml") {
		if set.Name == name {
			w.Set = set
		}
	}
	for _, pod := range load[corev1.Pod](t, podStage, "fx-pods.yaml") {
		if metav1.IsControlledBy(pod, w.Set) {
			w.Pods = append(w.Pods, Pod{Pod: pod})
		}
	}
	for _, rev := range load[appsv1.ControllerRevision](t, podStage, "fx-controllerrevisions.yaml") {
		if metav1.IsControlledBy(rev, w.Set) {
			w.Revisions = append(w.Revisions, Revision{ControllerRevision: rev})
		}
	}
	if w.Set == nil || len(w.Pods) == 0 || len(w.Revisions) == 0 {
		t.Fatalf("%s: incomplete fixture", name)
	}
	return w
}

func TestTakeover(t *testing.T) {
	t.Parallel()
	for _, stage := range []string{"1-created", "3-updated"} {
		for _, name := range []string{"fx-plain", "fx-web", "fx-hot"} {
			for _, short := range []bool{true, false} {
				t.Run(stage+"/"+name, func(t *testing.T) {
					t.Parallel()
					w := takenOver(t, name, stage, stage)
					w.Gates = w.Gates.With(features.CloneSetShortHash, short)
					p, err := Decide(w)
					if err != nil {
						t.Fatal(err)
					}
					actions := p.Actions()
					if name == "fx-plain" { // a write conflict left a condition behind, the only thing to mend
						want := w.Set.Status
						want.Conditions = nil
						if len(actions) != 1 {
							t.Fatalf("%d actions, want the status alone", len(actions))
						}
						if diff := cmp.Diff(&StatusChange{From: w.Set.Status, To: want}, actions[0].Change); diff != "" {
							t.Errorf("status (-want +got):\n%s", diff)
						}
						return
					}
					for _, a := range actions {
						t.Errorf("a settled set wants %s %s %s: %s", a.Verb, a.On.Kind.Kind, a.On.Name, a.Why)
					}
					if !p.Done {
						t.Errorf("not done: %+v", p.Waits)
					}
				})
			}
		}
	}
}

// The template of the later stage with the pods of the earlier one: the next step is the one that OpenKruise took.
func TestTakeoverInTheMiddle(t *testing.T) {
	t.Parallel()
	after := map[string]*corev1.Pod{}
	for _, pod := range load[corev1.Pod](t, "3-updated", "fx-pods.yaml") {
		after[pod.Name] = pod
	}
	for name, fate := range map[string]plan.Fate{"fx-web": plan.UpdateInPlace, "fx-plain": plan.Recreate} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := takenOver(t, name, "3-updated", "1-created")
			theirs := w.Set.Status.UpdateRevision
			w.Set.Status = takenOver(t, name, "1-created", "1-created").Set.Status
			p, err := Decide(w)
			if err != nil {
				t.Fatal(err)
			}
			if p.Status.UpdateRevision != theirs {
				t.Errorf("update revision %s, OpenKruise made %s", p.Status.UpdateRevision, theirs)
			}
			moved := 0
			for _, v := range p.Verdicts {
				if v.Fate == fate {
					moved++
				}
			}
			if moved != 1 {
				t.Errorf("%d pods are moved (%s), want 1 within maxUnavailable", moved, did(p))
			}
			for _, a := range p.Actions() {
				if change, ok := a.Change.(*plan.PodChange); ok && len(change.Images) > 0 {
					compareUpdate(t, change, after[a.On.Name])
				}
			}
		})
	}
}

// compareUpdate holds our in-place write against what OpenKruise left on the same pod.
func compareUpdate(t *testing.T, change *plan.PodChange, pod *corev1.Pod) {
	t.Helper()
	for _, label := range []string{keys.ControllerRevisionHashLabel, keys.PodTemplateHashLabel} {
		if got := change.Meta.Labels[label]; got == nil || *got != pod.Labels[label] {
			t.Errorf("label %s differs from %q", label, pod.Labels[label])
		}
	}
	decode := func(text string) map[string]any {
		var m map[string]any
		if err := json.Unmarshal([]byte(text), &m); err != nil {
			t.Fatalf("state annotation %q: %v", text, err)
		}
		delete(m, "updateTimestamp")
		for _, b := range m["containerBatchesRecord"].([]any) {
			delete(b.(map[string]any), "timestamp")
		}
		for _, s := range m["lastContainerStatuses"].(map[string]any) {
			for k := range s.(map[string]any) {
				if k != "imageID" {
					delete(s.(map[string]any), k) // fields of our own, which OpenKruise ignores
				}
			}
		}
		return m
	}
	ours := change.Meta.Annotations[keys.InPlaceUpdateStateAnnotation]
	if ours == nil {
		t.Fatal("no state annotation")
	}
	if diff := cmp.Diff(decode(pod.Annotations[keys.InPlaceUpdateStateAnnotation]), decode(*ours)); diff != "" {
		t.Errorf("state annotation (-OpenKruise +ours):\n%s", diff)
	}
}
