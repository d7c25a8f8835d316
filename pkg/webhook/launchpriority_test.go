package webhook_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/features"
)

// launchorder.md 1.2 through the whole pipeline.
func TestLaunchPriority(t *testing.T) {
	t.Parallel()
	pod := func(meta, containers string) string {
		return `{"apiVersion":"v1","kind":"Pod","metadata":{` + meta + `},"spec":{"containers":[` + containers + `]}}`
	}
	const ordered = `"annotations":{"apps.kruise.io/container-launch-priority":"Ordered"}`
	barrier := func(name, key string) any {
		return map[string]any{"name": "KRUISE_CONTAINER_BARRIER", "valueFrom": map[string]any{"configMapKeyRef": map[string]any{"name": name, "key": key}}}
	}
	t.Run("launchorder/4", func(t *testing.T) {
		t.Parallel()
		got := ask(t, handlers(features.Defaults()), podPath, creation("team", pod(`"name":"p",`+ordered, `{"name":"a"},{"name":"b"}`)))
		for i, want := range []any{barrier("p-barrier", "p_0"), barrier("p-barrier", "p_-1")} {
			if diff := cmp.Diff(want, at(got.Object, "spec", "containers", i, "env", 0)); diff != "" || len(got.Warnings) > 0 {
				t.Errorf("%v (-want +got):\n%s", got.Warnings, diff)
			}
		}
	})
	t.Run("launchorder/2 T4", func(t *testing.T) {
		t.Parallel()
		got := ask(t, handlers(features.Defaults()), podPath, creation("team", pod(`"generateName":"web-",`+ordered, `{"name":"a"},{"name":"b"}`)))
		name, _ := at(got.Object, "metadata", "name").(string)
		if !strings.HasPrefix(name, "web-") || len(name) != len("web-")+5 || at(got.Object, "metadata", "generateName") != "web-" {
			t.Errorf("name %q, metadata %v", name, at(got.Object, "metadata"))
		}
		if diff := cmp.Diff(barrier(name+"-barrier", "p_0"), at(got.Object, "spec", "containers", 0, "env", 0)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	for name, value := range map[string]string{
		"launchorder/8 PF-LP-2": `"value":"abc"`, "1.2.3 above the range": `"value":"2147483648"`, "1.2.3 below the range": `"value":"-2147483648"`,
		"1.2.3 a value from elsewhere": `"valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := ask(t, handlers(features.Defaults()), podPath, creation("team", pod(`"name":"p"`, `{"name":"a"},{"name":"b","env":[{"name":"KRUISE_CONTAINER_PRIORITY",`+value+`}]}`)))
			if got.Allowed || got.Code != http.StatusBadRequest || got.Reason != metav1.StatusReasonBadRequest {
				t.Errorf("got %+v, want a bad request", got)
			}
			if !strings.HasPrefix(got.Message, `container "b": KRUISE_CONTAINER_PRIORITY `) || !strings.HasSuffix(got.Message, ": want an integer from -2147483647 to 2147483647") {
				t.Errorf("message %q", got.Message)
			}
		})
	}
	t.Run("launchorder/6", func(t *testing.T) {
		t.Parallel()
		got := ask(t, handlers(features.Defaults()), podPath, creation("team", pod(`"name":"p",`+ordered, `{"name":"a"}`)))
		if diff := cmp.Diff([]string{"launch-priority: the launch priority is ignored: the pod has one container"}, got.Warnings); diff != "" || got.Object != nil {
			t.Errorf("%v (-want +got):\n%s", got.Object, diff)
		}
	})
}
