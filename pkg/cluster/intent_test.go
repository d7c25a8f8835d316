package cluster_test

import (
	"encoding/json"
	"errors"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1alpha1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/cluster"
)

const (
	alphaSet = `{"apiVersion":"apps.kruise.io/v1alpha1","kind":"CloneSet","metadata":{"name":"web"},"spec":{"replicas":3,
		"updateStrategy":{"type":"InPlaceOnly","maxSurge":"10%"},
		"template":{"spec":{"initContainers":[{"name":"init","image":"i:1"}],
		"containers":[{"name":"log","image":"l:1","futureField":7},{"name":"main","image":"m:1"}]}}}}`
	betaSet = `{"apiVersion":"apps.kruise.io/v1beta1","kind":"CloneSet","metadata":{"name":"web"},"spec":{"replicas":3,
		"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"podUpdatePolicy":"InPlaceOnly","maxSurge":"10%"}},
		"template":{"spec":{"initContainers":[{"name":"init","image":"i:1"}],
		"containers":[{"name":"log","image":"l:1","futureField":7},{"name":"main","image":"m:1"}]}}}}`
	notedSet = `{"metadata":{"annotations":{"a/old":"x","a/same":"x"}},"spec":{"template":{"spec":{"containers":[{"name":"main","image":"m:1"}]}}}}`
	bareSet  = `{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"m:1"}]}}}}`
)

func number(n int32) *intstr.IntOrString { return ptr.To(intstr.FromInt32(n)) }
func share(s string) *intstr.IntOrString { return ptr.To(intstr.FromString(s)) }

func TestIntentChange(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, set, version string
		intent             cluster.Intent
		as                 types.PatchType
		want               string
		fields             []cluster.FieldChange
	}{
		{
			"v1alpha1 partition", alphaSet, "v1alpha1", cluster.Intent{Partition: share("80%")}, types.MergePatchType,
			`{"spec":{"updateStrategy":{"partition":"80%"}}}`, []cluster.FieldChange{{Name: "partition", New: "80%"}},
		},
		{
			"v1beta1 partition", betaSet, "v1beta1", cluster.Intent{Partition: number(2)}, types.MergePatchType,
			`{"spec":{"updateStrategy":{"rollingUpdate":{"partition":2}}}}`, []cluster.FieldChange{{Name: "partition", New: "2"}},
		},
		{
			"a number in quotes is a number", bareSet, "v1alpha1", cluster.Intent{Partition: share("2")}, types.MergePatchType,
			`{"spec":{"updateStrategy":{"partition":2}}}`, []cluster.FieldChange{{Name: "partition", New: "2"}},
		},
		{
			"v1alpha1 type and limits", alphaSet, "v1alpha1",
			cluster.Intent{Type: "InPlaceIfPossible", MaxSurge: number(1), MaxUnavailable: number(0), Paused: ptr.To(true)}, types.MergePatchType,
			`{"spec":{"updateStrategy":{"maxSurge":1,"maxUnavailable":0,"paused":true,"type":"InPlaceIfPossible"}}}`,
			[]cluster.FieldChange{
				{Name: "type", Old: "InPlaceOnly", New: "InPlaceIfPossible"}, {Name: "maxUnavailable", New: "0"},
				{Name: "maxSurge", Old: "10%", New: "1"}, {Name: "paused", New: "true"},
			},
		},
		{
			"v1beta1 type", betaSet, "v1beta1", cluster.Intent{Type: "ReCreate"}, types.MergePatchType,
			`{"spec":{"updateStrategy":{"rollingUpdate":{"podUpdatePolicy":"ReCreate"}}}}`,
			[]cluster.FieldChange{{Name: "type", Old: "InPlaceOnly", New: "ReCreate"}},
		},
		{
			"v1beta1 OnDelete", betaSet, "v1beta1", cluster.Intent{Type: cluster.OnDelete}, types.MergePatchType,
			`{"spec":{"updateStrategy":{"type":"OnDelete"}}}`, []cluster.FieldChange{{Name: "type", Old: "RollingUpdate", New: "OnDelete"}},
		},
		{
			"what is so already is not sent", alphaSet, "v1alpha1",
			cluster.Intent{Type: "InPlaceOnly", MaxSurge: share("10%"), Paused: ptr.To(false), Images: map[string]string{"main": "m:1"}},
			types.MergePatchType, `{}`, nil,
		},
		{
			"v1alpha1 image and partition", alphaSet, "v1alpha1",
			cluster.Intent{Images: map[string]string{"main": "m:2"}, Partition: number(0)}, types.JSONPatchType,
			`[{"op":"test","path":"/spec/template/spec/containers/1/name","value":"main"},` +
				`{"op":"test","path":"/spec/template/spec/containers/1/image","value":"m:1"},` +
				`{"op":"add","path":"/spec/template/spec/containers/1/image","value":"m:2"},` +
				`{"op":"add","path":"/spec/updateStrategy/partition","value":0}]`,
			[]cluster.FieldChange{{Name: "image main", Old: "m:1", New: "m:2"}, {Name: "partition", New: "0"}},
		},
		{
			"missing parents are made once", bareSet, "v1beta1",
			cluster.Intent{Images: map[string]string{"main": "m:2"}, Partition: number(1), MaxSurge: number(2)}, types.JSONPatchType,
			`[{"op":"test","path":"/spec/template/spec/containers/0/name","value":"main"},` +
				`{"op":"test","path":"/spec/template/spec/containers/0/image","value":"m:1"},` +
				`{"op":"add","path":"/spec/template/spec/containers/0/image","value":"m:2"},` +
				`{"op":"add","path":"/spec/updateStrategy","value":{}},{"op":"add","path":"/spec/updateStrategy/rollingUpdate","value":{}},` +
				`{"op":"add","path":"/spec/updateStrategy/rollingUpdate/partition","value":1},` +
				`{"op":"add","path":"/spec/updateStrategy/rollingUpdate/maxSurge","value":2}]`,
			[]cluster.FieldChange{{Name: "image main", Old: "m:1", New: "m:2"}, {Name: "partition", New: "1"}, {Name: "maxSurge", New: "2"}},
		},
		{
			"init container", alphaSet, "v1alpha1", cluster.Intent{Images: map[string]string{"init": "i:2"}}, types.JSONPatchType,
			`[{"op":"test","path":"/spec/template/spec/initContainers/0/name","value":"init"},` +
				`{"op":"test","path":"/spec/template/spec/initContainers/0/image","value":"i:1"},` +
				`{"op":"add","path":"/spec/template/spec/initContainers/0/image","value":"i:2"}]`,
			[]cluster.FieldChange{{Name: "image init", Old: "i:1", New: "i:2"}},
		},
		{
			"replicas and pods to delete", bareSet, "v1beta1", cluster.Intent{Replicas: ptr.To[int32](2), PodsToDelete: []string{"a", "b"}}, types.MergePatchType,
			`{"spec":{"replicas":2,"scaleStrategy":{"podsToDelete":["a","b"]}}}`,
			[]cluster.FieldChange{{Name: "replicas", New: "2"}, {Name: "podsToDelete", New: "[a b]"}},
		},
		{
			"annotations are set and removed, and not told", notedSet, "v1alpha1",
			cluster.Intent{Annotations: map[string]*string{"a/new": ptr.To("1"), "a/old": nil, "a/none": nil, "a/same": ptr.To("x")}}, types.MergePatchType,
			`{"metadata":{"annotations":{"a/new":"1","a/old":null}}}`, nil,
		},
		{
			"a template is replaced as a whole, with annotations beside it", notedSet, "v1beta1",
			cluster.Intent{Template: &cluster.Template{Raw: json.RawMessage(`{"spec":{"containers":[{"name":"main","image":"m:0"}]}}`), From: "web-b", To: "web-a"},
				Annotations: map[string]*string{"a/new": ptr.To("1"), "a/old": nil}, Partition: number(0)}, types.JSONPatchType,
			`[{"op":"replace","path":"/spec/template","value":{"spec":{"containers":[{"name":"main","image":"m:0"}]}}},` +
				`{"op":"add","path":"/spec/updateStrategy","value":{}},{"op":"add","path":"/spec/updateStrategy/rollingUpdate","value":{}},` +
				`{"op":"add","path":"/spec/updateStrategy/rollingUpdate/partition","value":0},` +
				`{"op":"add","path":"/metadata/annotations/a~1new","value":"1"},{"op":"remove","path":"/metadata/annotations/a~1old"}]`,
			[]cluster.FieldChange{{Name: "template", Old: "web-b", New: "web-a"}, {Name: "partition", New: "0"}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			change, err := tt.intent.Change([]byte(tt.set), tt.version)
			if err != nil {
				t.Fatal(err)
			}
			body, err := change.Body()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(body)); diff != "" {
				t.Errorf("patch (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.fields, change.Fields); diff != "" {
				t.Errorf("fields (-want +got):\n%s", diff)
			}
			if change.PatchType() != tt.as {
				t.Errorf("type %s, want %s", change.PatchType(), tt.as)
			}
			onTheWireEqualsInMemory(t, tt.set, tt.version, change)
		})
	}
}

// onTheWireEqualsInMemory applies a change to the stored form and to the planners' form and compares.
func onTheWireEqualsInMemory(t *testing.T, stored, version string, change *cluster.IntentChange) {
	t.Helper()
	body, err := change.Body()
	if err != nil {
		t.Fatal(err)
	}
	patched, err := jsonpatch.MergePatch([]byte(stored), body)
	if change.PatchType() == types.JSONPatchType {
		var operations jsonpatch.Patch
		if operations, err = jsonpatch.DecodePatch(body); err == nil {
			patched, err = operations.Apply([]byte(stored))
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	want, got := hub(t, patched, version), hub(t, []byte(stored), version)
	if err := change.Apply(got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("in memory (-wire +memory):\n%s", diff)
	}
}

func hub(t *testing.T, raw []byte, version string) *v1beta1.CloneSet {
	t.Helper()
	var alpha v1alpha1.CloneSet
	var beta v1beta1.CloneSet
	var err error
	if version == "v1alpha1" {
		err = json.Unmarshal(raw, &alpha)
	} else {
		err = json.Unmarshal(raw, &beta)
	}
	if err != nil {
		t.Fatal(err)
	}
	if version == "v1alpha1" {
		return v1alpha1.CloneSetToHub(&alpha)
	}
	return &beta
}

func TestIntentKeepsUnknownFields(t *testing.T) {
	t.Parallel()
	change, err := cluster.Intent{Images: map[string]string{"log": "l:2"}}.Change([]byte(alphaSet), "v1alpha1")
	if err != nil {
		t.Fatal(err)
	}
	body, err := change.Body()
	if err != nil {
		t.Fatal(err)
	}
	operations, err := jsonpatch.DecodePatch(body)
	if err != nil {
		t.Fatal(err)
	}
	patched, err := operations.Apply([]byte(alphaSet))
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Spec struct {
			Template struct {
				Spec struct{ Containers []map[string]any }
			}
		}
	}
	if err := json.Unmarshal(patched, &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"name": "log", "image": "l:2", "futureField": 7.0}
	if diff := cmp.Diff(want, got.Spec.Template.Spec.Containers[0]); diff != "" {
		t.Errorf("container (-want +got):\n%s", diff)
	}
}

func TestIntentUnknownContainer(t *testing.T) {
	t.Parallel()
	_, err := cluster.Intent{Images: map[string]string{"ngnix": "x"}}.Change([]byte(alphaSet), "v1alpha1")
	var unknown *cluster.UnknownContainerError
	if !errors.As(err, &unknown) {
		t.Fatalf("error %v", err)
	}
	if want := `no container "ngnix"; it has: log, main, init`; err.Error() != want {
		t.Errorf("error %q, want %q", err, want)
	}
}

func TestIntentMissing(t *testing.T) {
	t.Parallel()
	intent := cluster.Intent{
		Partition: number(1), MaxUnavailable: number(1), MaxSurge: share("10%"), Type: "InPlaceOnly", Paused: ptr.To(false),
		Images: map[string]string{"main": "m:1", "log": "l:2", "none": "x"},
	}
	want := []string{"partition", "maxUnavailable", "image log", "image none"}
	if diff := cmp.Diff(want, intent.Missing(hub(t, []byte(betaSet), "v1beta1"))); diff != "" {
		t.Errorf("missing (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, intent.Missing(hub(t, []byte(alphaSet), "v1alpha1"))); diff != "" {
		t.Errorf("missing from v1alpha1 (-want +got):\n%s", diff)
	}
	bare := intent.Missing(&v1beta1.CloneSet{})
	if diff := cmp.Diff([]string{"partition", "maxUnavailable", "maxSurge", "type", "image log", "image main", "image none"}, bare); diff != "" {
		t.Errorf("missing from an empty set (-want +got):\n%s", diff)
	}
}
