package cloneset

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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

// fixtures are objects that a running OpenKruise wrote, by folder and then by stage; the gates are those it ran with (see
// their README).
const fixtures = "../../../testdata"

const fixtureGates = "AllAlpha=true,AllBeta=true,EnableExternalCerts=false,TemplateNoDefaults=false"

var fixtureTime = time.Date(2026, 11, 30, 12, 40, 0, 0, time.UTC)

// record is what was written down of one namespace at one moment.
type record struct{ folder, prefix, stage string }

var (
	fxCreated  = record{"openkruise", "fx-", "1-created"}
	fxMoving   = record{"openkruise", "fx-", "2-recreating"}
	fxUpdated  = record{"openkruise", "fx-", "3-updated"}
	gxCreated  = record{"openkruise-more", "", "1-created"}
	gxHolding  = record{"openkruise-more", "", "2-hooks-holding"}
	gxSettled  = record{"openkruise-more", "", "3-settled"}
	allRecords = []record{fxCreated, fxMoving, fxUpdated, gxCreated, gxHolding, gxSettled}
)

func (r record) String() string { return r.folder + "/" + r.stage }

// load reads all objects of one kind; a namespace that has none has no file.
func load[T any](t *testing.T, r record, kind string) []*T {
	t.Helper()
	path := filepath.Join(fixtures, r.folder, r.stage, r.prefix+kind+".yaml")
	data, err := os.ReadFile(path)
	if os.IsNotExist(err) && kind == "persistentvolumeclaims" {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	var list []*T
	for _, doc := range bytes.Split(data, []byte("\n---\n")) {
		object := new(T)
		if err := yaml.Unmarshal(doc, object); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		list = append(list, object)
	}
	return list
}

func recordedSet(t *testing.T, r record, name string) *v1beta1.CloneSet {
	t.Helper()
	for _, set := range load[v1beta1.CloneSet](t, r, "clonesets") {
		if set.Name == name {
			return set
		}
	}
	t.Fatalf("%s: no set %s", r, name)
	return nil
}

func theirGates(t *testing.T) features.Gates {
	t.Helper()
	gates, err := features.Parse(fixtureGates)
	if err != nil {
		t.Fatal(err)
	}
	return gates
}

// takenOver is the world of a recorded set. The spec may come from another moment than the pods.
func takenOver(t *testing.T, name string, spec, pods record) World {
	t.Helper()
	w := World{Now: fixtureTime, Gates: theirGates(t), OwnerAPIVersion: "apps.kruise.io/v1beta1", Set: recordedSet(t, spec, name)}
	for _, pod := range load[corev1.Pod](t, pods, "pods") {
		if metav1.IsControlledBy(pod, w.Set) {
			w.Pods = append(w.Pods, Pod{Pod: pod})
		}
	}
	for _, rev := range load[appsv1.ControllerRevision](t, pods, "controllerrevisions") {
		if metav1.IsControlledBy(rev, w.Set) {
			w.Revisions = append(w.Revisions, Revision{ControllerRevision: rev})
		}
	}
	for _, claim := range load[corev1.PersistentVolumeClaim](t, pods, "persistentvolumeclaims") {
		if metav1.IsControlledBy(claim, w.Set) {
			w.Claims = append(w.Claims, claim)
		}
	}
	if len(w.Pods) == 0 || len(w.Revisions) == 0 {
		t.Fatalf("%s: incomplete fixture", name)
	}
	return w
}

// TestTakeover takes every recorded set over. None of their pods, revisions and claims is touched.
func TestTakeover(t *testing.T) {
	t.Parallel()
	// What is not settled, and what it waits for.
	waits := map[string]plan.Reason{
		"openkruise/2-recreating/fx-web":         plan.ReasonNotReady, // a container of one of its pods is being recreated
		"openkruise-more/2-hooks-holding/gx-pvc": plan.ReasonHook,
		"openkruise-more/3-settled/gx-pvc":       plan.ReasonHook,
	}
	for _, r := range allRecords {
		for _, set := range load[v1beta1.CloneSet](t, r, "clonesets") {
			id := r.String() + "/" + set.Name
			for _, short := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s short hash %v", id, short), func(t *testing.T) {
					t.Parallel()
					w := takenOver(t, set.Name, r, r)
					w.Gates = w.Gates.With(features.CloneSetShortHash, short)
					p, err := Decide(w)
					if err != nil {
						t.Fatal(err)
					}
					// A conflict that OpenKruise left behind as a condition is all that is mended.
					want := w.Set.Status
					want.Conditions = nil
					for _, a := range p.Actions() {
						change, ok := a.Change.(*StatusChange)
						if !ok || len(w.Set.Status.Conditions) == 0 {
							t.Errorf("it wants %s %s %s: %s", a.Verb, a.On.Kind.Kind, a.On.Name, a.Why)
							continue
						}
						if diff := cmp.Diff(&StatusChange{From: w.Set.Status, To: want}, change); diff != "" {
							t.Errorf("status (-want +got):\n%s", diff)
						}
					}
					reason := waits[id]
					if reason != "" && !slices.ContainsFunc(p.Waits, func(x plan.Wait) bool { return x.Reason == reason }) {
						t.Errorf("waits %+v, want %s", p.Waits, reason)
					}
					if settled := reason == "" && p.Empty(); settled != p.Done {
						t.Errorf("done %v, waits %+v", p.Done, p.Waits)
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
	for _, pod := range load[corev1.Pod](t, fxUpdated, "pods") {
		after[pod.Name] = pod
	}
	for name, fate := range map[string]plan.Fate{"fx-web": plan.UpdateInPlace, "fx-plain": plan.Recreate} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := takenOver(t, name, fxUpdated, fxCreated)
			theirs := w.Set.Status.UpdateRevision
			w.Set.Status = recordedSet(t, fxCreated, name).Status
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
