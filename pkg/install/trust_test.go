package install

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/object"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/features"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
)

const cloneSets = "clonesets.apps.kruise.io"

// state is what an installation that was seen in a cluster is said to consist of.
func state(t *testing.T, rendering Rendering, registered bool, ca string) *Present {
	t.Helper()
	crds, err := CRDs(rendering)
	if err != nil {
		t.Fatal(err)
	}
	p := &Present{CRDs: map[string]*apiextensionsv1.CustomResourceDefinition{}}
	for _, crd := range crds {
		if crd.Spec.Conversion != nil {
			crd.Spec.Conversion.Webhook.ClientConfig.CABundle = []byte(ca)
		}
		p.CRDs[crd.Name] = crd
	}
	if registered {
		p.Mutating, p.Validating = mutating(Defaults(), features.Defaults()), validating(Defaults())
		for i := range p.Mutating.Webhooks {
			p.Mutating.Webhooks[i].ClientConfig.CABundle = []byte(ca)
		}
		for i := range p.Validating.Webhooks {
			p.Validating.Webhooks[i].ClientConfig.CABundle = []byte(ca)
		}
	}
	return p
}

// What is rendered over what is there, as "name versions conversion CA".
func seen(t *testing.T, objects []*unstructured.Unstructured) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, o := range objects {
		switch o.GetKind() {
		case "CustomResourceDefinition":
			crd, err := into[apiextensionsv1.CustomResourceDefinition](o)
			if err != nil {
				t.Fatal(err)
			}
			text := ""
			for _, v := range crd.Spec.Versions {
				text += v.Name + " "
			}
			if converts(crd) {
				text += "webhook " + string(crd.Spec.Conversion.Webhook.ClientConfig.CABundle)
			}
			found[o.GetName()] = text
		case "MutatingWebhookConfiguration":
			c, err := into[admissionv1.MutatingWebhookConfiguration](o)
			if err != nil {
				t.Fatal(err)
			}
			for _, hook := range c.Webhooks {
				found[hook.Name] = string(hook.ClientConfig.CABundle)
			}
		case "ValidatingWebhookConfiguration":
			c, err := into[admissionv1.ValidatingWebhookConfiguration](o)
			if err != nil {
				t.Fatal(err)
			}
			for _, hook := range c.Webhooks {
				found[hook.Name] = string(hook.ClientConfig.CABundle)
			}
		}
	}
	return found
}

// external is Complete with the gate EnableExternalCerts.
const external = Complete + 1

func withoutPods(p *Present) *Present {
	p.Mutating.Webhooks = p.Mutating.Webhooks[1:]
	return p
}

func TestNothingGoesBack(t *testing.T) {
	t.Parallel()
	hooks := func(ca, crd string) map[string]string {
		return map[string]string{"mpod.kb.io": ca, "mcloneset.kb.io": ca, "vcloneset.kb.io": ca, cloneSets: crd}
	}
	for _, test := range []struct {
		name    string
		present *Present
		stage   Stage
		ca      string
		want    map[string]string
	}{
		{"an empty cluster, before the managers answer", &Present{}, Running, "", map[string]string{cloneSets: "v1alpha1 "}},
		{"an empty cluster, afterwards", &Present{}, Complete, "new", hooks("new", "v1alpha1 v1beta1 webhook new")},
		{"CRDs alone, before the managers answer", state(t, CRDsOnly, false, ""), Running, "", map[string]string{cloneSets: "v1alpha1 "}},
		{"what is registered stays so, with the CA that was rotated", state(t, Full, true, "now"), Running, "",
			hooks("now", "v1alpha1 v1beta1 webhook now")},
		{"an upgrade keeps the CA that was rotated", state(t, Full, true, "now"), Complete, "old", hooks("now", "v1alpha1 v1beta1 webhook now")},
		{"a run that was interrupted between webhooks and definitions", state(t, CRDsOnly, true, "now"), Complete, "new",
			hooks("now", "v1alpha1 v1beta1 webhook new")},
		{"a webhook that a gate adds", withoutPods(state(t, Full, true, "now")), Complete, "new", map[string]string{
			"mpod.kb.io": "new", "mcloneset.kb.io": "now", "vcloneset.kb.io": "now", cloneSets: "v1alpha1 v1beta1 webhook now"}},
		{"certificates that others keep from now on", state(t, Full, true, "now"), external, "theirs",
			hooks("now\ntheirs", "v1alpha1 v1beta1 webhook now\ntheirs")},
		{"certificates that others keep already", state(t, Full, true, "now\ntheirs\n"), external, "theirs",
			hooks("now\ntheirs\n", "v1alpha1 v1beta1 webhook now\ntheirs\n")},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			config, stage := Defaults(), test.stage
			if stage == external {
				config.FeatureGates, stage = "EnableExternalCerts=true", Complete
			}
			objects, err := test.present.render(config, stage, []byte(test.ca))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, seen(t, objects)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// workloadspread.md C5: during a change of the CA both have to be trusted.
func TestTheBundleHasAllCAs(t *testing.T) {
	t.Parallel()
	secret := &corev1.Secret{Data: map[string][]byte{
		"ca-cert.pem": []byte("one\n"), "next-ca-cert.pem": []byte("two"), "ca-key.pem": []byte("a key"), "key.pem": []byte("a key"),
	}}
	if diff := cmp.Diff("one\ntwo\n", string(bundle(secret))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestOwnerReferences(t *testing.T) {
	t.Parallel()
	owner := func(version string) metav1.OwnerReference {
		return metav1.OwnerReference{APIVersion: version, Kind: "CloneSet", Name: "web", UID: "uid-1"}
	}
	for _, test := range []struct {
		name   string
		owners []metav1.OwnerReference
		want   string
	}{
		{"the other version", []metav1.OwnerReference{owner("apps.kruise.io/v1alpha1")},
			`[{"op":"test","path":"/metadata/ownerReferences/0/uid","value":"uid-1"},{"op":"replace","path":"/metadata/ownerReferences/0/apiVersion","value":"apps.kruise.io/v1beta1"}]`},
		{"this version", []metav1.OwnerReference{owner("apps.kruise.io/v1beta1")}, ""},
		{"another group", []metav1.OwnerReference{owner("apps/v1alpha1")}, ""},
		{"nobody", nil, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			object := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{OwnerReferences: test.owners}}
			if diff := cmp.Diff(test.want, string(references(object, []string{"apps.kruise.io"}, beta))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	elsewhereConfig := Defaults()
	elsewhereConfig.Namespace = "kruise"
	for _, test := range []struct {
		name    string
		present *Present
		config  Config
		want    string
	}{
		{"nothing there", &Present{}, Defaults(), ""},
		{"the same namespace", state(t, Full, true, ""), Defaults(), ""},
		{"another namespace", state(t, Full, true, ""), elsewhereConfig,
			"it is installed in namespace kruise-system already, whole or in part; next: kubectl kruise install --namespace kruise-system, or kubectl kruise uninstall --keep-crds"},
		{"begun in another namespace", &Present{inventory: "kruise-system"}, elsewhereConfig,
			"it is installed in namespace kruise-system already, whole or in part; next: kubectl kruise install --namespace kruise-system, or kubectl kruise uninstall --keep-crds"},
		{"begun in the same namespace", &Present{inventory: "kruise"}, elsewhereConfig, ""},
		{"OpenKruise", &Present{Foreign: "the Deployment kruise-system/kruise-controller-manager"}, Defaults(),
			"OpenKruise is installed here (found the Deployment kruise-system/kruise-controller-manager) and drives already: " +
				"kubectl kruise works with it as it is, nothing has to be installed; to replace it, uninstall it first and keep its CRDs"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := ""
			if err := test.present.refuse(test.config); err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// workloadspread.md H10: webhook configurations go first, and the kinds while the webhook still converts.
func TestTheOrderOfRemoval(t *testing.T) {
	t.Parallel()
	list, err := Manifests(Defaults(), Complete)
	if err != nil {
		t.Fatal(err)
	}
	objects, err := Applied(list)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name string
		keep bool
		want []string
	}{
		{"all", false, []string{"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration", "CustomResourceDefinition", "DaemonSet", "Deployment",
			"ClusterRole", "ClusterRoleBinding", "PodDisruptionBudget", "Role", "RoleBinding", "Service", "ServiceAccount", "ServiceAccount"}},
		{"but for the kinds", true, []string{"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration", "DaemonSet", "Deployment",
			"ClusterRole", "ClusterRoleBinding", "PodDisruptionBudget", "Role", "RoleBinding", "Service", "ServiceAccount", "ServiceAccount"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, s := range steps(object.UnstructuredSetToObjMetadataSet(objects), state(t, Full, true, ""), Removal{Namespace: keys.InstallNamespace, KeepCRDs: test.keep}) {
				var kinds []string
				for _, id := range s.ids {
					kinds = append(kinds, id.GroupKind.Kind)
				}
				slices.Sort(kinds)
				got = append(got, kinds...)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
