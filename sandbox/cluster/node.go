package cluster

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"github.com/kubectl-kruise/kubectl-kruise/sandbox/binaries"
	"github.com/kubectl-kruise/kubectl-kruise/sandbox/network"
)

func nodeName(n int) string { return "node" + strconv.Itoa(n) }

// nodeCgroup holds a node's container runtime and kubelet, and below it its pods. A cgroup root for each kubelet keeps
// them from sweeping each other's pods.
func (s *Sandbox) nodeCgroup(n int) string { return s.plan.Name() + "/" + nodeName(n) }

func (s *Sandbox) socket(n int) string { return s.path(nodeName(n), "containerd.sock") }

// startRuntime starts the node's containerd.
func (s *Sandbox) startRuntime(n int) error {
	if err := makeCgroups(s.nodeCgroup(n) + "/runtime"); err != nil {
		return err
	}
	dir := s.path(nodeName(n))
	files := map[string]string{
		"cni/10-pods.conflist":         s.cniConfig(n),
		"registry/_default/hosts.toml": s.hostsConfig(),
		"containerd.toml":              s.containerdConfig(n),
		"kubelet.yaml":                 s.kubeletConfig(n),
	}
	for _, d := range []string{"cni", "registry/_default", "kubelet", "logs", "ipam"} {
		if err := os.MkdirAll(dir+"/"+d, 0o700); err != nil {
			return err
		}
	}
	for name, text := range files {
		if err := os.WriteFile(dir+"/"+name, []byte(text), 0o600); err != nil {
			return err
		}
	}
	containerd, err := exec.LookPath("containerd")
	if err != nil {
		return err
	}
	return s.runIn(nodeName(n)+"/runtime", nodeName(n)+"-containerd", containerd, "-c", dir+"/containerd.toml")
}

// importImages gives the node the images of an archive.
func (s *Sandbox) importImages(ctx context.Context, n int, archive string) error {
	// The kernel ends ctr with the thread that started it. That thread must be this goroutine's alone meanwhile: others
	// end with a goroutine that has entered a network namespace.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	ctr := func(args ...string) ([]byte, error) {
		cmd := exec.CommandContext(ctx, "ctr", append([]string{"-a", s.socket(n), "-n", "k8s.io"}, args...)...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // it goes with this program
		return cmd.CombinedOutput()
	}
	err := s.wait(ctx, nodeName(n)+"'s containerd", func() bool { _, err := ctr("version"); return err == nil })
	if err != nil {
		return err
	}
	if out, err := ctr("images", "import", archive); err != nil {
		return fmt.Errorf("import images on %s: %w: %s", nodeName(n), err, strings.TrimSpace(string(out)))
	}
	return nil
}

// startKubelet starts the node's kubelet.
func (s *Sandbox) startKubelet(n int) error {
	dir := s.path(nodeName(n))
	return s.runIn(nodeName(n)+"/runtime", nodeName(n)+"-kubelet", s.Cache.Path(binaries.Kubelet),
		"--config="+dir+"/kubelet.yaml", "--kubeconfig="+s.path("kubeconfig", nodeName(n)),
		"--root-dir="+dir+"/kubelet", "--cert-dir="+dir+"/kubelet/pki",
		"--hostname-override="+nodeName(n), "--node-ip="+s.plan.NodeAddr(n).String())
}

// startProxy starts the one kube-proxy that serves all nodes, since they share one network namespace.
func (s *Sandbox) startProxy() error {
	config := s.path("config", "proxy.yaml")
	if err := os.WriteFile(config, []byte(s.proxyConfig()), 0o600); err != nil {
		return err
	}
	return s.run("proxy", s.Cache.Path(binaries.Proxy), "--config="+config)
}

func (s *Sandbox) registryAddr() string { return network.Port(loopback, s.plan.Ports().Registry) }

func (s *Sandbox) startRegistry() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	return s.run("registry", self, "registry", "--internal", "--listen", fmt.Sprintf("0.0.0.0:%d", s.plan.Ports().Registry))
}
