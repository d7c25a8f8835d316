package install

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/view"
)

// registrations says what the API server asks, and what becomes of requests when nobody answers.
func registrations(p *Present) view.CheckPart {
	part := view.CheckPart{Name: "webhooks", Verdict: view.CheckOK}
	switch {
	case p.Mutating == nil || p.Validating == nil:
		return failed(part, "admission is not registered in full", "kubectl kruise install again")
	case !p.Complete():
		return failed(part, "the kinds do not convert by the webhook", "kubectl kruise install again")
	}
	var hooks []string
	for _, hook := range p.Mutating.Webhooks {
		hooks = append(hooks, fmt.Sprintf("%s %s", hook.Name, *hook.FailurePolicy))
	}
	for _, hook := range p.Validating.Webhooks {
		hooks = append(hooks, fmt.Sprintf("%s %s", hook.Name, *hook.FailurePolicy))
	}
	part.Text = strings.Join(hooks, ", ")
	for _, name := range without(p.calls()) {
		return failed(part, name+" has no CA bundle, so it cannot be asked", "kubectl logs -n "+or(p.Namespace(), keys.InstallNamespace)+" deploy/"+managerName)
	}
	return part
}

// calls are the CA bundles of everything that calls the webhook, by name.
func (p *Present) calls() map[string][]byte {
	all := map[string][]byte{}
	if p.Mutating != nil {
		for _, hook := range p.Mutating.Webhooks {
			all[hook.Name] = hook.ClientConfig.CABundle
		}
	}
	if p.Validating != nil {
		for _, hook := range p.Validating.Webhooks {
			all[hook.Name] = hook.ClientConfig.CABundle
		}
	}
	for name, crd := range p.CRDs {
		if converts(crd) && crd.Spec.Conversion.Webhook != nil && crd.Spec.Conversion.Webhook.ClientConfig != nil {
			all[name] = crd.Spec.Conversion.Webhook.ClientConfig.CABundle
		}
	}
	return all
}

// without are those that have no bundle, by name.
func without(calls map[string][]byte) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(calls)), func(name string) bool { return len(calls[name]) > 0 })
}

// certificates says when the certificates end and whether the API server trusts the one that is served. Of the Secret only
// the certificate is looked at.
func (t *Target) certificates(ctx context.Context, p *Present, namespace string, now time.Time) view.CheckPart {
	part := view.CheckPart{Name: "certificates", Verdict: view.CheckOK}
	secret, err := lookIn[corev1.Secret](ctx, t, secretResource, namespace, keys.WebhookSecret)
	if err != nil {
		return unreadable(part, err)
	}
	logs := "kubectl logs -n " + namespace + " deploy/" + managerName
	if secret == nil {
		return failed(part, "the Secret "+namespace+"/"+keys.WebhookSecret+" is not there", logs)
	}
	return judge(part, secret.Data[certificateKey], p.calls(), now, logs)
}

func judge(part view.CheckPart, served []byte, calls map[string][]byte, now time.Time, logs string) view.CheckPart {
	leaf, err := certificate(served)
	if err != nil {
		return failed(part, "the server's certificate cannot be read: "+err.Error(), logs)
	}
	part.Text = "until " + day(leaf.NotAfter)
	if !now.Before(leaf.NotAfter) {
		return failed(part, "the server's certificate ended "+day(leaf.NotAfter), logs)
	}
	chain := x509.NewCertPool() // what others may have signed it with
	if _, rest := pem.Decode(served); rest != nil {
		chain.AppendCertsFromPEM(rest)
	}
	for _, name := range slices.Sorted(maps.Keys(calls)) {
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(calls[name])
		chains, err := leaf.Verify(x509.VerifyOptions{Roots: roots, Intermediates: chain, CurrentTime: now})
		if err != nil {
			return failed(part, name+" does not trust the certificate that is served: "+err.Error(), logs)
		}
		root := chains[0][len(chains[0])-1]
		part.Text = fmt.Sprintf("until %s, CA until %s", day(leaf.NotAfter), day(root.NotAfter))
	}
	// They are renewed when a third of their life is left; a sixth means that nobody does it.
	if life := leaf.NotAfter.Sub(leaf.NotBefore); leaf.NotAfter.Sub(now) < life/6 {
		part.Verdict, part.Hint = view.CheckWarning, logs
		part.Text += ", and should have been renewed by now"
	}
	return part
}

func certificate(data []byte) (*x509.Certificate, error) {
	block, _ := pem.Decode(data)
	if block == nil {
		return nil, fmt.Errorf("no certificate in PEM form")
	}
	return x509.ParseCertificate(block.Bytes)
}

func day(at time.Time) string { return at.UTC().Format("2006-01-02") }

// admission asks the webhook by way of the API server: a CloneSet and a pod are made in a dry run, and have to come back
// as admission leaves them.
func (t *Target) admission(ctx context.Context, p *Present, namespace string) view.CheckPart {
	part := view.CheckPart{Name: "admission", Verdict: view.CheckOK, Text: "a CloneSet and a pod were admitted in a dry run"}
	hint := "kubectl kruise check again once the managers are ready; what is refused meanwhile: docs/install.md"
	if p.Validating == nil || p.Mutating == nil {
		part.Verdict, part.Text = view.CheckUnknown, "not registered"
		return part
	}
	resource := schema.GroupVersionResource{Group: "apps.kruise.io", Version: alpha, Resource: "clonesets"}
	options := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldManager: keys.FieldManager}
	set, err := t.at(resource, namespace).Create(ctx, probeSet(namespace), options)
	if err != nil {
		if apierrors.IsForbidden(err) {
			return unreadable(part, err)
		}
		return failed(part, err.Error(), hint)
	}
	if _, defaulted, _ := unstructured.NestedInt64(set.Object, "spec", "revisionHistoryLimit"); !defaulted {
		return failed(part, "a CloneSet comes back without defaults: the API server does not ask the webhook", hint)
	}
	if !asks(p, podWebhook) || namespace == metav1.NamespaceSystem || namespace == p.Namespace() {
		part.Text = "a CloneSet was admitted in a dry run"
		return part
	}
	object, err := t.at(podResource, namespace).Create(ctx, probePod(namespace), options)
	if err != nil {
		if apierrors.IsForbidden(err) {
			return unreadable(part, err)
		}
		return failed(part, err.Error(), hint)
	}
	pod, err := into[corev1.Pod](object)
	if err != nil {
		return failed(part, err.Error(), "")
	}
	if !gated(pod) {
		return failed(part, "a pod comes back without its readiness gate: pods come up without their admission", hint)
	}
	return part
}

func asks(p *Present, name string) bool {
	for _, hook := range p.Mutating.Webhooks {
		if hook.Name == name {
			return true
		}
	}
	return false
}

func gated(pod *corev1.Pod) bool {
	for _, gate := range pod.Spec.ReadinessGates {
		if gate.ConditionType == keys.KruisePodReady {
			return true
		}
	}
	return false
}

const probeName = "kubectl-kruise-check"

func probeSpec() map[string]any {
	return map[string]any{"containers": []any{map[string]any{
		"name": "probe", "image": "probe", "securityContext": map[string]any{
			"allowPrivilegeEscalation": false, "runAsNonRoot": true, "capabilities": map[string]any{"drop": []any{"ALL"}},
			"seccompProfile": map[string]any{"type": "RuntimeDefault"},
		},
	}}}
}

func probeSet(namespace string) *unstructured.Unstructured {
	app := map[string]any{"app": probeName}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps.kruise.io/" + alpha, "kind": "CloneSet",
		"metadata": map[string]any{"name": probeName, "namespace": namespace},
		"spec": map[string]any{
			"replicas": int64(0), "selector": map[string]any{"matchLabels": app},
			"template": map[string]any{"metadata": map[string]any{"labels": app}, "spec": probeSpec()},
		},
	}}
}

// probePod is controlled by a CloneSet that does not exist, so that it gets what pods of CloneSets get. It is never
// stored.
func probePod(namespace string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Pod",
		"metadata": map[string]any{
			"name": probeName, "namespace": namespace,
			"ownerReferences": []any{map[string]any{
				"apiVersion": "apps.kruise.io/" + beta, "kind": "CloneSet", "name": probeName,
				"uid": "00000000-0000-0000-0000-000000000000", "controller": true,
			}},
		},
		"spec": probeSpec(),
	}}
}
