package plan_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"pgregory.net/rapid"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
)

// patched is the object after a server has received the change.
func patched[T any](t *rapid.T, object *T, change plan.Change) *T {
	before, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	body, err := change.Body()
	if err != nil {
		t.Fatal(err)
	}
	var after []byte
	switch change.PatchType() {
	case types.StrategicMergePatchType:
		after, err = strategicpatch.StrategicMergePatch(before, body, *new(T))
	case types.MergePatchType:
		after, err = jsonpatch.MergePatch(before, body)
	default:
		t.Fatalf("patch type %s", change.PatchType())
	}
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	result := new(T)
	if err := json.Unmarshal(after, result); err != nil {
		t.Fatal(err)
	}
	return result
}

// asStored is the object as it comes back from a server.
func asStored[T any](t *rapid.T, object *T) *T {
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	result := new(T)
	if err := json.Unmarshal(text, result); err != nil {
		t.Fatal(err)
	}
	return result
}

// same compares objects as far as their meaning goes: the order of finalizers and owners has none.
var same = []cmp.Option{
	cmpopts.EquateEmpty(),
	cmpopts.SortSlices(func(a, b string) bool { return a < b }),
	cmpopts.SortSlices(func(a, b metav1.OwnerReference) bool { return a.UID < b.UID }),
	cmpopts.SortSlices(func(a, b corev1.PodCondition) bool { return a.Type < b.Type }),
}

var (
	keyGen   = rapid.SampledFrom([]string{"a", "b", "c/d", "e"})
	valueGen = rapid.SampledFrom([]string{"", "1", "2"})
)

func keysOf(t *rapid.T, name string) []string {
	return rapid.SliceOfDistinct(keyGen, rapid.ID[string]).Draw(t, name)
}

func drawMeta(t *rapid.T) metav1.ObjectMeta {
	meta := metav1.ObjectMeta{Name: "pod", UID: "pod-uid"}
	meta.Labels = rapid.MapOf(keyGen, valueGen).Draw(t, "labels")
	meta.Annotations = rapid.MapOf(keyGen, valueGen).Draw(t, "annotations")
	meta.Finalizers = keysOf(t, "finalizers")
	for _, uid := range keysOf(t, "owners") {
		meta.OwnerReferences = append(meta.OwnerReferences, drawOwner(t, uid))
	}
	return meta
}

func drawOwner(t *rapid.T, uid string) metav1.OwnerReference {
	owner := metav1.OwnerReference{APIVersion: "v1", Kind: "Kind", Name: valueGen.Draw(t, "owner"), UID: types.UID(uid)}
	if rapid.Bool().Draw(t, "controller") {
		owner.Controller = new(true)
		owner.BlockOwnerDeletion = new(rapid.Bool().Draw(t, "block"))
	}
	return owner
}

func drawChanges(t *rapid.T, name string) map[string]*string {
	changes := map[string]*string{}
	for _, key := range keysOf(t, name) {
		changes[key] = nil
		if rapid.Bool().Draw(t, "set") {
			changes[key] = plan.Set(valueGen.Draw(t, "value"))
		}
	}
	return changes
}

func drawMetaChange(t *rapid.T) plan.MetaChange {
	c := plan.MetaChange{Labels: drawChanges(t, "label changes"), Annotations: drawChanges(t, "annotation changes")}
	for _, f := range keysOf(t, "changed finalizers") {
		if rapid.Bool().Draw(t, "add") {
			c.AddFinalizers = append(c.AddFinalizers, f)
		} else {
			c.RemoveFinalizers = append(c.RemoveFinalizers, f)
		}
	}
	owners := keysOf(t, "changed owners")
	if len(owners) > 0 && rapid.Bool().Draw(t, "own") {
		owner := drawOwner(t, owners[0])
		c.SetOwner = &owner
	}
	if len(owners) > 1 {
		c.RemoveOwner = types.UID(owners[1])
	}
	return c
}

func drawResources(t *rapid.T, name string) corev1.ResourceList {
	list := corev1.ResourceList{}
	for _, r := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		if n := rapid.IntRange(0, 3).Draw(t, name); n > 0 {
			list[r] = resource.MustParse(fmt.Sprint(n))
		}
	}
	return list
}

func drawConditions(t *rapid.T, name string) []corev1.PodCondition {
	var list []corev1.PodCondition
	for _, of := range keysOf(t, name) {
		c := corev1.PodCondition{
			Type: corev1.PodConditionType(of), Status: corev1.ConditionTrue,
			Reason: valueGen.Draw(t, "reason"), Message: valueGen.Draw(t, "message"),
		}
		if rapid.Bool().Draw(t, "false") {
			c.Status = corev1.ConditionFalse
		}
		if s := rapid.Int64Range(0, 3).Draw(t, "second"); s > 0 {
			c.LastTransitionTime = metav1.Unix(s, 0)
		}
		list = append(list, c)
	}
	return list
}

func drawPod(t *rapid.T) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: drawMeta(t)}
	for _, name := range []string{"c1", "c2", "c3"} {
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{
			Name: name, Image: valueGen.Draw(t, "image"),
			Resources: corev1.ResourceRequirements{Limits: drawResources(t, "limit"), Requests: drawResources(t, "request")},
		})
	}
	pod.Status.Conditions = drawConditions(t, "conditions")
	return pod
}

// TestPodChange checks that a change does in memory what its patch does on a server.
func TestPodChange(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		change := &plan.PodChange{Meta: drawMetaChange(t), Conditions: drawConditions(t, "changed conditions")}
		containers := rapid.SampledFrom([]string{"c1", "c2", "c3"})
		change.Images = rapid.MapOf(containers, rapid.SampledFrom([]string{"1", "2"})).Draw(t, "images")
		change.Resources = map[string]corev1.ResourceRequirements{}
		for _, name := range rapid.SliceOfDistinct(containers, rapid.ID[string]).Draw(t, "resized") {
			change.Resources[name] = corev1.ResourceRequirements{Limits: drawResources(t, "limit"), Requests: drawResources(t, "request")}
		}
		pod := asStored(t, drawPod(t))
		before := pod.DeepCopy()
		want := patched(t, pod, change)
		shallow := *pod
		if err := change.Apply(&shallow); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, asStored(t, &shallow), same...); diff != "" {
			body, _ := change.Body()
			t.Fatalf("%s (-server +memory)\n%s", body, diff)
		}
		if diff := cmp.Diff(before, pod); diff != "" {
			t.Fatalf("a shallow copy does not protect the original\n%s", diff)
		}
		again := patched(t, want, change)
		if diff := cmp.Diff(want, again, same...); diff != "" {
			t.Fatalf("a second time it changes more\n%s", diff)
		}
	})
}

// TestObjectChange checks the same for the metadata of other kinds.
func TestObjectChange(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		change := &plan.ObjectChange{Meta: drawMetaChange(t)}
		claim := asStored(t, &corev1.PersistentVolumeClaim{ObjectMeta: drawMeta(t)})
		want := patched(t, claim, change)
		if err := change.Apply(claim); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, asStored(t, claim), same...); diff != "" {
			body, _ := change.Body()
			t.Fatalf("%s (-server +memory)\n%s", body, diff)
		}
	})
}

func TestPodChangeOnAnotherKind(t *testing.T) {
	t.Parallel()
	if err := (&plan.PodChange{}).Apply(&corev1.PersistentVolumeClaim{}); err == nil {
		t.Error("no error")
	}
}

func TestWakeAt(t *testing.T) {
	t.Parallel()
	at := func(s int64) time.Time { return time.Unix(s, 0) }
	var p plan.Plan
	for _, wake := range []time.Time{{}, at(5), at(9), at(3), {}} {
		p.WakeAt(wake)
	}
	if !p.Wake.Equal(at(3)) {
		t.Errorf("wakes at %s", p.Wake)
	}
}
