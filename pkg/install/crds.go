package install

import (
	"embed"
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
)

//go:embed crds/*.yaml
var generated embed.FS

// Rendering is a form of the CRDs.
type Rendering int

const (
	// CRDsOnly serves and stores v1alpha1 alone. It suits a cluster without
	// the webhook: where two versions are served and nothing converts, the API
	// server prunes the fields that moved.
	CRDsOnly Rendering = iota
	// Full serves both versions and stores v1beta1. It needs the conversion
	// webhook; until the CA bundle is set the API server cannot call it.
	Full
)

const (
	alpha = "v1alpha1"
	beta  = "v1beta1"
)

// CRDs are the custom resource definitions for the usual install namespace,
// sorted by name. The caller may change them.
func CRDs(rendering Rendering) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	return CRDsIn(keys.InstallNamespace, rendering)
}

// CRDsIn are the definitions for a conversion webhook in a namespace.
func CRDsIn(namespace string, rendering Rendering) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	files, err := generated.ReadDir("crds")
	if err != nil {
		return nil, fmt.Errorf("list embedded CRDs: %w", err)
	}
	crds := make([]*apiextensionsv1.CustomResourceDefinition, 0, len(files))
	for _, file := range files {
		data, err := generated.ReadFile("crds/" + file.Name())
		if err != nil {
			return nil, fmt.Errorf("read embedded CRD: %w", err)
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(data, crd); err != nil {
			return nil, fmt.Errorf("decode embedded CRD %s: %w", file.Name(), err)
		}
		render(crd, namespace, rendering)
		crds = append(crds, crd)
	}
	return crds, nil
}

// render turns a CRD with both versions into one form.
func render(crd *apiextensionsv1.CustomResourceDefinition, namespace string, rendering Rendering) {
	if rendering == Full {
		store(crd, beta)
		crd.Spec.Conversion = conversion(namespace)
		return
	}
	crd.Spec.Versions = slices.DeleteFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
		return v.Name != alpha
	})
	store(crd, alpha)
}

// store makes one version the stored one.
func store(crd *apiextensionsv1.CustomResourceDefinition, version string) {
	for i := range crd.Spec.Versions {
		crd.Spec.Versions[i].Storage = crd.Spec.Versions[i].Name == version
	}
}

func conversion(namespace string) *apiextensionsv1.CustomResourceConversion {
	return &apiextensionsv1.CustomResourceConversion{
		Strategy: apiextensionsv1.WebhookConverter,
		Webhook: &apiextensionsv1.WebhookConversion{
			ClientConfig: &apiextensionsv1.WebhookClientConfig{Service: &apiextensionsv1.ServiceReference{
				Namespace: namespace,
				Name:      keys.WebhookService,
				Path:      ptr.To(keys.ConvertPath),
				Port:      ptr.To(keys.WebhookServicePort),
			}},
			ConversionReviewVersions: []string{"v1", "v1beta1"},
		},
	}
}

// CRDsOnlyRefused says why the rendering CRDsOnly must not be laid over a CRD
// that is in the cluster, or nothing when it may. It would take away a version
// that is in use, and with it the fields that only that version has.
func CRDsOnlyRefused(present *apiextensionsv1.CustomResourceDefinition) string {
	if c := present.Spec.Conversion; c != nil && c.Strategy == apiextensionsv1.WebhookConverter {
		return fmt.Sprintf("%s converts between its versions by a webhook", present.Name)
	}
	if slices.Contains(present.Status.StoredVersions, beta) {
		return fmt.Sprintf("%s has objects stored as %s", present.Name, beta)
	}
	for _, version := range present.Spec.Versions {
		if version.Name == beta && version.Served {
			return fmt.Sprintf("%s already serves %s", present.Name, beta)
		}
	}
	return ""
}
