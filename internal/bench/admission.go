package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/install"
)

const (
	// agentPort and agentHealth are where the manager of this part listens, on this machine.
	agentPort   = 19876
	agentHealth = "127.0.0.1:18000"
	// creators create at a time, each this many pods in a round.
	creators, podsEach, admissionRounds = 8, 5, 10
)

// arrival is one kind of pod to create, and how long each took.
type arrival struct {
	name, namespace string
	annotations     map[string]string
	took            []time.Duration
}

// admission compares how long it takes to create a pod, for eight clients at a time, without a webhook, with ours that has
// nothing to do, and with ours that gives the pod its launch order. They take turns.
func admission(ctx context.Context) error {
	l, err := enter()
	if err != nil {
		return err
	}
	plain, remove, err := l.space(ctx)
	if err != nil {
		return err
	}
	defer remove()
	asked, removeAsked, err := l.space(ctx)
	if err != nil {
		return err
	}
	defer removeAsked()
	agent, end, err := l.host(ctx, asked)
	if err != nil {
		return err
	}
	memory := watchMemory(agent)
	defer func() {
		end()
		most := memory()
		if state := agent.ProcessState; state != nil {
			fmt.Printf("\nThe manager took %.1f s of processor time and at most %d MiB of memory.\n", (state.UserTime() + state.SystemTime()).Seconds(), most>>20)
		}
	}()
	giveBack, err := l.takeLead(ctx)
	if err != nil {
		return err
	}
	defer giveBack()
	ordered := map[string]string{keys.LaunchPriorityAnnotation: keys.LaunchPriorityOrdered}
	arrivals := []*arrival{
		{name: "no webhook", namespace: plain},
		{name: "webhook, nothing to change", namespace: asked},
		{name: "webhook, launch order given", namespace: asked, annotations: ordered},
	}
	for round := range admissionRounds + 1 {
		for _, a := range arrivals {
			took, err := l.arrive(ctx, a)
			if err != nil {
				return fmt.Errorf("%s: %w", a.name, err)
			}
			if round > 0 { // the first is a warm-up
				a.took = append(a.took, took...)
			}
		}
	}
	var rows [][]string
	for _, a := range arrivals {
		p50, p99 := quantile(a.took, 0.5), quantile(a.took, 0.99)
		rows = append(rows, []string{a.name, millis(p50), millis(p99),
			fmt.Sprintf("%+.1f ms", float64(p50-quantile(arrivals[0].took, 0.5))/1e6), fmt.Sprintf("%.1f x", float64(p99)/float64(quantile(arrivals[0].took, 0.99)))})
	}
	table(fmt.Sprintf("Creating a pod, %d clients at a time, %d pods each way", creators, len(arrivals[0].took)),
		[]string{"with", "p50", "p99", "p50 over no webhook", "p99 to no webhook"}, rows)
	return nil
}

func quantile(values []time.Duration, q float64) time.Duration {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}

func millis(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d)/1e6) }

// arrive creates the pods of one round and removes them. Nobody schedules them, so that only the creation is measured.
func (l *lab) arrive(ctx context.Context, a *arrival) ([]time.Duration, error) {
	api := l.client.CoreV1().Pods(a.namespace)
	took, errs := make([][]time.Duration, creators), make([]error, creators)
	var all sync.WaitGroup
	for i := range creators {
		all.Go(func() {
			for range podsEach {
				pod := &corev1.Pod{
					ObjectMeta: metav1.ObjectMeta{GenerateName: "p-", Annotations: a.annotations},
					Spec: corev1.PodSpec{SchedulerName: "nobody", TerminationGracePeriodSeconds: ptr.To[int64](0), Containers: []corev1.Container{
						{Name: "one", Image: "lab/app:1"}, {Name: "two", Image: "lab/app:1"},
					}},
				}
				begin := time.Now()
				stored, err := api.Create(ctx, pod, metav1.CreateOptions{})
				if err != nil {
					errs[i] = err
					return
				}
				took[i] = append(took[i], time.Since(begin))
				if given := len(stored.Spec.Containers[0].Env) > 0; given != (a.annotations != nil) {
					errs[i] = fmt.Errorf("pod %s has its launch order: %v", stored.Name, given)
					return
				}
			}
		})
	}
	all.Wait()
	err := api.DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)}, metav1.ListOptions{})
	return slices.Concat(took...), errors.Join(append(errs, err)...)
}

// takeLead takes the manager's Lease away until the returned function is called, so that the manager answers as a replica
// does that does not lead: opening the levels of the pods is not part of creating them.
func (l *lab) takeLead(ctx context.Context) (func(), error) {
	hold := func(ctx context.Context, holder string, seconds int32) error {
		leases := l.client.CoordinationV1().Leases(keys.InstallNamespace)
		return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
			lease, err := leases.Get(ctx, keys.ManagerLease, metav1.GetOptions{})
			if err != nil {
				return err
			}
			lease.Spec.HolderIdentity, lease.Spec.LeaseDurationSeconds, lease.Spec.RenewTime = &holder, &seconds, ptr.To(metav1.NowMicro())
			_, err = leases.Update(ctx, lease, metav1.UpdateOptions{})
			return err
		})
	}
	return func() { _ = hold(context.Background(), "", 1) }, hold(ctx, "bench", 3600) // the sandbox goes anyway
}

// host runs a manager on this machine and registers it for the pods of one namespace.
func (l *lab) host(ctx context.Context, namespace string) (*exec.Cmd, func(), error) {
	machine, program := os.Getenv("KRUISE_BENCH_MACHINE"), os.Getenv("KRUISE_BENCH_AGENT")
	if machine == "" || program == "" {
		return nil, nil, errors.New("KRUISE_BENCH_MACHINE and KRUISE_BENCH_AGENT say how the cluster reaches this machine and where kruise-agent is; `make bench` sets them")
	}
	home := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: keys.InstallNamespace}}
	if _, err := l.client.CoreV1().Namespaces().Create(ctx, home, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return nil, nil, err
	}
	configurations := l.client.AdmissionregistrationV1().MutatingWebhookConfigurations()
	configuration, err := registration(machine, namespace)
	if err != nil {
		return nil, nil, err
	}
	if _, err := configurations.Create(ctx, configuration, metav1.CreateOptions{}); err != nil {
		return nil, nil, err
	}
	agent := exec.CommandContext(ctx, program, "manager", "--kubeconfig", filepath.Join(l.state, "kubeconfig", "admin"),
		"--webhook-host", machine, "--webhook-port", fmt.Sprint(agentPort), "--health-addr", agentHealth, "--metrics-addr", "127.0.0.1:18080", "--drain", "0s")
	if os.Getenv("KRUISE_BENCH_VERBOSE") != "" {
		agent.Stderr = os.Stderr
	}
	end := func() {
		_ = configurations.Delete(context.Background(), keys.MutatingConfiguration, metav1.DeleteOptions{}) // the sandbox goes anyway
		if agent.Process != nil {
			interrupt(agent)
		}
	}
	if err := agent.Start(); err != nil {
		end()
		return nil, nil, err
	}
	err = wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		response, err := http.Get("http://" + agentHealth + "/readyz")
		if err != nil {
			return false, nil
		}
		response.Body.Close()
		c, err := configurations.Get(ctx, keys.MutatingConfiguration, metav1.GetOptions{})
		return err == nil && response.StatusCode == http.StatusOK && len(c.Webhooks[0].ClientConfig.CABundle) > 0, err
	})
	if err != nil {
		end()
		return nil, nil, fmt.Errorf("wait for the manager: %w", err)
	}
	return agent, end, nil
}

// registration is what an installation registers for pods, for one namespace and a manager on this machine.
func registration(machine, namespace string) (*admissionv1.MutatingWebhookConfiguration, error) {
	config := install.Defaults()
	config.PodFailurePolicy = install.Fail // so that a failure is not taken for a quick answer
	objects, err := install.Manifests(config, install.Complete)
	if err != nil {
		return nil, err
	}
	for _, object := range objects {
		if configuration, ok := object.(*admissionv1.MutatingWebhookConfiguration); ok {
			configuration.Webhooks = configuration.Webhooks[:1]
			pods := &configuration.Webhooks[0]
			pods.ClientConfig = admissionv1.WebhookClientConfig{URL: ptr.To(fmt.Sprintf("https://%s:%d%s", machine, agentPort, keys.MutatePodPath))}
			pods.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}}
			return configuration, nil
		}
	}
	return nil, errors.New("an installation registers no webhook for pods")
}
