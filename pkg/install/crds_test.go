package install_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/install"
)

func cloneSetCRD(t *testing.T, rendering install.Rendering) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	crds, err := install.CRDs(rendering)
	if err != nil {
		t.Fatalf("CRDs: %v", err)
	}
	for _, crd := range crds {
		if crd.Name == "clonesets.apps.kruise.io" {
			return crd
		}
	}
	t.Fatal("there is no CRD clonesets.apps.kruise.io")
	return nil
}

func TestRenderings(t *testing.T) {
	t.Parallel()
	type version struct{ Name, State string }
	for _, tc := range []struct {
		name       string
		rendering  install.Rendering
		versions   []version
		conversion string
	}{
		{"without the webhook v1alpha1 alone is served and stored", install.CRDsOnly,
			[]version{{"v1alpha1", "served stored"}}, ""},
		{"with the webhook both are served and v1beta1 is stored", install.Full,
			[]version{{"v1alpha1", "served"}, {"v1beta1", "served stored"}},
			"Webhook kruise-system/kruise-webhook-service:443/convert v1,v1beta1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			crd := cloneSetCRD(t, tc.rendering)
			var versions []version
			for _, v := range crd.Spec.Versions {
				var state []string
				if v.Served {
					state = append(state, "served")
				}
				if v.Storage {
					state = append(state, "stored")
				}
				versions = append(versions, version{v.Name, strings.Join(state, " ")})
			}
			if diff := cmp.Diff(tc.versions, versions); diff != "" {
				t.Errorf("versions (-want +got):\n%s", diff)
			}
			conversion := ""
			if c := crd.Spec.Conversion; c != nil {
				s := c.Webhook.ClientConfig.Service
				conversion = fmt.Sprintf("%s %s/%s:%d%s %s", c.Strategy, s.Namespace, s.Name, *s.Port, *s.Path,
					strings.Join(c.Webhook.ConversionReviewVersions, ","))
			}
			if diff := cmp.Diff(tc.conversion, conversion); diff != "" {
				t.Errorf("conversion (-want +got):\n%s", diff)
			}
		})
	}
}

// cloneset.md 1: what kubectl get shows, and what an autoscaler reads.
func TestCloneSetColumnsAndSubresources(t *testing.T) {
	t.Parallel()
	type column struct {
		Name, Type, Path string
		Priority         int32
	}
	columns := []column{
		{"DESIRED", "integer", ".spec.replicas", 0},
		{"UPDATED", "integer", ".status.updatedReplicas", 0},
		{"UPDATED_READY", "integer", ".status.updatedReadyReplicas", 0},
		{"UPDATED_AVAILABLE", "integer", ".status.updatedAvailableReplicas", 0},
		{"READY", "integer", ".status.readyReplicas", 0},
		{"TOTAL", "integer", ".status.replicas", 0},
		{"AGE", "date", ".metadata.creationTimestamp", 0},
		{"CONTAINERS", "string", ".spec.template.spec.containers[*].name", 1},
		{"IMAGES", "string", ".spec.template.spec.containers[*].image", 1},
		{"SELECTOR", "string", ".status.labelSelector", 1},
	}
	subresources := &apiextensionsv1.CustomResourceSubresources{
		Status: &apiextensionsv1.CustomResourceSubresourceStatus{},
		Scale: &apiextensionsv1.CustomResourceSubresourceScale{
			SpecReplicasPath:   ".spec.replicas",
			StatusReplicasPath: ".status.replicas",
			LabelSelectorPath:  ptr.To(".status.labelSelector"),
		},
	}
	crd := cloneSetCRD(t, install.Full)
	names := apiextensionsv1.CustomResourceDefinitionNames{
		Plural: "clonesets", Singular: "cloneset", ShortNames: []string{"clone"}, Kind: "CloneSet", ListKind: "CloneSetList",
	}
	if diff := cmp.Diff(names, crd.Spec.Names); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	if crd.Spec.Scope != apiextensionsv1.NamespaceScoped {
		t.Errorf("scope %s, want Namespaced", crd.Spec.Scope)
	}
	for _, version := range crd.Spec.Versions {
		var got []column
		for _, c := range version.AdditionalPrinterColumns {
			got = append(got, column{c.Name, c.Type, c.JSONPath, c.Priority})
		}
		if diff := cmp.Diff(columns, got); diff != "" {
			t.Errorf("%s: columns (-want +got):\n%s", version.Name, diff)
		}
		if diff := cmp.Diff(subresources, version.Subresources); diff != "" {
			t.Errorf("%s: subresources (-want +got):\n%s", version.Name, diff)
		}
	}
}

// cloneset.md 1, schema notes.
func TestCloneSetSchema(t *testing.T) {
	t.Parallel()
	for _, version := range cloneSetCRD(t, install.Full).Spec.Versions {
		root := version.Schema.OpenAPIV3Schema
		spec, status := root.Properties["spec"], root.Properties["status"]
		for _, name := range []string{"template", "volumeClaimTemplates"} {
			want := apiextensionsv1.JSONSchemaProps{
				Description: spec.Properties[name].Description, XPreserveUnknownFields: ptr.To(true),
			}
			if diff := cmp.Diff(want, spec.Properties[name]); diff != "" {
				t.Errorf("%s: spec.%s (-want +got):\n%s", version.Name, name, diff)
			}
		}
		if got := ptr.Deref(spec.Properties["selector"].XMapType, ""); got != "atomic" {
			t.Errorf("%s: the selector's map type is %q, want atomic", version.Name, got)
		}
		if diff := cmp.Diff([]string{"selector", "template"}, spec.Required); diff != "" {
			t.Errorf("%s: required in spec (-want +got):\n%s", version.Name, diff)
		}
		required := []string{"availableReplicas", "readyReplicas", "replicas", "updatedReadyReplicas", "updatedReplicas"}
		if diff := cmp.Diff(required, status.Required); diff != "" {
			t.Errorf("%s: required in status (-want +got):\n%s", version.Name, diff)
		}
		defaults := map[string]map[string]string{
			"v1alpha1": {}, "v1beta1": {".spec.scaleStrategy.enablePVCReuse": "false"},
		}[version.Name]
		if diff := cmp.Diff(defaults, defaultsIn(root, "", map[string]string{})); diff != "" {
			t.Errorf("%s: structural defaults (-want +got):\n%s", version.Name, diff)
		}
	}
}

func defaultsIn(s *apiextensionsv1.JSONSchemaProps, path string, found map[string]string) map[string]string {
	if s.Default != nil {
		found[path] = string(s.Default.Raw)
	}
	for name, property := range s.Properties {
		defaultsIn(&property, path+"."+name, found)
	}
	return found
}

// The API server refuses a schema that is not structural.
func TestSchemasAreStructural(t *testing.T) {
	t.Parallel()
	crds, err := install.CRDs(install.Full)
	if err != nil {
		t.Fatalf("CRDs: %v", err)
	}
	for _, crd := range crds {
		for _, version := range crd.Spec.Versions {
			var internal apiextensions.JSONSchemaProps
			if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(version.Schema.OpenAPIV3Schema, &internal, nil); err != nil {
				t.Fatalf("%s %s: %v", crd.Name, version.Name, err)
			}
			structural, err := schema.NewStructural(&internal)
			if err != nil {
				t.Fatalf("%s %s: %v", crd.Name, version.Name, err)
			}
			if errs := schema.ValidateStructural(nil, structural); len(errs) > 0 {
				t.Errorf("%s %s: %v", crd.Name, version.Name, errs.ToAggregate())
			}
		}
	}
}

func TestCRDsOnlyRefused(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		change func(*apiextensionsv1.CustomResourceDefinition)
		want   string
	}{
		{"our own earlier install", func(*apiextensionsv1.CustomResourceDefinition) {}, ""},
		{"a conversion webhook", func(crd *apiextensionsv1.CustomResourceDefinition) {
			crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.WebhookConverter}
		}, "clonesets.apps.kruise.io converts between its versions by a webhook"},
		{"stored as v1beta1", func(crd *apiextensionsv1.CustomResourceDefinition) {
			crd.Status.StoredVersions = []string{"v1alpha1", "v1beta1"}
		}, "clonesets.apps.kruise.io has objects stored as v1beta1"},
		{"serving v1beta1", func(crd *apiextensionsv1.CustomResourceDefinition) {
			crd.Spec.Versions = append(crd.Spec.Versions, apiextensionsv1.CustomResourceDefinitionVersion{Name: "v1beta1", Served: true})
		}, "clonesets.apps.kruise.io already serves v1beta1"},
		{"no longer serving v1beta1", func(crd *apiextensionsv1.CustomResourceDefinition) {
			crd.Spec.Versions = append(crd.Spec.Versions, apiextensionsv1.CustomResourceDefinitionVersion{Name: "v1beta1"})
		}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			crd := cloneSetCRD(t, install.CRDsOnly)
			crd.Status.StoredVersions = []string{"v1alpha1"}
			tc.change(crd)
			if got := install.CRDsOnlyRefused(crd); got != tc.want {
				t.Errorf("reason %q, want %q", got, tc.want)
			}
		})
	}
}

func TestYAML(t *testing.T) {
	t.Parallel()
	want := cloneSetCRD(t, install.CRDsOnly)
	data, err := install.YAML([]*apiextensionsv1.CustomResourceDefinition{want})
	if err != nil {
		t.Fatalf("YAML: %v", err)
	}
	for _, unwanted := range []string{"\nstatus:", "creationTimestamp: null"} {
		if strings.Contains(string(data), unwanted) {
			t.Errorf("the manifest contains %q", unwanted)
		}
	}
	got := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(data, got); err != nil {
		t.Fatalf("decode: %v", err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the manifest says something else (-want +got):\n%s", diff)
	}
}
