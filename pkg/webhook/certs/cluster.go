package certs

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
)

var (
	secrets    = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	mutating   = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "mutatingwebhookconfigurations"}
	validating = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingwebhookconfigurations"}
	crds       = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
)

// manager owns the fields that are written here, apart from what the installation applies.
const manager = "kruise-agent"

func (k *Keeper) read(ctx context.Context) (State, *unstructured.Unstructured, error) {
	secret, err := k.Client.Resource(secrets).Namespace(k.Namespace).Get(ctx, k.Secret, metav1.GetOptions{})
	if err != nil {
		return State{}, nil, fmt.Errorf("read secret %s/%s: %w", k.Namespace, k.Secret, err)
	}
	data, _, _ := unstructured.NestedMap(secret.Object, "data")
	if k.External || keptByOthers(data) {
		return stateOfOthers(data), secret, nil
	}
	return stateFrom(data), secret, nil
}

// store writes a state over the Secret as it was read, nil for one that is missing. Keys of others stay.
func (k *Keeper) store(ctx context.Context, secret *unstructured.Unstructured, s State) error {
	resource := k.Client.Resource(secrets).Namespace(k.Namespace)
	create := secret == nil
	if create {
		secret = &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "Secret", "type": "Opaque",
			"metadata": map[string]any{
				"name": k.Secret, "namespace": k.Namespace, "labels": map[string]any{keys.ManagedByLabel: keys.FieldManager},
			},
		}}
	}
	data, _, _ := unstructured.NestedMap(secret.Object, "data")
	if data == nil {
		data = map[string]any{}
	}
	values := s.data()
	for _, key := range ownKeys {
		if value := values[key]; len(value) > 0 {
			data[key] = base64.StdEncoding.EncodeToString(value)
		} else {
			delete(data, key)
		}
	}
	secret.Object["data"] = data
	var err error
	if create {
		_, err = resource.Create(ctx, secret, metav1.CreateOptions{FieldManager: manager})
	} else {
		_, err = resource.Update(ctx, secret, metav1.UpdateOptions{FieldManager: manager})
	}
	return err
}

// publish makes the API server trust the CAs: in the webhook configurations and, with full set, in the CRDs.
func (k *Keeper) publish(ctx context.Context, bundle []byte, full bool) error {
	text := base64.StdEncoding.EncodeToString(bundle)
	return k.calling(ctx, full, func(resource schema.GroupVersionResource, object *unstructured.Unstructured) error {
		ops := webhookPatch(object.Object, text)
		if resource == crds {
			ops = conversionPatch(object.Object, text)
		}
		if len(ops) == 0 {
			return nil
		}
		body, err := json.Marshal(ops)
		if err != nil {
			return err
		}
		name := object.GetName()
		if _, err = k.Client.Resource(resource).Patch(ctx, name, types.JSONPatchType, body, metav1.PatchOptions{FieldManager: manager}); err != nil {
			return fmt.Errorf("write the CA into %s %s: %w", resource.Resource, name, err)
		}
		return nil
	})
}

// calling reads what makes the API server call us, as far as it exists: webhook configurations and, with full set, CRDs.
func (k *Keeper) calling(ctx context.Context, full bool, do func(schema.GroupVersionResource, *unstructured.Unstructured) error) error {
	sources := []struct {
		resource schema.GroupVersionResource
		names    []string
	}{{mutating, k.Mutating}, {validating, k.Validating}, {crds, k.CRDs}}
	if !full {
		sources = sources[:2]
	}
	for _, source := range sources {
		for _, name := range source.names {
			object, err := k.Client.Resource(source.resource).Get(ctx, name, metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				continue
			}
			if err != nil {
				return fmt.Errorf("read %s %s: %w", source.resource.Resource, name, err)
			}
			if err := do(source.resource, object); err != nil {
				return err
			}
		}
	}
	return nil
}

// operation is one step of a JSON patch.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// webhookPatch sets the bundle of every webhook that has another one. The test of the name keeps it from hitting another
// webhook when the list has changed since.
func webhookPatch(object map[string]any, bundle string) []operation {
	webhooks, _, _ := unstructured.NestedSlice(object, "webhooks")
	var ops []operation
	for i, entry := range webhooks {
		webhook, _ := entry.(map[string]any)
		name, _, _ := unstructured.NestedString(webhook, "name")
		if present, _, _ := unstructured.NestedString(webhook, "clientConfig", "caBundle"); present == bundle {
			continue
		}
		at := fmt.Sprintf("/webhooks/%d/", i)
		ops = append(ops, operation{"test", at + "name", name}, operation{"add", at + "clientConfig/caBundle", bundle})
	}
	return ops
}

// conversionPatch sets the bundle of a CRD that converts by webhook.
func conversionPatch(object map[string]any, bundle string) []operation {
	strategy, _, _ := unstructured.NestedString(object, "spec", "conversion", "strategy")
	present, _, _ := unstructured.NestedString(object, "spec", "conversion", "webhook", "clientConfig", "caBundle")
	if _, found, _ := unstructured.NestedMap(object, "spec", "conversion", "webhook", "clientConfig"); !found || strategy != "Webhook" || present == bundle {
		return nil
	}
	return []operation{
		{"test", "/spec/conversion/strategy", strategy},
		{"add", "/spec/conversion/webhook/clientConfig/caBundle", bundle},
	}
}
