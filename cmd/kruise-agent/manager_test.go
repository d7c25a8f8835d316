package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"

	"github.com/kubectl-kruise/kubectl-kruise/internal/apiserver"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
)

// replica is a manager in this process that serves one namespace of a real API server.
type replica struct {
	*manager
	stop context.CancelFunc
	done chan error
}

// start runs a manager. The API server reaches it by URL, at every place that register made.
func start(t *testing.T, s *apiserver.Server, name string, change func(*managerFlags)) *replica {
	t.Helper()
	f := managerFlags{
		kubeconfig: os.Getenv(apiserver.Variable), namespace: s.Namespace, webhookHosts: []string{"127.0.0.1"},
		webhookPort: freePort(t), healthAddress: freeAddress(t), metricAddress: freeAddress(t), podFailure: podFailureIgnore,
		caLife: 10 * year, certLife: year, certSync: 500 * time.Millisecond,
	}
	if change != nil {
		change(&f)
	}
	m, err := f.manager(slog.New(slog.NewTextHandler(logWriter{t, name}, nil)))
	if err != nil {
		t.Fatal(err)
	}
	m.leaseNamespace, m.watched, m.left = s.Namespace, s.Namespace, nil
	m.registrations = registrations{mutating: []string{s.Namespace}, validating: []string{s.Namespace}}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	r := &replica{manager: m, stop: stop, done: make(chan error, 1)}
	go func() { r.done <- m.run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-r.done; err != nil {
			t.Errorf("%s ended with %v", name, err)
		}
		close(r.done)
	})
	return r
}

// logWriter shows what a manager says when the test fails.
type logWriter struct {
	t    *testing.T
	name string
}

func (w logWriter) Write(data []byte) (int, error) {
	w.t.Log(w.name, strings.TrimSpace(string(data)))
	return len(data), nil
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func freeAddress(t *testing.T) string {
	t.Helper()
	return fmt.Sprintf("127.0.0.1:%d", freePort(t))
}

// register makes the API server ask a replica about the objects of the namespace, and refuse what has no answer.
func register(t *testing.T, s *apiserver.Server, port int) {
	t.Helper()
	only := &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: s.Namespace}}
	client := func(path string) admissionv1.WebhookClientConfig {
		return admissionv1.WebhookClientConfig{URL: ptr.To(fmt.Sprintf("https://127.0.0.1:%d%s", port, path))}
	}
	rule := func(group, version, resource string, operations ...admissionv1.OperationType) []admissionv1.RuleWithOperations {
		return []admissionv1.RuleWithOperations{{Operations: operations, Rule: admissionv1.Rule{
			APIGroups: []string{group}, APIVersions: []string{version}, Resources: []string{resource}}}}
	}
	meta := metav1.ObjectMeta{Name: s.Namespace}
	none, fail := ptr.To(admissionv1.SideEffectClassNone), ptr.To(admissionv1.Fail)
	mutating := &admissionv1.MutatingWebhookConfiguration{ObjectMeta: meta, Webhooks: []admissionv1.MutatingWebhook{
		{Name: "mpod.kb.io", ClientConfig: client(keys.MutatePodPath), Rules: rule("", "v1", "pods", admissionv1.Create),
			NamespaceSelector: only, FailurePolicy: fail, SideEffects: none, AdmissionReviewVersions: []string{"v1"}},
		{Name: "mcloneset.kb.io", ClientConfig: client(keys.MutateCloneSetPath), Rules: rule("apps.kruise.io", "v1alpha1", "clonesets", admissionv1.Create, admissionv1.Update),
			NamespaceSelector: only, FailurePolicy: fail, SideEffects: none, AdmissionReviewVersions: []string{"v1", "v1beta1"}},
	}}
	validating := &admissionv1.ValidatingWebhookConfiguration{ObjectMeta: meta, Webhooks: []admissionv1.ValidatingWebhook{
		{Name: "vcloneset.kb.io", ClientConfig: client(keys.ValidateCloneSetPath), Rules: rule("apps.kruise.io", "v1alpha1", "clonesets", admissionv1.Create, admissionv1.Update, admissionv1.Delete),
			NamespaceSelector: only, FailurePolicy: fail, SideEffects: none, AdmissionReviewVersions: []string{"v1", "v1beta1"}},
	}}
	api := s.Kube.AdmissionregistrationV1()
	if _, err := api.MutatingWebhookConfigurations().Create(t.Context(), mutating, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := api.ValidatingWebhookConfigurations().Create(t.Context(), validating, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.Background() // the test's has ended
		_ = api.MutatingWebhookConfigurations().Delete(ctx, s.Namespace, metav1.DeleteOptions{})
		_ = api.ValidatingWebhookConfigurations().Delete(ctx, s.Namespace, metav1.DeleteOptions{})
	})
}

// eventually polls until a check has nothing to say.
func eventually(t *testing.T, what string, check func() error) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, 90*time.Second, true, func(context.Context) (bool, error) {
		last = check()
		return last == nil, nil
	})
	if err != nil {
		t.Fatalf("%s: %v; last: %v", what, err, last)
	}
}

func get(address, path string) (int, string, error) {
	response, err := http.Get("http://" + address + path)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return response.StatusCode, string(body), err
}

func (r *replica) awaitReady(t *testing.T) {
	t.Helper()
	eventually(t, "ready", func() error {
		code, body, err := get(r.flags.healthAddress, "/readyz")
		if err == nil && code != http.StatusOK {
			err = fmt.Errorf("%d: %s", code, body)
		}
		return err
	})
}

func cloneSet(name string, spec map[string]any) *unstructured.Unstructured {
	full := map[string]any{
		"selector": map[string]any{"matchLabels": map[string]any{"app": name}},
		"template": map[string]any{
			"metadata": map[string]any{"labels": map[string]any{"app": name}},
			"spec": map[string]any{
				"tolerations": []any{map[string]any{"operator": "Exists"}},
				"containers":  []any{map[string]any{"name": "c", "image": "lab/app:1"}},
			},
		},
	}
	for key, value := range spec {
		full[key] = value
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps.kruise.io/v1alpha1", "kind": "CloneSet", "metadata": map[string]any{"name": name}, "spec": full,
	}}
}

// The manager defaults, validates and drives; when it ends, the next one goes on at once.
func TestManager(t *testing.T) {
	t.Parallel()
	s := apiserver.New(t)
	one := start(t, s, "one", func(f *managerFlags) { f.gates = "KruisePodReadinessGate=true" })
	register(t, s, one.flags.webhookPort)
	one.awaitReady(t)
	eventually(t, "the CA in the configurations", func() error { return trusts(t, s) })

	sets := s.Dynamic.Resource(apiserver.CloneSets).Namespace(s.Namespace)
	created, err := sets.Create(t.Context(), cloneSet("web", map[string]any{"replicas": int64(2)}), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	strategy, _, _ := unstructured.NestedMap(created.Object, "spec", "updateStrategy")
	if got := fmt.Sprint(strategy); got != "map[maxSurge:0 maxUnavailable:20% partition:0 type:ReCreate]" {
		t.Errorf("defaults %s", got)
	}
	_, err = sets.Create(t.Context(), cloneSet("bad", map[string]any{"updateStrategy": map[string]any{"maxUnavailable": "5"}}), metav1.CreateOptions{})
	if err == nil || !strings.Contains(err.Error(), "spec.updateStrategy.maxUnavailable") {
		t.Errorf("a wrong set has the answer %v", err)
	}
	ready := func(n int64) func() error {
		return func() error {
			set, err := sets.Get(t.Context(), "web", metav1.GetOptions{})
			if err != nil {
				return err
			}
			if got, _, _ := unstructured.NestedInt64(set.Object, "status", "readyReplicas"); got != n {
				return fmt.Errorf("%d of %d pods are ready", got, n)
			}
			return nil
		}
	}
	eventually(t, "pods", ready(2))
	// With the gate every pod gets the readiness gate, and somebody answers it.
	bare := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "bare"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}, SchedulerName: "nobody"}}
	if bare, err = s.Kube.CoreV1().Pods(s.Namespace).Create(t.Context(), bare, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := bare.Spec.ReadinessGates; len(got) != 1 || got[0].ConditionType != keys.KruisePodReady {
		t.Errorf("readiness gates %v", got)
	}
	eventually(t, "an answer to the gate", func() error {
		pod, err := s.Kube.CoreV1().Pods(s.Namespace).Get(t.Context(), "bare", metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, c := range pod.Status.Conditions {
			if c.Type == keys.KruisePodReady && c.Status == corev1.ConditionTrue {
				return nil
			}
		}
		return fmt.Errorf("conditions %v", pod.Status.Conditions)
	})
	code, body, err := get(one.flags.metricAddress, "/metrics")
	if err != nil || code != http.StatusOK {
		t.Fatalf("metrics: %d %v", code, err)
	}
	for _, series := range []string{
		`kruise_actions_total{kind="CloneSet",verb="create"}`, `kruise_plan_seconds_count{kind="CloneSet"}`, `kruise_queue_age_seconds_count{kind="CloneSet"}`,
		`kruise_admission_seconds_count{allowed="true",path="/mutate-pod"}`, `kruise_admission_seconds_count{allowed="false",path="/validate-apps-kruise-io-cloneset"}`,
		"kruise_leader 1", `kruise_certificate_end_timestamp_seconds{certificate="ca"}`,
	} {
		if !strings.Contains(body, series) {
			t.Errorf("there is no series %s", series)
		}
	}

	two := start(t, s, "two", nil)
	two.awaitReady(t) // it serves admission though it does not lead
	if now := holder(t, s); now != one.holder {
		t.Errorf("the lease is held by %q, want %q", now, one.holder)
	}
	if !strings.HasPrefix(one.holder, keys.HolderPrefix) {
		t.Errorf("the holder %q does not say that it is ours", one.holder)
	}
	one.stop()
	eventually(t, "the second leads", func() error {
		if now := holder(t, s); now != two.holder {
			return fmt.Errorf("the lease is held by %q", now)
		}
		return nil
	})
	if code, _, err := get(one.flags.healthAddress, "/readyz"); err == nil && code == http.StatusOK {
		t.Error("a replica that ends says it is ready")
	}
}

// trusts says whether the API server has a CA for every webhook.
func trusts(t *testing.T, s *apiserver.Server) error {
	m, err := s.Kube.AdmissionregistrationV1().MutatingWebhookConfigurations().Get(t.Context(), s.Namespace, metav1.GetOptions{})
	if err != nil {
		return err
	}
	for _, w := range m.Webhooks {
		if len(w.ClientConfig.CABundle) == 0 {
			return fmt.Errorf("%s has no CA", w.Name)
		}
	}
	return nil
}

func holder(t *testing.T, s *apiserver.Server) string {
	t.Helper()
	lease, err := s.Kube.CoordinationV1().Leases(s.Namespace).Get(t.Context(), keys.ManagerLease, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return ptr.Deref(lease.Spec.HolderIdentity, "")
}
