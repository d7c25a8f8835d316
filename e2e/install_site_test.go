package e2e

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/clientcmd"
)

// site is a cluster of its own: what is installed in it concerns all of it.
type site struct {
	*testing.T
	state     string
	env       []string
	client    kubernetes.Interface
	dynamic   dynamic.Interface
	metadata  metadata.Interface
	discovery discovery.DiscoveryInterface
}

const (
	agentImage = "kubectl-kruise/kruise-agent:dev" // as `make image` calls it
	shop       = "shop"
)

// newSite starts a sandbox with two nodes that have the agent's image.
func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{T: t, state: os.Getenv("KRUISE_E2E_INSTALL_STATE")}
	if s.state == "" {
		t.Fatal("KRUISE_E2E_INSTALL_STATE names no folder for the installation's sandbox")
	}
	s.sandbox("up", "--nodes", "2", "--audit")
	t.Cleanup(func() { s.sandbox("down") })
	s.sandbox("load", filepath.Join(lab.root, "dist", "kruise-agent.tar"))
	kubeconfig := filepath.Join(s.state, "kubeconfig", "admin")
	s.env = environment(s.state)
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS, config.UserAgent = -1, "e2e"
	if s.client, err = kubernetes.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	if s.dynamic, err = dynamic.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	if s.metadata, err = metadata.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	if s.discovery, err = discovery.NewDiscoveryClientForConfig(config); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			s.dump()
		}
	})
	return s
}

func (s *site) sandbox(args ...string) {
	s.Helper()
	args = append(args, "-q", "--state", s.state)
	if out, err := exec.Command(filepath.Join(lab.root, "bin", "kruise-sandbox"), args...).CombinedOutput(); err != nil {
		s.Fatalf("kruise-sandbox %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func (s *site) dump() {
	for _, args := range []string{"kruise check", "get pods,leases,clonesets -A -o wide", "describe pods -n kruise-system", "logs -n kruise-system -l control-plane=controller-manager --tail 50"} {
		cmd := exec.Command("kubectl", strings.Fields(args)...)
		cmd.Env = s.env
		out, _ := cmd.CombinedOutput() // what a failed test prints may be incomplete
		s.Logf("$ kubectl %s\n%s", args, out)
	}
}

// try runs kubectl and returns both streams and the exit code.
func (s *site) try(stdin string, args ...string) (string, int) {
	s.Helper()
	cmd := exec.CommandContext(s.Context(), "kubectl", args...)
	cmd.Env, cmd.Dir, cmd.Stdin = s.env, lab.root, strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		s.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// kubectl runs kubectl; it must succeed.
func (s *site) kubectl(args ...string) string {
	s.Helper()
	out, code := s.try("", args...)
	if code != 0 {
		s.Fatalf("kubectl %s: exit code %d\n%s", strings.Join(args, " "), code, out)
	}
	return out
}

// apply applies objects; the answer must be the wanted exit code.
func (s *site) apply(manifest string, want int) string {
	s.Helper()
	out, code := s.try(manifest, "apply", "-n", shop, "-f", "-")
	if code != want {
		s.Fatalf("kubectl apply: exit code %d, want %d\n%s", code, want, out)
	}
	return out
}

// until polls until the condition holds.
func (s *site) until(what string, holds func() (ok bool, seen string)) {
	s.Helper()
	seen := ""
	err := wait.PollUntilContextTimeout(s.Context(), 100*time.Millisecond, 2*time.Minute, true, func(context.Context) (bool, error) {
		var ok bool
		ok, seen = holds()
		return ok, nil
	})
	if err != nil {
		s.Fatalf("waiting until %s: %v; last seen: %s", what, err, seen)
	}
}

// pods lists the pods of a set in the shop that nobody has asked to go.
func (s *site) pods(app string) []corev1.Pod {
	s.Helper()
	list, err := s.client.CoreV1().Pods(shop).List(s.Context(), metav1.ListOptions{LabelSelector: "app=" + app})
	if err != nil {
		s.Fatal(err)
	}
	return slices.DeleteFunc(list.Items, func(p corev1.Pod) bool { return p.DeletionTimestamp != nil })
}

// settled waits until so many pods of a set run an image and are ready.
func (s *site) settled(app, image string, n int) {
	s.Helper()
	s.until(app+" has its pods ready at "+image, func() (bool, string) {
		pods, seen := s.pods(app), bytes.Buffer{}
		good := len(pods) == n
		for i := range pods {
			running := ""
			for _, c := range pods[i].Spec.Containers {
				running += c.Image + " "
			}
			good = good && isReady(&pods[i]) && strings.Contains(running, image+" ")
			seen.WriteString(pods[i].Name + " " + running)
		}
		return good, seen.String()
	})
}

// everything lists all objects but those that come and go by themselves.
func (s *site) everything() map[string]bool {
	s.Helper()
	lists, err := s.discovery.ServerPreferredResources()
	if err != nil {
		s.Fatal(err)
	}
	fleeting := []string{"events", "componentstatuses", "endpointslices", "endpoints", "pods"}
	found := map[string]bool{}
	for _, list := range lists {
		for _, r := range list.APIResources {
			if slices.Contains(fleeting, r.Name) || !slices.Contains(r.Verbs, "list") {
				continue
			}
			objects, err := s.metadata.Resource(gvr(s.T, list.GroupVersion, r.Name)).List(s.Context(), metav1.ListOptions{})
			if err != nil {
				s.Fatalf("list %s: %v", r.Name, err)
			}
			for _, o := range objects.Items {
				if o.Namespace == corev1.NamespaceNodeLease {
					continue // the kubelets' own, from some time after their start on
				}
				key := r.Name + " " + o.Namespace + "/" + o.Name
				for label := range o.Labels {
					key += " label " + label
				}
				found[withoutOrder(key)] = true
			}
		}
	}
	return found
}
