package main

import (
	"fmt"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/features"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/webhook"
)

// managerFlags are the flags as they were typed.
type managerFlags struct {
	kubeconfig    string
	namespace     string
	gates         string
	webhookPort   int
	webhookHosts  []string
	healthAddress string
	metricAddress string
	podFailure    string
	caLife        time.Duration
	certLife      time.Duration
	certSync      time.Duration
	drain         time.Duration
}

const (
	year = 365 * 24 * time.Hour
	// podFailureIgnore and podFailureFail are the values of --pod-failure-policy.
	podFailureIgnore, podFailureFail = "Ignore", "Fail"
)

func managerCommand(logger *slog.Logger) *cobra.Command {
	var f managerFlags
	cmd := &cobra.Command{
		Use: "manager", Short: "Serve admission and conversion; with the Lease, drive all workloads", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			m, err := f.manager(logger)
			if err != nil {
				return err
			}
			return m.run(cmd.Context())
		},
	}
	namespace := os.Getenv("POD_NAMESPACE")
	if namespace == "" {
		namespace = keys.InstallNamespace
	}
	flags := cmd.Flags()
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "How to reach the cluster from outside of it; without it the pod's service account is used")
	flags.StringVar(&f.namespace, "namespace", namespace, "Namespace of the Service and of the Secret with the certificates; its pods are left alone. The Lease is always in "+keys.InstallNamespace)
	flags.StringVar(&f.gates, "feature-gates", "", "Feature gates, such as CloneSetShortHash=true,PodWebhook=false")
	flags.IntVar(&f.webhookPort, "webhook-port", int(keys.WebhookPort), "Port of the webhook server")
	flags.StringSliceVar(&f.webhookHosts, "webhook-host", nil, "Further names or addresses that the server's certificate is made for")
	flags.StringVar(&f.healthAddress, "health-addr", fmt.Sprintf(":%d", keys.HealthPort), "Where /healthz and /readyz are served")
	flags.StringVar(&f.metricAddress, "metrics-addr", fmt.Sprintf(":%d", keys.MetricsPort), "Where /metrics is served")
	flags.StringVar(&f.podFailure, "pod-failure-policy", podFailureIgnore, "What becomes of a pod when a step of its admission fails: Ignore admits it without the step, Fail refuses it")
	flags.DurationVar(&f.caLife, "ca-life", 10*year, "How long a CA is valid; it is changed when a third of that is left")
	flags.DurationVar(&f.certLife, "cert-life", year, "How long the server's certificate is valid; it is renewed when a third of that is left")
	flags.DurationVar(&f.certSync, "cert-sync", 10*time.Second, "How often the certificates are looked at; a new CA is trusted for six times as long before it is used")
	flags.DurationVar(&f.drain, "drain", 5*time.Second, "How long admission is still served after the end was asked for")
	return cmd
}

// manager checks the flags and connects nothing yet.
func (f *managerFlags) manager(logger *slog.Logger) (*manager, error) {
	gates, err := features.Parse(f.gates)
	if err != nil {
		return nil, &usageError{err}
	}
	if !slices.Contains([]string{podFailureIgnore, podFailureFail}, f.podFailure) {
		return nil, &usageError{fmt.Errorf("--pod-failure-policy %q: want %s or %s", f.podFailure, podFailureIgnore, podFailureFail)}
	}
	if f.webhookPort < 1 || f.webhookPort > 65535 {
		return nil, &usageError{fmt.Errorf("--webhook-port %d: want a port from 1 to 65535", f.webhookPort)}
	}
	for _, d := range []struct {
		flag  string
		value time.Duration
		least time.Duration
	}{{"ca-life", f.caLife, time.Second}, {"cert-life", f.certLife, time.Second}, {"cert-sync", f.certSync, time.Millisecond}, {"drain", f.drain, 0}} {
		if d.value < d.least {
			return nil, &usageError{fmt.Errorf("--%s %s: want at least %s", d.flag, d.value, d.least)}
		}
	}
	config, err := clientcmd.BuildConfigFromFlags("", f.kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("no way to the cluster: %w", err)
	}
	config.UserAgent = "kruise-agent/" + buildVersion()
	return &manager{
		flags: *f, gates: gates, config: config, log: logger, health: newHealth(partCertificates, partServer),
		leaseNamespace: keys.InstallNamespace, left: []string{f.namespace, metav1.NamespaceSystem},
		registrations: registrations{
			mutating: []string{keys.MutatingConfiguration}, validating: []string{keys.ValidatingConfiguration}, crds: webhook.ConvertedCRDs(),
		},
	}, nil
}
