// Package e2e plays the founding documents' CloneSet scenarios (scenarios.md, S-CS) on real nodes: plain kubectl with
// `kubectl kruise reconcile` in the foreground beside it, and the plugin's own verbs. What happened is judged by order
// and by lower bounds from the API's own times, never by how long something took.
//
// It needs a sandbox with real nodes; `make test-e2e` starts one. KRUISE_E2E_STATE is its state folder.
package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// lab is the cluster and what the tests reach it with.
var lab struct {
	root    string   // of this repository
	env     []string // in which kubectl and its plugin are found and find the cluster
	client  kubernetes.Interface
	dynamic dynamic.Interface
}

func TestMain(m *testing.M) {
	state := os.Getenv("KRUISE_E2E_STATE")
	if state == "" {
		fmt.Println("these tests need a cluster with real nodes: make test-e2e")
		return
	}
	if err := enter(state); err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// environment is one in which kubectl finds a sandbox. What kubectl remembers of a cluster it remembers by its address, and
// that of a sandbox that is gone is given to the next.
func environment(state string) []string {
	return append(os.Environ(), "KUBECONFIG="+filepath.Join(state, "kubeconfig", "admin"), "KUBECACHEDIR="+filepath.Join(state, "kubectl-cache"))
}

// enter connects to the sandbox and installs the kinds.
func enter(state string) (err error) {
	if lab.root, err = filepath.Abs(".."); err != nil {
		return err
	}
	kubeconfig := filepath.Join(state, "kubeconfig", "admin")
	path := filepath.Join(lab.root, "bin") + ":" + filepath.Join(state, "bin") + ":" + os.Getenv("PATH")
	lab.env = append(environment(state), "PATH="+path)
	if err := os.Setenv("PATH", path); err != nil { // exec.Command looks programs up here
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	config.QPS, config.UserAgent = -1, "e2e"
	if lab.client, err = kubernetes.NewForConfig(config); err != nil {
		return err
	}
	if lab.dynamic, err = dynamic.NewForConfig(config); err != nil {
		return err
	}
	install := exec.Command("kubectl", "kruise", "install", "--crds-only")
	install.Env = lab.env
	if out, err := install.CombinedOutput(); err != nil {
		return fmt.Errorf("install the kinds: %w\n%s", err, out)
	}
	return nil
}
