package install

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/features"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
)

// authority is the CA bundle that new registrations begin with. The manager keeps it afterwards.
func (t *Target) authority(ctx context.Context, config Config, p *Present) ([]byte, error) {
	gates, err := features.Parse(config.FeatureGates)
	if err != nil {
		return nil, err
	}
	namespace, external := config.Namespace, gates.Enabled(features.EnableExternalCerts)
	object, err := t.get(ctx, secretResource, namespace, keys.WebhookSecret)
	if err != nil {
		return nil, err
	}
	switch {
	case object != nil:
	case external:
		return nil, lacksExternal(namespace)
	case p.Complete():
		return nil, nil // everything has one already, unless a webhook has been added
	default:
		return nil, fmt.Errorf("the manager is ready but the Secret %s/%s is not there; next: kubectl kruise install again", namespace, keys.WebhookSecret)
	}
	secret, err := into[corev1.Secret](object)
	if err != nil {
		return nil, err
	}
	if !external {
		return bundle(secret), nil
	}
	if len(secret.Data[externalAuthority]) == 0 || len(secret.Data[certificateKey]) == 0 {
		return nil, lacksExternal(namespace)
	}
	return secret.Data[externalAuthority], nil
}

func lacksExternal(namespace string) error {
	return fmt.Errorf("with EnableExternalCerts somebody else keeps the Secret %s/%s, and it has to be there with %s, %s and tls.key; next: make it, then install again",
		namespace, keys.WebhookSecret, externalAuthority, certificateKey)
}

// Keys of the manager's Secret: the CA in use, the one that will be used, the one that was, and the server's certificate.
var authorityKeys = []string{"ca-cert.pem", "next-ca-cert.pem", "previous-ca-cert.pem"}

const (
	certificateKey = "tls.crt"
	// externalAuthority is the key of the CA in a Secret that somebody else keeps (workloadspread.md C5).
	externalAuthority = "ca.crt"
)

// bundle are the CAs of the manager's Secret that the API server has to trust.
func bundle(secret *corev1.Secret) []byte {
	var all []byte
	for _, key := range authorityKeys {
		if pem := bytes.TrimSpace(secret.Data[key]); len(pem) > 0 {
			all = append(append(all, pem...), '\n')
		}
	}
	return all
}

// trust puts CA bundles into an object that calls the webhook: the one that the cluster has now, else a given one. So an
// installation over another never takes back what the manager has rotated. With besides set the given one is trusted too:
// managers with either may answer while certificates change hands.
func (p *Present) trust(object *unstructured.Unstructured, fresh []byte, besides bool) *unstructured.Unstructured {
	switch object.GetName() {
	case keys.MutatingConfiguration, keys.ValidatingConfiguration:
		now := p.bundles()
		hooks, _, _ := unstructured.NestedSlice(object.Object, "webhooks")
		for _, hook := range hooks {
			hook, ok := hook.(map[string]any)
			if !ok {
				continue
			}
			name, _, _ := unstructured.NestedString(hook, "name")
			put(hook, trusted(now[name], fresh, besides), "clientConfig", "caBundle")
		}
		_ = unstructured.SetNestedSlice(object.Object, hooks, "webhooks") // it was a slice before
		return object
	}
	if crd := p.CRDs[object.GetName()]; object.GetKind() == "CustomResourceDefinition" {
		if strategy, _, _ := unstructured.NestedString(object.Object, "spec", "conversion", "strategy"); strategy != "Webhook" {
			return object
		}
		var now []byte
		if converts(crd) && crd.Spec.Conversion.Webhook != nil && crd.Spec.Conversion.Webhook.ClientConfig != nil {
			now = crd.Spec.Conversion.Webhook.ClientConfig.CABundle
		}
		put(object.Object, trusted(now, fresh, besides), "spec", "conversion", "webhook", "clientConfig", "caBundle")
	}
	return object
}

func trusted(now, fresh []byte, besides bool) []byte {
	switch {
	case len(now) == 0:
		return fresh
	case besides && !bytes.Contains(now, bytes.TrimSpace(fresh)):
		return slices.Concat(bytes.TrimSpace(now), []byte("\n"), fresh)
	}
	return now
}

func put(object map[string]any, bundle []byte, path ...string) {
	if len(bundle) > 0 {
		_ = unstructured.SetNestedField(object, base64.StdEncoding.EncodeToString(bundle), path...) // the path exists: we rendered it
	}
}

// bundles are the CA bundles of the webhooks that are registered now, by the webhook's name.
func (p *Present) bundles() map[string][]byte {
	all := map[string][]byte{}
	add := func(name string, client admissionv1.WebhookClientConfig) {
		if len(client.CABundle) > 0 {
			all[name] = client.CABundle
		}
	}
	if p.Mutating != nil {
		for _, hook := range p.Mutating.Webhooks {
			add(hook.Name, hook.ClientConfig)
		}
	}
	if p.Validating != nil {
		for _, hook := range p.Validating.Webhooks {
			add(hook.Name, hook.ClientConfig)
		}
	}
	return all
}
