package webhook_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"pgregory.net/rapid"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/features"
)

// turn asks for objects in another version.
func turn(t tester, wanted string, objects ...string) *apiextensionsv1.ConversionResponse {
	t.Helper()
	review := apiextensionsv1.ConversionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "ConversionReview"},
		Request:  &apiextensionsv1.ConversionRequest{UID: "u", DesiredAPIVersion: "apps.kruise.io/" + wanted},
	}
	for _, o := range objects {
		review.Request.Objects = append(review.Request.Objects, runtime.RawExtension{Raw: []byte(o)})
	}
	body, err := json.Marshal(review)
	if err != nil {
		t.Fatalf("encode review: %v", err)
	}
	recorder := httptest.NewRecorder()
	handlers(features.Defaults())[convertPath].ServeHTTP(recorder, httptest.NewRequest(http.MethodPost, convertPath, bytes.NewReader(body)))
	var answer apiextensionsv1.ConversionReview
	if err := json.Unmarshal(recorder.Body.Bytes(), &answer); err != nil {
		t.Fatalf("decode answer %q: %v", recorder.Body.String(), err)
	}
	if answer.Response == nil || answer.Response.UID != "u" || answer.APIVersion != review.APIVersion || answer.Kind != review.Kind {
		t.Fatalf("the answer %q is not for the review", recorder.Body.String())
	}
	return answer.Response
}

func converted(t tester, wanted, object string) string {
	t.Helper()
	response := turn(t, wanted, object)
	if response.Result.Status != metav1.StatusSuccess || len(response.ConvertedObjects) != 1 {
		t.Fatalf("conversion of %s to %s: %+v", object, wanted, response.Result)
	}
	return string(response.ConvertedObjects[0].Raw)
}

// same compares JSON without regard to the order of keys.
func same(t tester, want, got string) string {
	t.Helper()
	var a, b any
	if err := json.Unmarshal([]byte(want), &a); err != nil {
		t.Fatalf("decode %s: %v", want, err)
	}
	if err := json.Unmarshal([]byte(got), &b); err != nil {
		t.Fatalf("decode %s: %v", got, err)
	}
	return cmp.Diff(a, b)
}

// cloneset.md 3. What the versions have in common stays as it was written, fields that nobody knows too.
func TestConversion(t *testing.T) {
	t.Parallel()
	object := func(version, labels, scale, strategy string) string {
		return fmt.Sprintf(`{"apiVersion":"apps.kruise.io/%s","kind":"CloneSet","metadata":{"name":"web","generation":7,"labels":{"app":"web"%s},"future":1},`+
			`"spec":{"replicas":3,"future":[1.0],"scaleStrategy":%s,"template":{"metadata":{"creationTimestamp":null},"spec":{"containers":[],"zz":1,"aa":{}}},`+
			`"updateStrategy":%s},"status":{"replicas":3,"future":"x"}}`, version, labels, scale, strategy)
	}
	alpha := object("v1alpha1", `,"apps.kruise.io/cloneset-scaling-exclude-preparing-delete":"true"`, `{"podsToDelete":["a"],"disablePVCReuse":true}`,
		`{"type":"InPlaceIfPossible","partition":"80%","maxUnavailable":1,"maxSurge":0,"inPlaceUpdateStrategy":{"gracePeriodSeconds":3}}`)
	beta := object("v1beta1", `,"apps.kruise.io/cloneset-scaling-exclude-preparing-delete":"true"`,
		`{"podsToDelete":["a"],"enablePVCReuse":false,"excludePreparingDelete":true}`,
		`{"type":"RollingUpdate","rollingUpdate":{"podUpdatePolicy":"InPlaceIfPossible","partition":"80%","maxUnavailable":1,"maxSurge":0,"inPlaceUpdateStrategy":{"gracePeriodSeconds":3}}}`)
	got := converted(t, "v1beta1", alpha)
	var value any
	if err := json.Unmarshal([]byte(got), &value); err != nil {
		t.Fatal(err)
	}
	if reuse, found := at(value, "spec", "scaleStrategy").(map[string]any)["enablePVCReuse"]; !found {
		beta = strings.Replace(beta, `"enablePVCReuse":false,`, "", 1)
	} else if reuse != false {
		t.Errorf("enablePVCReuse %v, want false", reuse)
	}
	if diff := same(t, beta, got); diff != "" {
		t.Errorf("v1beta1 (-want +got):\n%s", diff)
	}
	if diff := same(t, alpha, converted(t, "v1alpha1", got)); diff != "" {
		t.Errorf("back in v1alpha1 (-want +got):\n%s", diff)
	}
	if got := converted(t, "v1beta1", got); !strings.Contains(got, `"future":[1.0]`) {
		t.Errorf("a number was spelled anew in %s", got)
	}
}

func TestConversionOfMany(t *testing.T) {
	t.Parallel()
	var objects []string
	for i := range 200 {
		objects = append(objects, strings.Replace(setOf("v1alpha1", ""), `"web"`, fmt.Sprintf(`"web-%d"`, i), 1))
	}
	response := turn(t, "v1beta1", objects...)
	for i, o := range response.ConvertedObjects {
		if want := fmt.Sprintf(`"name":"web-%d"`, i); !strings.Contains(string(o.Raw), want) {
			t.Fatalf("object %d is %s, want %s", i, o.Raw, want)
		}
	}
	if len(response.ConvertedObjects) != len(objects) {
		t.Errorf("%d objects for %d", len(response.ConvertedObjects), len(objects))
	}
	if empty := turn(t, "v1beta1"); empty.Result.Status != metav1.StatusSuccess {
		t.Errorf("no objects: %+v", empty.Result)
	}
}

// One that cannot be converted fails the review, with a reason.
func TestConversionRefuses(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, wanted, object, says string }{
		{"an unknown version", "v2", setOf("v1beta1", ""), "want a conversion between"},
		{"another kind", "v1beta1", `{"apiVersion":"apps.kruise.io/v1alpha1","kind":"Fish"}`, "apps.kruise.io/v1alpha1 Fish cannot be converted"},
		{"another group", "v1beta1", `{"apiVersion":"apps/v1","kind":"CloneSet"}`, "cannot be converted"},
		{"no object", "v1beta1", `7`, "no object"},
		{"a strategy that is none", "v1beta1", setOf("v1alpha1", `,"updateStrategy":7`), "updateStrategy"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			response := turn(t, tc.wanted, setOf("v1beta1", ""), tc.object)
			if response.Result.Status != metav1.StatusFailure || len(response.ConvertedObjects) > 0 || !strings.Contains(response.Result.Message, tc.says) {
				t.Errorf("got %+v, want a failure that says %q", response, tc.says)
			}
		})
	}
	recorder := httptest.NewRecorder()
	handlers(features.Defaults())[convertPath].ServeHTTP(recorder, httptest.NewRequest(http.MethodPost, convertPath, strings.NewReader(`{}`)))
	if recorder.Code != http.StatusBadRequest {
		t.Errorf("an empty review has the answer %d, want 400", recorder.Code)
	}
}

// Whatever a v1beta1 set says, it comes back from v1alpha1 as it was.
func TestConversionThereAndBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rolling := map[string]any{
			"podUpdatePolicy": rapid.SampledFrom([]string{"ReCreate", "InPlaceIfPossible", "InPlaceOnly"}).Draw(t, "policy"),
		}
		for _, field := range []string{"partition", "maxUnavailable", "maxSurge"} {
			if rapid.Bool().Draw(t, field) {
				rolling[field] = rapid.SampledFrom([]any{0.0, 5.0, "20%", "33.3%"}).Draw(t, field+" value")
			}
		}
		strategy := map[string]any{"type": rapid.SampledFrom([]string{"RollingUpdate", "OnDelete"}).Draw(t, "type")}
		if strategy["type"] == "RollingUpdate" || rapid.Bool().Draw(t, "block") {
			strategy["rollingUpdate"] = rolling
		}
		scale := map[string]any{"enablePVCReuse": rapid.Bool().Draw(t, "reuse")}
		text, err := json.Marshal(map[string]any{"scaleStrategy": scale, "updateStrategy": strategy, "extra": rapid.String().Draw(t, "extra")})
		if err != nil {
			t.Fatalf("encode: %v", err)
		}
		set := setOf("v1beta1", ","+strings.TrimSuffix(strings.TrimPrefix(string(text), "{"), "}"))
		back := converted(t, "v1beta1", converted(t, "v1alpha1", set))
		diff := same(t, strings.ReplaceAll(set, `"enablePVCReuse":false`, ``), strings.ReplaceAll(back, `"enablePVCReuse":false`, ``))
		if diff != "" {
			t.Errorf("there and back (-want +got):\n%s", diff)
		}
	})
}
