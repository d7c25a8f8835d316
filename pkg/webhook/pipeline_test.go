package webhook_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/features"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/webhook"
)

const (
	kruiseOwner  = `"ownerReferences":[{"apiVersion":"apps.kruise.io/v1beta1","kind":"CloneSet","name":"web","uid":"1","controller":true}]`
	builtinOwner = `"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web","uid":"1","controller":true}]`
	nobodysOwner = `"ownerReferences":[{"apiVersion":"apps.kruise.io/v1beta1","kind":"CloneSet","name":"web","uid":"1"}]`
)

func podOf(meta, spec string) string {
	if meta != "" {
		meta = "," + meta
	}
	if spec != "" {
		spec = "," + spec
	}
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"%s},"spec":{"containers":[{"name":"c","image":"i"}]%s}}`, meta, spec)
}

// workloadspread.md C1 step 1.
func TestReadinessGate(t *testing.T) {
	t.Parallel()
	on := features.Defaults().With(features.KruisePodReadinessGate, true)
	gates := func(conditions ...string) []any {
		var list []any
		for _, c := range conditions {
			list = append(list, map[string]any{"conditionType": c})
		}
		return list
	}
	for _, tc := range []struct {
		name, namespace, pod string
		gates                features.Gates
		want                 []any // nil: no patch
	}{
		{"C1/1 a pod of a Kruise workload", "team", podOf(kruiseOwner, ""), features.Defaults(), gates("KruisePodReady")},
		{"C1/1 after other gates", "team", podOf(kruiseOwner, `"readinessGates":[{"conditionType":"x"}]`), features.Defaults(), gates("x", "KruisePodReady")},
		{"C1/1 once", "team", podOf(kruiseOwner, `"readinessGates":[{"conditionType":"KruisePodReady"}]`), features.Defaults(), nil},
		{"C1/1 a pod of a Deployment", "team", podOf(builtinOwner, ""), features.Defaults(), nil},
		{"C1/1 an owner that is not the controller", "team", podOf(nobodysOwner, ""), features.Defaults(), nil},
		{"C1/1 all pods with the gate", "team", podOf("", ""), on, gates("KruisePodReady")},
		{"C3 the namespace of the manager", "kruise-system", podOf(kruiseOwner, ""), on, nil},
		{"C3 kube-system", "kube-system", podOf(kruiseOwner, ""), on, nil},
		{"H7 without PodWebhook", "team", podOf(kruiseOwner, ""), features.Defaults().With(features.PodWebhook, false), nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got := ask(t, handlers(tc.gates), podPath, creation(tc.namespace, tc.pod))
			if !got.Allowed || len(got.Warnings) > 0 {
				t.Errorf("got %+v, want it allowed without warnings", got)
			}
			if diff := cmp.Diff(tc.want, orNil(at(got.Object, "spec", "readinessGates"))); diff != "" {
				t.Errorf("gates (-want +got):\n%s", diff)
			}
		})
	}
}

func orNil(value any) []any {
	list, _ := value.([]any)
	return list
}

func TestOnlyTheCreationOfPods(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, subresource string
		operation         admissionv1.Operation
	}{
		{"H11 the kubelet reports status", "status", admissionv1.Update},
		{"PF-WH-2 an update", "", admissionv1.Update},
		{"an ephemeral container", "ephemeralcontainers", admissionv1.Create},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			request := creation("team", podOf(kruiseOwner, ""))
			request.Operation, request.SubResource = tc.operation, tc.subresource
			got := ask(t, handlers(features.Defaults()), podPath, request)
			if !got.Allowed || got.Object != nil {
				t.Errorf("got %+v, want it allowed as it is", got)
			}
		})
	}
}

func TestNoPod(t *testing.T) {
	t.Parallel()
	for name, object := range map[string]string{"C1/0 a list": `[]`, "C1/0 a text for containers": `{"spec":{"containers":"x"}}`, "C1/0 a number": `7`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := ask(t, handlers(features.Defaults()), podPath, creation("team", object))
			if got.Allowed || got.Code != 400 {
				t.Errorf("got %+v, want a refusal with code 400", got)
			}
		})
	}
}

// workloadspread.md H9.
func TestUnknownFieldsSurvive(t *testing.T) {
	t.Parallel()
	pod := `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p",` + kruiseOwner + `,"future":{"a":1}},` +
		`"spec":{"containers":[{"name":"c","image":"i","future":[1,12345678901234567890]}],"future":"x"},"future":null}`
	got := ask(t, handlers(features.Defaults()), podPath, creation("team", pod))
	for _, path := range [][]any{{"metadata", "future", "a"}, {"spec", "containers", 0, "future", 1}, {"spec", "future"}} {
		if at(got.Object, path...) == nil {
			t.Errorf("%v is lost: %v", path, got.Object)
		}
	}
	if at(got.Object, "spec", "readinessGates", 0, "conditionType") != "KruisePodReady" {
		t.Errorf("the step did nothing: %v", got.Object)
	}
}

func label(key string) webhook.Step {
	return webhook.Step{Name: key, Mutate: func(pod *corev1.Pod, _ webhook.Situation) ([]string, error) {
		seen := len(pod.Labels)
		if pod.Labels == nil {
			pod.Labels = map[string]string{}
		}
		pod.Labels[key] = fmt.Sprint(seen)
		return []string{"seen " + fmt.Sprint(seen)}, nil
	}}
}

func spoil(name string, then func() ([]string, error)) webhook.Step {
	return webhook.Step{Name: name, Mutate: func(pod *corev1.Pod, _ webhook.Situation) ([]string, error) {
		pod.Labels = map[string]string{"spoiled": name}
		return then()
	}}
}

// A broken or slow step never keeps a pod from being made, and leaves no trace in it.
func TestBrokenSteps(t *testing.T) {
	t.Parallel()
	forever := make(chan struct{})
	t.Cleanup(func() { close(forever) })
	hang := func() ([]string, error) { <-forever; return nil, nil }
	for _, tc := range []struct {
		name    string
		steps   []webhook.Step
		strict  bool
		allowed bool
		labels  map[string]any
		missed  string
		says    []string
	}{
		{"each sees what the last did", []webhook.Step{label("a"), label("b")}, false, true,
			map[string]any{"a": "0", "b": "1"}, "", []string{"a: seen 0", "b: seen 1"}},
		{"an error", []webhook.Step{label("a"), spoil("bad", func() ([]string, error) { return nil, errors.New("oh") }), label("b")}, false, true,
			map[string]any{"a": "0", "b": "1"}, "bad", []string{"a: seen 0", "bad: left out for this pod: oh", "b: seen 1"}},
		{"a panic", []webhook.Step{spoil("bad", func() ([]string, error) { panic("oh") })}, false, true,
			nil, "bad", []string{"bad: left out for this pod: it failed: oh"}},
		{"a step that hangs", []webhook.Step{spoil("slow", hang), label("b")}, false, true,
			map[string]any{"b": "0"}, "slow", []string{"slow: left out for this pod: it took more than 300ms", "b: seen 0"}},
		{"all steps hang", []webhook.Step{spoil("one", hang), spoil("two", hang), spoil("three", hang), label("b")}, false, true,
			nil, "one,two,three,b", nil},
		{"an error with the policy Fail", []webhook.Step{spoil("bad", func() ([]string, error) { return nil, errors.New("oh") })}, true, false, nil, "", nil},
		{"a refusal", []webhook.Step{label("a"), spoil("no", func() ([]string, error) { return nil, &webhook.Refusal{Err: errors.New("cannot be")} })}, false, false, nil, "", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			begin := time.Now()
			got := ask(t, webhook.Handlers(webhook.Options{Gates: features.Defaults(), Steps: tc.steps, Strict: tc.strict}), podPath, creation("team", podOf("", "")))
			if took := time.Since(begin); took > time.Second {
				t.Errorf("it took %s", took)
			}
			if got.Allowed != tc.allowed {
				t.Fatalf("got %+v, want allowed %v", got, tc.allowed)
			}
			labels, _ := at(got.Object, "metadata", "labels").(map[string]any)
			missed, _ := at(got.Object, "metadata", "annotations", keys.MissedStepsAnnotation).(string)
			if diff := cmp.Diff(tc.labels, labels); diff != "" && tc.name != "all steps hang" {
				t.Errorf("labels (-want +got):\n%s", diff)
			}
			if tc.name == "all steps hang" { // the last one may or may not have had its turn
				tc.missed, missed = "one,two", strings.Join(strings.SplitN(missed, ",", 3)[:2], ",")
			}
			if missed != tc.missed {
				t.Errorf("missed %q, want %q", missed, tc.missed)
			}
			if tc.says != nil {
				if diff := cmp.Diff(tc.says, got.Warnings); diff != "" {
					t.Errorf("warnings (-want +got):\n%s", diff)
				}
			}
		})
	}
}

// A step that hangs for some pods does not keep the others waiting.
func TestAHangingStepIsLeftOutAtOnce(t *testing.T) {
	t.Parallel()
	forever := make(chan struct{})
	t.Cleanup(func() { close(forever) })
	step := spoil("slow", func() ([]string, error) { <-forever; return nil, nil })
	h := webhook.Handlers(webhook.Options{Gates: features.Defaults(), Steps: []webhook.Step{step}})
	var first sync.WaitGroup
	for range 8 {
		first.Go(func() { ask(t, h, podPath, creation("team", podOf("", ""))) })
	}
	first.Wait()
	begin := time.Now()
	got := ask(t, h, podPath, creation("team", podOf("", "")))
	if want := []string{"slow: left out for this pod: it hangs for other pods"}; cmp.Diff(want, got.Warnings) != "" || time.Since(begin) > 250*time.Millisecond {
		t.Errorf("after %s: %v, want %v at once", time.Since(begin), got.Warnings, want)
	}
}
