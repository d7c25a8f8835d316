package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	ctrlwebhook "sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/features"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/cluster"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/webhook"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/webhook/certs"
)

// What has to be there before a manager is ready.
const (
	partCertificates = "certificates"
	partServer       = "webhook server"
)

// manager is one replica: it serves admission, and drives the workloads while it holds the Lease.
type manager struct {
	flags  managerFlags
	gates  features.Gates
	config *rest.Config
	log    *slog.Logger
	health *health
	meters *meters
	keeper *certs.Keeper
	holder string
	// What follows is fixed; tests, which share a cluster, have their own: the namespace of the Lease, the namespace whose
	// workloads are driven (empty for all), the namespaces that admission leaves alone, what has to trust our certificates.
	leaseNamespace, watched string
	left                    []string
	registrations           registrations
}

// registrations name what has to trust our certificates.
type registrations struct{ mutating, validating, crds []string }

// run serves until the context ends, and for a while longer.
func (m *manager) run(ctx context.Context) error {
	if err := m.prepare(); err != nil {
		return err
	}
	m.log.Info("manager", "version", buildVersion(), "holder", m.holder, "gates", m.gates.String())
	// The end comes in steps: the Lease is let go at once, admission goes on until nobody asks this replica any more.
	serving, end := context.WithCancelCause(context.WithoutCancel(ctx))
	defer end(nil)
	var workers sync.WaitGroup
	start := func(what string, work func(context.Context) error) {
		workers.Go(func() {
			if err := work(serving); err != nil {
				end(fmt.Errorf("%s: %w", what, err))
			}
		})
	}
	start("health", func(ctx context.Context) error { return serve(ctx, m.flags.healthAddress, m.health.handler()) })
	start("metrics", func(ctx context.Context) error { return serve(ctx, m.flags.metricAddress, m.meters.handler()) })
	start("webhook server", m.serveWebhooks)
	start("certificates", func(ctx context.Context) error { m.keeper.Follow(ctx); return nil })
	start("readiness", func(ctx context.Context) error { m.watchReadiness(ctx); return nil })

	leading, stop := context.WithCancel(ctx)
	defer stop()
	var leader sync.WaitGroup
	leader.Go(func() { m.lead(leading) })
	select {
	case <-ctx.Done():
	case <-serving.Done():
	}
	m.health.leave()
	stop()
	leader.Wait()
	if serving.Err() == nil {
		select {
		case <-time.After(m.flags.drain):
		case <-serving.Done():
		}
	}
	end(nil)
	workers.Wait()
	if cause := context.Cause(serving); !errors.Is(cause, context.Canceled) {
		return cause
	}
	return nil
}

// prepare makes the parts; it sends nothing.
func (m *manager) prepare() error {
	host := os.Getenv("POD_NAME")
	if host == "" {
		var err error
		if host, err = os.Hostname(); err != nil {
			return fmt.Errorf("name of this machine: %w", err)
		}
	}
	m.holder = fmt.Sprintf("%smanager@%s/%08x", keys.HolderPrefix, strings.ReplaceAll(host, "/", "-"), rand.Uint32())
	m.meters = newMeters()
	client, err := dynamic.NewForConfig(m.config)
	if err != nil {
		return err
	}
	service := keys.WebhookService + "." + m.flags.namespace + ".svc"
	m.keeper = certs.New(certs.Options{
		Client: client, Namespace: m.flags.namespace, Secret: keys.WebhookSecret,
		Mutating: m.registrations.mutating, Validating: m.registrations.validating, CRDs: m.registrations.crds,
		Policy: certs.Policy{
			Names:  append([]string{service, service + ".cluster.local", "localhost"}, m.flags.webhookHosts...),
			CALife: m.flags.caLife, CertLife: m.flags.certLife, Overlap: 6 * m.flags.certSync,
		},
		External: m.gates.Enabled(features.EnableExternalCerts),
		Every:    m.flags.certSync, Now: time.Now, Log: m.log, Loaded: m.loaded,
	})
	return nil
}

// loaded hears of a certificate that is served from now on.
func (m *manager) loaded(certEnds, caEnds time.Time) {
	m.meters.expires(certEnds, caEnds)
	m.health.set(partCertificates, nil)
}

// serveWebhooks answers the API server.
func (m *manager) serveWebhooks(ctx context.Context) error {
	api, err := cluster.Connect(m.config)
	if err != nil {
		return err
	}
	server := ctrlwebhook.NewServer(ctrlwebhook.Options{
		Port: m.flags.webhookPort,
		TLSOpts: []func(*tls.Config){func(c *tls.Config) {
			c.GetCertificate = m.keeper.GetCertificate
			c.MinVersion = tls.VersionTLS12
		}},
	})
	for path, handler := range webhook.Handlers(webhook.Options{
		Gates: m.gates, Left: m.left, Strict: m.flags.podFailure == podFailureFail,
		FindPod: podFinder(api), Observe: m.meters.answered, Log: m.log,
	}) {
		server.Register(path, handler)
	}
	server.Register("/healthz", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") }))
	return server.Start(ctx)
}

func podFinder(api *cluster.Client) func(ctx context.Context, namespace, name string) (*corev1.Pod, error) {
	return func(ctx context.Context, namespace, name string) (*corev1.Pod, error) {
		obj, err := api.Get(ctx, plan.PodKind, namespace, name)
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		if err != nil {
			return nil, cluster.Explain(err)
		}
		pod, ok := obj.(*corev1.Pod)
		if !ok {
			return nil, fmt.Errorf("the server returned %T for a pod", obj)
		}
		return pod, nil
	}
}

// watchReadiness asks our own server, as the API server would, until it answers once.
func (m *manager) watchReadiness(ctx context.Context) {
	for {
		err := m.askOurselves(ctx)
		m.health.set(partServer, err)
		if err == nil || !cluster.Pause(ctx, 200*time.Millisecond) {
			return
		}
	}
}

func (m *manager) askOurselves(ctx context.Context) error {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(m.keeper.Bundle()) {
		return errors.New("no certificate yet")
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("https://localhost:%d/healthz", m.flags.webhookPort), nil)
	if err != nil {
		return err
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: m.keeper.Policy.Names[0], MinVersion: tls.VersionTLS12}}
	defer transport.CloseIdleConnections()
	response, err := transport.RoundTrip(req)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("our own server says %s", response.Status)
	}
	return nil
}
