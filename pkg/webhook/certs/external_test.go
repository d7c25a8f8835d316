package certs

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic/fake"
)

// keepForOthers stores a pair for the names as somebody else would, and returns the CA.
func keepForOthers(b *bench, names ...string) []byte {
	b.t.Helper()
	ca, err := newCA(b.Now(), time.Hour)
	if err != nil {
		b.t.Fatal(err)
	}
	server, err := newServer(ca, names, b.Now(), time.Hour)
	if err != nil {
		b.t.Fatal(err)
	}
	data := map[string]any{}
	for key, value := range map[string][]byte{"ca.crt": ca.cert, "ca.key": ca.key, "tls.crt": server.cert, "tls.key": server.key} {
		data[key] = base64.StdEncoding.EncodeToString(value)
	}
	secret := object("Secret", "v1", "certs", map[string]any{"data": data})
	secret.SetNamespace("ns")
	resource := b.client.Resource(secrets).Namespace("ns")
	if _, err := resource.Update(b.t.Context(), secret, metav1.UpdateOptions{}); err != nil {
		if _, err := resource.Create(b.t.Context(), secret, metav1.CreateOptions{}); err != nil {
			b.t.Fatal(err)
		}
	}
	return ca.cert
}

// workloadspread.md C5, gate EnableExternalCerts: what others keep is only read, and served once all trust it.
func TestCertificatesOfOthers(t *testing.T) {
	t.Parallel()
	b := newBench(t, newCluster())
	b.External = true
	looks := func(wantError string, wantServing bool) {
		t.Helper()
		err := b.followOthers(t.Context())
		if err == nil != (wantError == "") || err != nil && !strings.Contains(err.Error(), wantError) {
			t.Errorf("error %v, want %q", err, wantError)
		}
		if _, err := b.GetCertificate(nil); (err == nil) != wantServing {
			t.Errorf("serves: %v, want %v", err == nil, wantServing)
		}
	}
	looks("certs", false)
	keepForOthers(b, "other.ns.svc")
	looks("valid for other.ns.svc, not "+policy.Names[0], false)
	ca := keepForOthers(b, policy.Names...)
	looks("webhook a does not trust ca.crt of secret ns/certs", false)
	if err := b.publish(t.Context(), ca, true); err != nil {
		t.Fatal(err)
	}
	client := b.client.(*fake.FakeDynamicClient)
	client.ClearActions()
	looks("", true)
	before, _ := b.GetCertificate(nil)
	verbs := []string{}
	for _, action := range client.Actions() {
		verbs = append(verbs, action.GetVerb())
	}
	slices.Sort(verbs)
	if verbs = slices.Compact(verbs); !slices.Equal(verbs, []string{"get"}) {
		t.Errorf("verbs %v, want get alone", verbs)
	}

	// Another CA that is not trusted yet: what is served stays for this look.
	ca = keepForOthers(b, policy.Names...)
	looks("does not trust", true)
	if now, _ := b.GetCertificate(nil); now != before {
		t.Error("a certificate of a CA that nobody trusted a look ago is served")
	}
	if err := b.publish(t.Context(), ca, true); err != nil {
		t.Fatal(err)
	}
	looks("", true)
	if now, _ := b.GetCertificate(nil); now == before {
		t.Error("the new certificate is not served")
	}
}

// The leader has nothing to do, and says so at once.
func TestTheLeaderLeavesCertificatesOfOthersAlone(t *testing.T) {
	t.Parallel()
	b := newBench(t, newCluster())
	b.External = true
	ready := make(chan struct{})
	go b.Lead(t.Context(), func() { close(ready) })
	<-ready
	if actions := b.client.(*fake.FakeDynamicClient).Actions(); len(actions) > 0 {
		t.Errorf("requests: %v", actions)
	}
}

// cert-manager's layout for an intermediate issuer: the chain in tls.crt, the root in ca.crt.
func TestAChainOfOthers(t *testing.T) {
	t.Parallel()
	root, err := newCA(start, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := tls.X509KeyPair(root.cert, root.key)
	if err != nil {
		t.Fatal(err)
	}
	between, err := sign(&x509.Certificate{
		Subject: pkix.Name{CommonName: "between"}, NotBefore: start.Add(-time.Minute), NotAfter: start.Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}, &signer)
	if err != nil {
		t.Fatal(err)
	}
	server, err := newServer(between, policy.Names, start, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if err := server.serves(root.cert, policy.Names, start); err == nil {
		t.Error("a certificate whose issuer is nowhere is taken")
	}
	server.cert = append(server.cert, between.cert...)
	if err := server.serves(root.cert, policy.Names, start); err != nil {
		t.Error(err)
	}
}

// Without the gate nobody writes over what somebody else keeps, and the certificate in use stays.
func TestTheSecretOfOthersIsNotSpoiled(t *testing.T) {
	t.Parallel()
	b := newBench(t, newCluster())
	b.lead()
	b.follow()
	before, _ := b.GetCertificate(nil)
	keepForOthers(b, policy.Names...)
	client := b.client.(*fake.FakeDynamicClient)
	client.ClearActions()
	if err := b.Tend(t.Context()); err == nil || !strings.Contains(err.Error(), "EnableExternalCerts") {
		t.Errorf("error %v, want one that names the gate", err)
	}
	for _, action := range client.Actions() {
		if action.GetVerb() != "get" {
			t.Errorf("%s %s", action.GetVerb(), action.GetResource().Resource)
		}
	}
	if now, _ := b.GetCertificate(nil); now != before {
		t.Error("another certificate is served")
	}

	// A manager that starts now serves what is there, and drives. With the Secret gone it keeps its own from then on, and what
	// was served before stays trusted meanwhile.
	next := newBench(t, b.client)
	next.follow()
	theirs, err := next.GetCertificate(nil)
	if err != nil {
		t.Fatal(err)
	}
	leading, stop := context.WithCancel(t.Context())
	ready, ended := make(chan struct{}), make(chan struct{})
	go func() {
		next.Lead(leading, func() { close(ready) })
		close(ended)
	}()
	<-ready
	stop()
	<-ended
	if err := next.client.Resource(secrets).Namespace("ns").Delete(t.Context(), "certs", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	next.lead()
	if diff := cmp.Diff(everywhere, next.trusted()); diff != "" {
		t.Errorf("their certificate, still served, is trusted (-want +got):\n%s", diff)
	}
	next.follow()
	next.follow()
	if now, _ := next.GetCertificate(nil); now == theirs {
		t.Error("their certificate is still served")
	}
	if diff := cmp.Diff(everywhere, next.trusted()); diff != "" {
		t.Errorf("our certificate is trusted (-want +got):\n%s", diff)
	}
}
