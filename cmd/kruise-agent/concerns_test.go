package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/cel-go/cel"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"pgregory.net/rapid"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/features"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/install"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/webhook"
)

// registered makes what the API server asks itself about a pod before it asks the webhook, with these gates.
func registered(t *testing.T, gates string) func(pod map[string]any) bool {
	t.Helper()
	config := install.Defaults()
	config.Image, config.FeatureGates = "i", gates
	objects, err := install.Manifests(config, install.Complete)
	if err != nil {
		t.Fatal(err)
	}
	var conditions []cel.Program
	env, err := cel.NewEnv(cel.Variable("object", cel.DynType))
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range objects {
		configuration, ok := object.(*admissionregistrationv1.MutatingWebhookConfiguration)
		if !ok {
			continue
		}
		for _, condition := range configuration.Webhooks[0].MatchConditions {
			ast, issues := env.Compile(condition.Expression)
			if issues.Err() != nil {
				t.Fatal(issues.Err())
			}
			program, err := env.Program(ast)
			if err != nil {
				t.Fatal(err)
			}
			conditions = append(conditions, program)
		}
	}
	return func(pod map[string]any) bool {
		for _, program := range conditions {
			value, _, err := program.Eval(map[string]any{"object": pod})
			if err != nil {
				t.Fatalf("%v: %v", pod, err)
			}
			if value.Value() != true {
				return false
			}
		}
		return true
	}
}

// answers asks the webhook about the creation of a pod.
func answers(t *rapid.T, handler http.Handler, pod []byte) *admissionv1.AdmissionResponse {
	review := admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"},
		Request: &admissionv1.AdmissionRequest{
			UID: "u", Operation: admissionv1.Create, Namespace: "shop", Object: runtime.RawExtension{Raw: pod},
			Kind: metav1.GroupVersionKind{Version: "v1", Kind: "Pod"}, Resource: metav1.GroupVersionResource{Version: "v1", Resource: "pods"},
		},
	}
	body, err := json.Marshal(review)
	if err != nil {
		t.Fatal(err)
	}
	request := httptest.NewRequest(http.MethodPost, keys.MutatePodPath, bytes.NewReader(body))
	request.Header.Set("Content-Type", "application/json")
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, request)
	if err := json.Unmarshal(recorder.Body.Bytes(), &review); err != nil {
		t.Fatal(err)
	}
	return review.Response
}

func drawContainers(t *rapid.T, what string, least int) []corev1.Container {
	list := make([]corev1.Container, rapid.IntRange(least, 2).Draw(t, what))
	for i := range list {
		list[i].Name = what + string(rune('a'+i))
		for range rapid.IntRange(0, 2).Draw(t, "variables") {
			list[i].Env = append(list[i].Env, corev1.EnvVar{
				Name:  rapid.SampledFrom([]string{"A", keys.PriorityEnv, keys.BarrierEnv}).Draw(t, "variable"),
				Value: rapid.SampledFrom([]string{"", "5", "x"}).Draw(t, "value"),
			})
		}
	}
	return list
}

func drawPod(t *rapid.T) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: "p-"}}
	pod.Spec.Containers, pod.Spec.InitContainers = drawContainers(t, "c", 0), drawContainers(t, "i", 0)
	for _, key := range []string{"a", keys.LaunchPriorityAnnotation, keys.LaunchCompletedAnnotation} {
		if rapid.Bool().Draw(t, key) {
			metav1.SetMetaDataAnnotation(&pod.ObjectMeta, key, rapid.SampledFrom([]string{"", "Ordered", "ordered"}).Draw(t, "annotation"))
		}
	}
	for range rapid.IntRange(0, 2).Draw(t, "owners") {
		owner := metav1.OwnerReference{Kind: "CloneSet", Name: "o", UID: "u",
			APIVersion: rapid.SampledFrom([]string{"v1", "apps/v1", "apps.kruise.io/v1alpha1", "apps.kruise.io/v1beta1"}).Draw(t, "owner")}
		if rapid.Bool().Draw(t, "controller") {
			yes := true
			owner.Controller = &yes
		}
		pod.OwnerReferences = append(pod.OwnerReferences, owner)
	}
	return pod
}

// What the API server does not ask about is what no step would do anything to, or say anything about.
func TestTheWebhookIsAskedAboutWhatConcernsIt(t *testing.T) {
	t.Parallel()
	for _, gates := range []string{"", "KruisePodReadinessGate=true", "AllAlpha=true,AllBeta=true"} {
		t.Run(gates, func(t *testing.T) {
			t.Parallel()
			parsed, err := features.Parse(gates)
			if err != nil {
				t.Fatal(err)
			}
			asked := registered(t, gates)
			handler := webhook.Handlers(webhook.Options{Gates: parsed})[keys.MutatePodPath]
			left, concerned := 0, 0
			rapid.Check(t, func(t *rapid.T) {
				object := drawPod(t)
				tree, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object) // as the API server does
				if err != nil {
					t.Fatal(err)
				}
				pod, err := json.Marshal(object)
				if err != nil {
					t.Fatal(err)
				}
				if asked(tree) {
					concerned++
					return
				}
				left++
				if a := answers(t, handler, pod); !a.Allowed || len(a.Patch) > 0 || len(a.Warnings) > 0 {
					t.Errorf("nobody is asked about %s, and the answer would be %v %s %q", pod, a.Allowed, a.Patch, a.Warnings)
				}
			})
			if concerned == 0 || left == 0 && gates == "" {
				t.Errorf("%d pods concern the webhook, %d do not", concerned, left)
			}
		})
	}
}
