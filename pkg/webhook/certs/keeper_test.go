package certs

import (
	"bytes"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/fake"
)

func object(kind, apiVersion, name string, fields map[string]any) *unstructured.Unstructured {
	fields["apiVersion"], fields["kind"], fields["metadata"] = apiVersion, kind, map[string]any{"name": name}
	return &unstructured.Unstructured{Object: fields}
}

func webhooks(names ...string) map[string]any {
	var list []any
	for _, name := range names {
		list = append(list, map[string]any{"name": name, "clientConfig": map[string]any{"url": "https://" + name}})
	}
	return map[string]any{"webhooks": list}
}

func newCluster() dynamic.Interface {
	byWebhook := map[string]any{"spec": map[string]any{"conversion": map[string]any{"strategy": "Webhook", "webhook": map[string]any{"clientConfig": map[string]any{}}}}}
	byNone := map[string]any{"spec": map[string]any{"conversion": map[string]any{"strategy": "None"}}}
	return fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
		map[schema.GroupVersionResource]string{secrets: "SecretList", mutating: "MutatingWebhookConfigurationList", validating: "ValidatingWebhookConfigurationList", crds: "CustomResourceDefinitionList"},
		object("MutatingWebhookConfiguration", "admissionregistration.k8s.io/v1", "m", webhooks("a", "b")),
		object("ValidatingWebhookConfiguration", "admissionregistration.k8s.io/v1", "v", webhooks("c")),
		object("CustomResourceDefinition", "apiextensions.k8s.io/v1", "sets", byWebhook),
		object("CustomResourceDefinition", "apiextensions.k8s.io/v1", "plain", byNone))
}

// bench is a keeper in virtual time.
type bench struct {
	*Keeper
	t      *testing.T
	client dynamic.Interface

	mu  sync.Mutex
	now time.Time
}

func newBench(t *testing.T, client dynamic.Interface) *bench {
	b := &bench{t: t, client: client, now: start}
	b.Keeper = New(Options{
		Client: client, Namespace: "ns", Secret: "certs", Mutating: []string{"m", "absent"}, Validating: []string{"v"}, CRDs: []string{"sets", "plain", "absent"},
		Policy: policy, Every: time.Minute, Log: slog.New(slog.DiscardHandler),
		Now: func() time.Time { b.mu.Lock(); defer b.mu.Unlock(); return b.now },
	})
	return b
}

func (b *bench) pass(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now = b.now.Add(d)
}

// lead looks once as the leader, follow once as any replica.
func (b *bench) lead() {
	b.t.Helper()
	if err := b.Tend(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) follow() {
	b.t.Helper()
	state, _, err := b.read(b.t.Context())
	if err == nil {
		err = b.load(state)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// trusted says whether every place trusts what the keeper serves now, and lists the places.
func (b *bench) trusted() map[string]bool {
	b.t.Helper()
	served, err := b.GetCertificate(nil)
	if err != nil {
		b.t.Fatal(err)
	}
	found := map[string]bool{}
	check := func(place, bundle string) {
		data, _ := base64.StdEncoding.DecodeString(bundle)
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(data)
		_, err := served.Leaf.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: b.Now(), DNSName: "hook.ns.svc"})
		found[place] = err == nil
	}
	for name, resource := range map[string]schema.GroupVersionResource{"m": mutating, "v": validating} {
		obj, err := b.client.Resource(resource).Get(b.t.Context(), name, metav1.GetOptions{})
		if err != nil {
			b.t.Fatal(err)
		}
		list, _, _ := unstructured.NestedSlice(obj.Object, "webhooks")
		for _, entry := range list {
			bundle, _, _ := unstructured.NestedString(entry.(map[string]any), "clientConfig", "caBundle")
			check(entry.(map[string]any)["name"].(string), bundle)
		}
	}
	for _, name := range []string{"sets", "plain"} {
		obj, err := b.client.Resource(crds).Get(b.t.Context(), name, metav1.GetOptions{})
		if err != nil {
			b.t.Fatal(err)
		}
		bundle, set, _ := unstructured.NestedString(obj.Object, "spec", "conversion", "webhook", "clientConfig", "caBundle")
		if set {
			check(name, bundle)
		}
	}
	return found
}

var everywhere = map[string]bool{"a": true, "b": true, "c": true, "sets": true}

// workloadspread.md C5/4, C5/5: all webhooks and the CRDs that convert by webhook, and nothing else.
func TestPublish(t *testing.T) {
	t.Parallel()
	b := newBench(t, newCluster())
	if _, err := b.GetCertificate(nil); err == nil {
		t.Error("a certificate is served before there is one")
	}
	b.lead()
	b.follow()
	if diff := cmp.Diff(everywhere, b.trusted()); diff != "" {
		t.Errorf("trusted (-want +got):\n%s", diff)
	}
	// Somebody overwrites a configuration.
	ctx := t.Context()
	if err := b.client.Resource(validating).Delete(ctx, "v", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.client.Resource(validating).Create(ctx, object("ValidatingWebhookConfiguration", "admissionregistration.k8s.io/v1", "v", webhooks("x", "c")), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	b.lead()
	if got := b.trusted(); !got["x"] || !got["c"] {
		t.Errorf("after an overwrite: %v", got)
	}
}

// workloadspread.md H6, with a replica that does not lead: whatever the order of their looks, what either serves is
// trusted everywhere.
func TestChangeOfTheCA(t *testing.T) {
	t.Parallel()
	client := newCluster()
	leader, other := newBench(t, client), newBench(t, client)
	leader.lead()
	leader.follow()
	other.follow()
	first := leader.last.ca.cert
	for range 300 { // 75 hours
		for _, b := range []*bench{leader, other} {
			b.pass(15 * time.Minute)
		}
		leader.lead()
		for _, who := range []*bench{leader, other} {
			if diff := cmp.Diff(everywhere, who.trusted()); diff != "" {
				t.Fatalf("before the look at %s (-want +got):\n%s", who.Now().Sub(start), diff)
			}
			who.follow()
			if diff := cmp.Diff(everywhere, who.trusted()); diff != "" {
				t.Fatalf("after the look at %s (-want +got):\n%s", who.Now().Sub(start), diff)
			}
		}
	}
	if bytes.Equal(first, leader.last.ca.cert) || bytes.Contains(leader.Bundle(), bytes.TrimSpace(first)) {
		t.Error("the CA was not changed, or the old one is still trusted")
	}
}

// workloadspread.md H5.
func TestSecretDeleted(t *testing.T) {
	t.Parallel()
	client := newCluster()
	b := newBench(t, client)
	b.lead()
	b.follow()
	old, err := b.GetCertificate(nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Resource(secrets).Namespace("ns").Delete(t.Context(), "certs", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	b.lead()
	b.follow()
	if now, _ := b.GetCertificate(nil); now != old {
		t.Error("the new certificate is served before API servers can have heard of its CA")
	}
	if diff := cmp.Diff(everywhere, b.trusted()); diff != "" {
		t.Errorf("the old certificate (-want +got):\n%s", diff)
	}
	b.follow()
	if now, _ := b.GetCertificate(nil); now == old {
		t.Error("the new certificate is not served")
	}
	if diff := cmp.Diff(everywhere, b.trusted()); diff != "" {
		t.Errorf("the new certificate (-want +got):\n%s", diff)
	}
}

// A Secret of another owner keeps its keys.
func TestForeignSecret(t *testing.T) {
	t.Parallel()
	client := newCluster()
	secret := object("Secret", "v1", "certs", map[string]any{"data": map[string]any{"theirs": "eA==", keyCert: "bm9uZQ=="}})
	secret.SetNamespace("ns")
	if _, err := client.Resource(secrets).Namespace("ns").Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	b := newBench(t, client)
	b.lead()
	b.follow()
	stored, err := client.Resource(secrets).Namespace("ns").Get(t.Context(), "certs", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	data, _, _ := unstructured.NestedStringMap(stored.Object, "data")
	if data["theirs"] != "eA==" {
		t.Error("a key of somebody else is gone")
	}
	for _, key := range []string{keyCACert, keyCAKey, keyCert, keyKey, keyTLSCert, keyTLSKey} {
		text, _ := base64.StdEncoding.DecodeString(data[key])
		if block, _ := pem.Decode(text); block == nil {
			t.Errorf("%s holds no PEM", key)
		}
	}
	if data[keyCert] != data[keyTLSCert] || data[keyKey] != data[keyTLSKey] {
		t.Error("the two copies of the server's certificate differ")
	}
}
