package webhook_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/features"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/webhook"
)

// tester is what tests and fuzzing have in common.
type tester interface {
	Helper()
	Fatalf(format string, args ...any)
}

// verdict is an answer as a test looks at it.
type verdict struct {
	Allowed  bool
	Code     int32
	Reason   metav1.StatusReason
	Message  string
	Warnings []string
	// Took is the time that the answer took.
	Took time.Duration
	// Object is the object of the request with the patch of the answer, without a patch nil.
	Object map[string]any
}

// ask sends a request to a path as the API server would.
func ask(t tester, handlers map[string]http.Handler, path string, request *admissionv1.AdmissionRequest) verdict {
	t.Helper()
	request.UID = "u"
	review := admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"}, Request: request,
	}
	body, err := json.Marshal(review)
	if err != nil {
		t.Fatalf("encode request: %v", err)
	}
	req := httptest.NewRequest(http.MethodPost, path, bytes.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	recorder := httptest.NewRecorder()
	begin := time.Now()
	handlers[path].ServeHTTP(recorder, req)
	took := time.Since(begin)
	var answer admissionv1.AdmissionReview
	if err := json.Unmarshal(recorder.Body.Bytes(), &answer); err != nil {
		t.Fatalf("decode answer %q: %v", recorder.Body.String(), err)
	}
	response := answer.Response
	if response == nil || response.UID != types.UID("u") {
		t.Fatalf("the answer %q is not for the request", recorder.Body.String())
	}
	v := verdict{Allowed: response.Allowed, Warnings: response.Warnings, Took: took}
	if response.Result != nil {
		v.Code, v.Reason, v.Message = response.Result.Code, response.Result.Reason, response.Result.Message
	}
	if len(response.Patch) > 0 {
		patch, err := jsonpatch.DecodePatch(response.Patch)
		if err != nil {
			t.Fatalf("decode patch %s: %v", response.Patch, err)
		}
		result, err := patch.Apply(request.Object.Raw)
		if err != nil {
			t.Fatalf("apply patch %s to %s: %v", response.Patch, request.Object.Raw, err)
		}
		if err := json.Unmarshal(result, &v.Object); err != nil {
			t.Fatalf("decode %s: %v", result, err)
		}
	}
	return v
}

func handlers(gates features.Gates) map[string]http.Handler {
	return webhook.Handlers(webhook.Options{Gates: gates, Left: []string{"kruise-system", "kube-system"}})
}

// creation is a request to create a pod.
func creation(namespace, object string) *admissionv1.AdmissionRequest {
	return &admissionv1.AdmissionRequest{
		Operation: admissionv1.Create, Namespace: namespace,
		Kind:     metav1.GroupVersionKind{Version: "v1", Kind: "Pod"},
		Resource: metav1.GroupVersionResource{Version: "v1", Resource: "pods"},
		Object:   runtime.RawExtension{Raw: []byte(object)},
	}
}

// ofCloneSet is a request about a CloneSet; empty objects are left out.
func ofCloneSet(operation admissionv1.Operation, version, object, old string) *admissionv1.AdmissionRequest {
	request := &admissionv1.AdmissionRequest{
		Operation: operation, Namespace: "team",
		Kind:     metav1.GroupVersionKind{Group: "apps.kruise.io", Version: version, Kind: "CloneSet"},
		Resource: metav1.GroupVersionResource{Group: "apps.kruise.io", Version: version, Resource: "clonesets"},
	}
	if object != "" {
		request.Object.Raw = []byte(object)
	}
	if old != "" {
		request.OldObject.Raw = []byte(old)
	}
	return request
}

// at reads a value below keys of objects and indices of lists.
func at(value any, path ...any) any {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			m, _ := value.(map[string]any)
			value = m[step]
		case int:
			list, _ := value.([]any)
			if step >= len(list) {
				return nil
			}
			value = list[step]
		}
	}
	return value
}

const podPath, convertPath = keys.MutatePodPath, keys.ConvertPath
