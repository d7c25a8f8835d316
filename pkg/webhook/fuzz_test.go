package webhook_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	"pgregory.net/rapid"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/features"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
)

// allGates turns on what can be turned on, so that every step has its say.
func allGates(t tester) features.Gates {
	t.Helper()
	gates, err := features.Parse("AllAlpha=true,AllBeta=true,TemplateNoDefaults=false")
	if err != nil {
		t.Fatalf("gates: %v", err)
	}
	return gates
}

// survive sends an object everywhere and fails when an answer is a panic, takes a second, or is a patch that cannot be
// applied.
func survive(t tester, object string) {
	t.Helper()
	if !json.Valid([]byte(object)) {
		return // the API server sends JSON
	}
	h := handlers(allGates(t))
	timed := func(what string, f func() verdict) {
		v := f()
		for try := 1; v.Took > time.Second && try < 5; try++ { // other processes may have had the processors
			v = f()
		}
		if v.Took > time.Second {
			t.Fatalf("%s: %.200s took %s", what, object, v.Took)
		}
		if strings.Contains(v.Message, "panic") {
			t.Fatalf("%s: %.200s: %s", what, object, v.Message)
		}
	}
	timed("pod", func() verdict { return ask(t, h, podPath, creation("team", object)) })
	for _, version := range []string{"v1alpha1", "v1beta1"} {
		for _, path := range []string{keys.MutateCloneSetPath, keys.ValidateCloneSetPath} {
			timed(version+" create", func() verdict { return ask(t, h, path, ofCloneSet(admissionv1.Create, version, object, "")) })
			timed(version+" update", func() verdict {
				return ask(t, h, path, ofCloneSet(admissionv1.Update, version, object, setOf(version, "")))
			})
			timed(version+" delete", func() verdict { return ask(t, h, path, ofCloneSet(admissionv1.Delete, version, "", object)) })
		}
		if response := turn(t, version, object); strings.Contains(response.Result.Message, "panic") {
			t.Fatalf("conversion of %.200s: %+v", object, response.Result)
		}
	}
}

// hostile are objects that somebody has thought of.
var hostile = []string{
	`{}`, `null`, `[]`, `""`, `{"metadata":null,"spec":null}`, `{"spec":{"containers":null}}`, `{"spec":{"containers":[null,{}]}}`,
	`{"spec":{"containers":[{"name":"c","resources":{"limits":{"cpu":"1e999999999","memory":"-1Ei"}}}]}}`,
	`{"spec":{"containers":[{"name":"c","env":[{"name":"KRUISE_CONTAINER_PRIORITY","value":"99999999999999999999"}]}]}}`,
	`{"spec":{"containers":[{"name":"c","env":[{"name":"KRUISE_CONTAINER_PRIORITY","valueFrom":{}}]},{"name":"c"}]}}`,
	`{"metadata":{"ownerReferences":[{"apiVersion":"a/b/c","kind":"","controller":true}]},"spec":{}}`,
	`{"metadata":{"annotations":{"apps.kruise.io/container-launch-priority":"Ordered"}},"spec":{"containers":[{}]}}`,
	`{"spec":{"replicas":-2147483648,"template":{"spec":{"hostNetwork":true,"containers":[{"ports":[{"containerPort":-1}]}]}}}}`,
	`{"apiVersion":"apps.kruise.io/v1alpha1","kind":"CloneSet","metadata":7,"spec":[]}`,
	`{"apiVersion":"apps.kruise.io/v1alpha1","kind":"CloneSet","spec":{"updateStrategy":{"type":"OnDelete","partition":"-5%","maxSurge":"%","priorityStrategy":{"weightPriority":[{"weight":-1}],"orderPriority":[{}]}}}}`,
	`{"apiVersion":"apps.kruise.io/v1beta1","kind":"CloneSet","spec":{"updateStrategy":{"rollingUpdate":{"maxUnavailable":"9223372036854775807%","maxSurge":9223372036854775807}}}}`,
	`{"apiVersion":"apps.kruise.io/v1beta1","kind":"CloneSet","spec":{"selector":{"matchExpressions":[{"key":"","operator":"?","values":[]}]}}}`,
	`{"apiVersion":"apps.kruise.io/v1alpha1","kind":"CloneSet","metadata":{"annotations":{"apps.kruise.io/image-predownload-parallelism":"","kubectl-kruise.github.io/on-delete-pod-update-policy":"x"}},"spec":{"updateStrategy":{"type":"OnDelete"}}}`,
	`{"apiVersion":"apps.kruise.io/v1beta1","kind":"CloneSet","metadata":{"annotations":{"kubectl-kruise.github.io/v1alpha1-update-strategy":"{\"partition\":{}}"}},"spec":{"updateStrategy":{"type":"OnDelete"}}}`,
	`{"spec":{"volumeClaimTemplates":[null],"template":{"spec":{"volumes":[null,{"name":"v","projected":null}],"initContainers":[null]}}}}`,
}

// large is an object with n containers that have n variables.
func large(n int) string {
	variables := strings.TrimSuffix(strings.Repeat(`{"name":"A","value":"b"},`, n), ",")
	containers := strings.TrimSuffix(strings.Repeat(`{"name":"c","image":"i","env":[`+variables+`]},`, n), ",")
	return `{"apiVersion":"apps.kruise.io/v1beta1","kind":"CloneSet","metadata":{"name":"p",` + kruiseOwner + `},"spec":{"selector":{"matchLabels":{"a":"b"}},"containers":[` +
		containers + `],"template":{"spec":{"containers":[` + containers + `]}}}}`
}

func TestHostileObjects(t *testing.T) {
	t.Parallel()
	for _, object := range hostile {
		survive(t, object)
	}
	survive(t, large(40)) // 80 kB, more than pods have
	survive(t, `{"spec":`+strings.Repeat(`{"a":`, 5000)+`1`+strings.Repeat(`}`, 5001))
}

// FuzzAdmission: `go test -fuzz Admission ./pkg/webhook` looks for more.
func FuzzAdmission(f *testing.F) {
	for _, object := range hostile {
		f.Add(object)
	}
	f.Add(podOf(kruiseOwner, ""))
	f.Add(setOf("v1alpha1", ""))
	f.Add(setOf("v1beta1", `,"updateStrategy":{"type":"OnDelete"}`))
	f.Fuzz(func(t *testing.T, object string) { survive(t, object) })
}

// words are what random objects are made of: the fields that the code reads, with values of any shape.
var words = []string{
	"metadata", "name", "labels", "annotations", "ownerReferences", "spec", "containers", "initContainers", "env", "value", "valueFrom",
	"ports", "containerPort", "resources", "limits", "requests", "cpu", "volumes", "readinessGates", "conditionType", "template",
	"updateStrategy", "rollingUpdate", "type", "partition", "maxUnavailable", "maxSurge", "podUpdatePolicy", "inPlaceUpdateStrategy",
	"priorityStrategy", "weightPriority", "orderPriority", "scatterStrategy", "selector", "matchLabels", "matchExpressions",
	"scaleStrategy", "podsToDelete", "replicas", "status", "volumeClaimTemplates", "lifecycle", "preDelete", "controller", "apiVersion",
}

func drawObject(t *rapid.T, depth int) any {
	switch kind := rapid.IntRange(0, 7).Draw(t, "kind"); {
	case kind == 0:
		return nil
	case kind == 1:
		return rapid.SampledFrom([]any{0, -1, 1 << 40, 0.5, true, "", "20%", "OnDelete", "1Gi", "apps.kruise.io/v1beta1"}).Draw(t, "value")
	case kind == 2 || depth == 0:
		return rapid.String().Draw(t, "text")
	case kind == 3:
		list := []any{}
		for range rapid.IntRange(0, 3).Draw(t, "entries") {
			list = append(list, drawObject(t, depth-1))
		}
		return list
	}
	m := map[string]any{}
	for range rapid.IntRange(1, 6).Draw(t, "fields") {
		m[rapid.SampledFrom(words).Draw(t, "key")] = drawObject(t, depth-1)
	}
	return m
}

func TestRandomObjects(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		object := map[string]any{
			"apiVersion": rapid.SampledFrom([]string{"v1", "apps.kruise.io/v1alpha1", "apps.kruise.io/v1beta1"}).Draw(t, "version"), "kind": "CloneSet",
			"metadata": drawObject(t, 3), "spec": drawObject(t, 6),
		}
		text, err := json.Marshal(object)
		if err != nil {
			t.Fatalf("encode: %v", err)
		}
		survive(t, string(text))
	})
}
