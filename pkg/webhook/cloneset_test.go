package webhook_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/features"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/webhook"
)

const setTemplate = `"template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"c","image":"i","future":1}]}}`

// setOf is a CloneSet whose spec holds more than what it needs.
func setOf(version, more string) string {
	return fmt.Sprintf(`{"apiVersion":"apps.kruise.io/%s","kind":"CloneSet","metadata":{"name":"web","namespace":"team","uid":"1","resourceVersion":"5"},`+
		`"spec":{"selector":{"matchLabels":{"app":"web"}},%s%s}}`, version, setTemplate, more)
}

// cloneset.md 13.1.
func TestDefaulting(t *testing.T) {
	t.Parallel()
	noTemplate := features.Defaults().With(features.TemplateNoDefaults, true)
	image := strings.ReplaceAll
	for _, tc := range []struct {
		name, version, more string
		operation           admissionv1.Operation
		old                 string
		gates               features.Gates
		strategy            string
		pullPolicy          any
	}{
		{"13.1/3 v1alpha1", "v1alpha1", "", admissionv1.Create, "", features.Defaults(),
			`{"maxSurge":0,"maxUnavailable":"20%","partition":0,"type":"ReCreate"}`, "Always"},
		{"13.1/4 v1beta1", "v1beta1", "", admissionv1.Create, "", features.Defaults(),
			`{"rollingUpdate":{"maxSurge":0,"maxUnavailable":"20%","partition":0,"podUpdatePolicy":"ReCreate"},"type":"RollingUpdate"}`, "Always"},
		{"13.1/4 OnDelete is left alone", "v1beta1", `,"updateStrategy":{"type":"OnDelete"}`, admissionv1.Create, "", features.Defaults(),
			`{"type":"OnDelete"}`, "Always"},
		{"13.1/2 not with TemplateNoDefaults", "v1beta1", `,"updateStrategy":{"type":"OnDelete"}`, admissionv1.Create, "", noTemplate,
			`{"type":"OnDelete"}`, nil},
		{"13.1/2 an update of another field", "v1beta1", `,"replicas":3,"updateStrategy":{"type":"OnDelete"}`, admissionv1.Update,
			setOf("v1beta1", `,"replicas":2,"updateStrategy":{"type":"OnDelete"}`), features.Defaults(), `{"type":"OnDelete"}`, nil},
		{"13.1/2 an update of the template", "v1beta1", `,"updateStrategy":{"type":"OnDelete"}`, admissionv1.Update,
			image(setOf("v1beta1", `,"updateStrategy":{"type":"OnDelete"}`), `"image":"i"`, `"image":"old"`), features.Defaults(), `{"type":"OnDelete"}`, "Always"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			request := ofCloneSet(tc.operation, tc.version, setOf(tc.version, tc.more), tc.old)
			got := ask(t, handlers(tc.gates), keys.MutateCloneSetPath, request)
			if !got.Allowed {
				t.Fatalf("refused: %+v", got)
			}
			strategy, err := json.Marshal(at(got.Object, "spec", "updateStrategy"))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.strategy, string(strategy)); diff != "" {
				t.Errorf("strategy (-want +got):\n%s", diff)
			}
			if got := at(got.Object, "spec", "template", "spec", "containers", 0, "imagePullPolicy"); got != tc.pullPolicy {
				t.Errorf("imagePullPolicy %v, want %v", got, tc.pullPolicy)
			}
			if at(got.Object, "spec", "template", "spec", "containers", 0, "future") == nil { // H9
				t.Errorf("the unknown field is lost: %v", got.Object)
			}
		})
	}
}

// A second pass over the result changes nothing.
func TestDefaultingTwice(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"v1alpha1", "v1beta1"} {
		h := handlers(features.Defaults())
		once := ask(t, h, keys.MutateCloneSetPath, ofCloneSet(admissionv1.Create, version, setOf(version, ""), ""))
		object, err := json.Marshal(once.Object)
		if err != nil {
			t.Fatal(err)
		}
		if twice := ask(t, h, keys.MutateCloneSetPath, ofCloneSet(admissionv1.Create, version, string(object), "")); twice.Object != nil {
			t.Errorf("%s: the second pass gives %v", version, twice.Object)
		}
	}
}

// cloneset.md 13.2, as far as it is about asking and answering; the rules themselves are tested beside them.
func TestValidation(t *testing.T) {
	t.Parallel()
	rolling := `,"replicas":3,"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"podUpdatePolicy":"%s","partition":%s,"maxUnavailable":%s,"maxSurge":%s}}`
	beta := func(policy, partition, unavailable, surge string) string {
		return setOf("v1beta1", fmt.Sprintf(rolling, policy, partition, unavailable, surge))
	}
	fine := beta("ReCreate", "0", `"20%"`, "0")
	protected := func(value string) string {
		return strings.Replace(fine, `"name":"web"`, `"name":"web","labels":{"policy.kruise.io/delete-protection":"`+value+`"}`, 1)
	}
	on := features.Defaults().With(features.ResourcesDeletionProtection, true)
	for _, tc := range []struct {
		name, version string
		operation     admissionv1.Operation
		object, old   string
		gates         features.Gates
		code          int32 // 0: allowed
		says          string
		warnings      []string
	}{
		{"13.2 fine", "v1beta1", admissionv1.Create, fine, "", features.Defaults(), 0, "", nil},
		{"13.2 v1alpha1", "v1alpha1", admissionv1.Create, setOf("v1alpha1", `,"updateStrategy":{"type":"ReCreate","partition":0,"maxUnavailable":"20%","maxSurge":0}`), "", features.Defaults(), 0, "", nil},
		{"PF-CS-8 a text without %", "v1beta1", admissionv1.Create, beta("ReCreate", "0", `"5"`, "0"), "", features.Defaults(), 422, "spec.updateStrategy.rollingUpdate.maxUnavailable", nil},
		{"PF-CS-8 both zero", "v1beta1", admissionv1.Create, beta("ReCreate", "0", "0", "0"), "", features.Defaults(), 422, "maxUnavailable", nil},
		{"PF-CS-8 InPlaceOnly with a surge", "v1beta1", admissionv1.Create, beta("InPlaceOnly", "0", "1", "1"), "", features.Defaults(), 422, "maxSurge", nil},
		{"13.2 another selector", "v1beta1", admissionv1.Update, fine, strings.Replace(fine, `{"matchLabels":{"app":"web"}}`, `{"matchLabels":{"app":"x"}}`, 1), features.Defaults(), 422, "spec.selector", nil},
		{"13.2 protected from deletion", "v1beta1", admissionv1.Delete, "", protected("Always"), on, 403, "", nil},
		{"13.2 protected while it has pods", "v1beta1", admissionv1.Delete, "", protected("Cascading"), on, 403, "", nil},
		{"13.2 protection without the gate", "v1beta1", admissionv1.Delete, "", protected("Always"), features.Defaults(), 0, "", nil},
		{"13.2 a deletion without the object", "v1beta1", admissionv1.Delete, "", "", on, 0, "", nil},
		{"13.2 no CloneSet", "v1beta1", admissionv1.Create, `{"spec":{"replicas":"many"}}`, "", features.Defaults(), 400, "", nil},
		{"an unknown version", "v2", admissionv1.Create, fine, "", features.Defaults(), 400, "want v1alpha1 or v1beta1", nil},
		{"an update without the old object", "v1beta1", admissionv1.Update, fine, "", features.Defaults(), 400, "", nil},
		{"warned: the partition keeps all", "v1beta1", admissionv1.Create, beta("ReCreate", "7", "1", "0"), "", features.Defaults(), 0, "",
			[]string{"partition 7 is more than the 3 replicas: no pod will be updated"}},
		{"warned: all at once", "v1beta1", admissionv1.Create, beta("ReCreate", "0", `"100%"`, "0"), "", features.Defaults(), 0, "",
			[]string{"maxUnavailable 100% lets all 3 pods be unavailable at once"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got := ask(t, handlers(tc.gates), keys.ValidateCloneSetPath, ofCloneSet(tc.operation, tc.version, tc.object, tc.old))
			if tc.code == 0 != got.Allowed || tc.code != 0 && got.Code != tc.code || !strings.Contains(got.Message, tc.says) {
				t.Errorf("got %+v, want code %d and %q", got, tc.code, tc.says)
			}
			if diff := cmp.Diff(tc.warnings, got.Warnings); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

// cloneset.md 13.2: names newly added to podsToDelete.
func TestPodsToDelete(t *testing.T) {
	t.Parallel()
	set := func(names string) string {
		return setOf("v1beta1", `,"scaleStrategy":{"podsToDelete":[`+names+`]},"updateStrategy":{"type":"OnDelete"}`)
	}
	mine := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{UID: "1", Controller: ptr.To(true)}}}}
	pods := func(_ context.Context, namespace, name string) (*corev1.Pod, error) {
		switch {
		case namespace != "team":
			return nil, fmt.Errorf("asked in %s", namespace)
		case name == "mine":
			return mine, nil
		case name == "broken":
			return nil, errors.New("no answer")
		}
		return nil, nil
	}
	for _, tc := range []struct {
		name, object, old string
		code              int32
		warnings          []string
	}{
		{"a pod of the set", set(`"mine"`), set(""), 0, nil},
		{"there is none", set(`"mine","gone"`), set(""), 422, nil},
		{"it was there before", set(`"gone"`), set(`"gone"`), 0, nil},
		{"the server does not answer", set(`"broken","gone"`), set(""), 0,
			[]string{"spec.scaleStrategy.podsToDelete: not compared with the pods: no answer"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			h := webhook.Handlers(webhook.Options{Gates: features.Defaults(), FindPod: pods})
			got := ask(t, h, keys.ValidateCloneSetPath, ofCloneSet(admissionv1.Update, "v1beta1", tc.object, tc.old))
			if tc.code == 0 != got.Allowed || tc.code != 0 && got.Code != tc.code {
				t.Errorf("got %+v, want code %d", got, tc.code)
			}
			if diff := cmp.Diff(tc.warnings, got.Warnings); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}
