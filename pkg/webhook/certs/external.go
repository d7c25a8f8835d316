package certs

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// keyCAOfOthers is the CA in a Secret that somebody else keeps, cert-manager for example (workloadspread.md C5). The CA's own
// key is not needed here.
const keyCAOfOthers = "ca.crt"

// keptByOthers says that a Secret is somebody else's to keep, and would be spoiled by what we store.
func keptByOthers(data map[string]any) bool {
	return len(value(data, keyCAOfOthers)) > 0 && len(value(data, keyCACert)) == 0
}

// keptError says that the Secret is not ours to renew.
type keptError struct{ secret string }

func (e *keptError) Error() string {
	return fmt.Sprintf("secret %s has %s and is kept by somebody else: it is served as it is, and nobody renews it; turn the gate EnableExternalCerts on, or delete the secret",
		e.secret, keyCAOfOthers)
}

// stateOfOthers reads the data of such a Secret in its JSON form.
func stateOfOthers(data map[string]any) State {
	return State{ca: pair{cert: value(data, keyCAOfOthers)}, server: pair{value(data, keyTLSCert), value(data, keyTLSKey)}}
}

// followOthers serves the certificate that somebody else keeps. The first one has to be good for our name and trusted
// wherever the API server is told to call us, and until then there is none; later ones are served, and what is wrong with
// the trust is only said.
func (k *Keeper) followOthers(ctx context.Context) error {
	state, _, err := k.read(ctx)
	if err != nil {
		return err
	}
	if err := state.server.serves(state.ca.cert, k.Policy.Names[:1], k.Now()); err != nil {
		return fmt.Errorf("the certificate in secret %s/%s cannot be used: %w", k.Namespace, k.Secret, err)
	}
	distrust := k.calling(ctx, true, func(resource schema.GroupVersionResource, object *unstructured.Unstructured) error {
		trusting := bundles(resource, object.Object)
		for _, what := range slices.Sorted(maps.Keys(trusting)) {
			if !bytes.Contains(trusting[what], bytes.TrimSpace(state.ca.cert)) {
				return fmt.Errorf("%s %s: %s does not trust %s of secret %s/%s", resource.Resource, object.GetName(), what, keyCAOfOthers, k.Namespace, k.Secret)
			}
		}
		return nil
	})
	if len(k.Bundle()) == 0 && distrust != nil {
		return distrust
	}
	if err := k.load(state); err != nil {
		return err
	}
	return distrust
}

// bundles are the CAs that an object trusts, by what it calls.
func bundles(resource schema.GroupVersionResource, object map[string]any) map[string][]byte {
	found := map[string][]byte{}
	note := func(what string, config map[string]any, path ...string) {
		text, _, _ := unstructured.NestedString(config, path...)
		bundle, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			bundle = nil
		}
		found[what] = bundle
	}
	if resource == crds {
		if strategy, _, _ := unstructured.NestedString(object, "spec", "conversion", "strategy"); strategy == "Webhook" {
			note("conversion", object, "spec", "conversion", "webhook", "clientConfig", "caBundle")
		}
		return found
	}
	webhooks, _, _ := unstructured.NestedSlice(object, "webhooks")
	for _, entry := range webhooks {
		webhook, _ := entry.(map[string]any)
		name, _, _ := unstructured.NestedString(webhook, "name")
		note("webhook "+name, webhook, "clientConfig", "caBundle")
	}
	return found
}
