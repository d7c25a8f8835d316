package install

import (
	"maps"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/view"
)

// Kinds that convert by a webhook need somebody who does it.
func TestKindsWithoutAConverter(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name       string
		rendering  Rendering
		registered bool
		managed    bool
		want       string
	}{
		{"kinds alone", CRDsOnly, false, false, view.CheckOK},
		{"complete", Full, true, true, view.CheckOK},
		{"managers that are not ready, before admission is registered", Full, false, true, view.CheckOK},
		{"nobody", Full, false, false, view.CheckFailed},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			part := kinds(state(t, test.rendering, test.registered, ""), test.managed)
			if part.Verdict != test.want || (test.want == view.CheckFailed) != strings.Contains(part.Text, "a webhook that is not there") {
				t.Errorf("%s: %s, want %s", part.Verdict, part.Text, test.want)
			}
		})
	}
}

// Pods that came up while nobody answered are known by what they lack.
func TestMissedSteps(t *testing.T) {
	t.Parallel()
	registered := metav1.Now()
	pod := func(after time.Duration, meta, spec map[string]any) *unstructured.Unstructured {
		meta["name"], meta["creationTimestamp"] = "p", registered.Add(after).UTC().Format(time.RFC3339)
		if spec["containers"] == nil {
			spec["containers"] = []any{map[string]any{"name": "a"}, map[string]any{"name": "b"}}
		}
		return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}}
	}
	none := map[string]any{}
	owned := map[string]any{"ownerReferences": []any{map[string]any{"apiVersion": "apps.kruise.io/v1beta1", "kind": "CloneSet", "name": "o", "uid": "u", "controller": true}}}
	ordered := map[string]any{"annotations": map[string]any{keys.LaunchPriorityAnnotation: "Ordered"}}
	barrier := map[string]any{"name": keys.BarrierEnv, "valueFrom": map[string]any{"configMapKeyRef": map[string]any{"name": "p-barrier", "key": "p_0"}}}
	gate := []any{map[string]any{"conditionType": "KruisePodReady"}}
	for _, test := range []struct {
		name   string
		object *unstructured.Unstructured
		want   string
	}{
		{"nobody's", pod(time.Minute, maps.Clone(none), maps.Clone(none)), ""},
		{"of a CloneSet, without its gate", pod(time.Minute, maps.Clone(owned), maps.Clone(none)), "all"},
		{"of a CloneSet, from before", pod(-time.Minute, maps.Clone(owned), maps.Clone(none)), ""},
		{"of a CloneSet, with its gate", pod(time.Minute, maps.Clone(owned), map[string]any{"readinessGates": gate}), ""},
		{"asks for an order and has none", pod(time.Minute, maps.Clone(ordered), maps.Clone(none)), "launch-priority"},
		{"asks for an order and has one", pod(time.Minute, maps.Clone(ordered), map[string]any{"containers": []any{
			map[string]any{"name": "a", "env": []any{barrier}}, map[string]any{"name": "b", "env": []any{barrier}}}}), ""},
		{"asks for an order of one container", pod(time.Minute, maps.Clone(ordered), map[string]any{"containers": []any{map[string]any{"name": "a"}}}), ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := missedSteps(test.object, registered); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

// Managers that an upgrade left behind are not what was installed.
func TestManagersAreCounted(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name       string
		want       int32
		generation int64
		status     appsv1.DeploymentStatus
		verdict    string
		text       string
	}{
		{"all ready", 2, 1, appsv1.DeploymentStatus{ObservedGeneration: 1, Replicas: 2, UpdatedReplicas: 2, ReadyReplicas: 2}, view.CheckOK, "2 of 2 ready in ns"},
		{"one ready", 2, 1, appsv1.DeploymentStatus{ObservedGeneration: 1, Replicas: 2, UpdatedReplicas: 2, ReadyReplicas: 1}, view.CheckWarning, "1 of 2 ready in ns"},
		{"none ready", 2, 1, appsv1.DeploymentStatus{ObservedGeneration: 1, Replicas: 2, UpdatedReplicas: 2}, view.CheckFailed, "0 of 2 ready in ns"},
		{"an upgrade that hangs", 2, 2, appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 4, UpdatedReplicas: 2, ReadyReplicas: 2}, view.CheckFailed,
			"2 of 2 ready in ns; of what was installed last 2 run, and it has not replaced the rest"},
		{"an upgrade that nobody has looked at", 2, 2, appsv1.DeploymentStatus{ObservedGeneration: 1, Replicas: 2, UpdatedReplicas: 2, ReadyReplicas: 2}, view.CheckFailed,
			"2 of 2 ready in ns; of what was installed last 2 run, and it has not replaced the rest"},
		{"scaled to nothing", 0, 1, appsv1.DeploymentStatus{ObservedGeneration: 1}, view.CheckFailed, "the Deployment ns/kruise-controller-manager is scaled to 0"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			manager := &appsv1.Deployment{Status: test.status}
			manager.Namespace, manager.Generation, manager.Spec.Replicas = "ns", test.generation, &test.want
			part := counted(view.CheckPart{Verdict: view.CheckOK}, manager)
			if part.Verdict != test.verdict || part.Text != test.text {
				t.Errorf("%s: %s, want %s: %s", part.Verdict, part.Text, test.verdict, test.text)
			}
		})
	}
}
