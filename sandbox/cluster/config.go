package cluster

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/kubectl-kruise/kubectl-kruise/sandbox/image"
	"github.com/kubectl-kruise/kubectl-kruise/sandbox/network"
)

// containerdConfig leaves nothing outside the state folder but shim sockets, which cleanup knows of.
func (s *Sandbox) containerdConfig(n int) string {
	dir := s.path(nodeName(n))
	return fmt.Sprintf(`version = 2
root = "%[1]s/containerd"
state = "%[1]s/run"
[grpc]
  address = "%[2]s"
[plugins."io.containerd.internal.v1.opt"]
  path = "%[1]s/opt"
[plugins."io.containerd.grpc.v1.cri"]
  # a machine without CAP_SYS_RESOURCE cannot lower the score of a process
  restrict_oom_score_adj = true
  # pods' network namespaces are mounted below state
  netns_mounts_under_state_dir = true
  sandbox_image = "%[3]s"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "%[4]s"
    conf_dir = "%[1]s/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "%[5]s"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        Root = "%[1]s/runc"
  [plugins."io.containerd.grpc.v1.cri".registry]
    config_path = "%[1]s/registry"
`, dir, s.socket(n), image.Pause, cniDir(), snapshotter(s.Dir))
}

// snapshotter is how containerd lays an image's layers over each other: by overlay mounts where the file system of the
// folder allows them, or else by copies.
func snapshotter(dir string) string {
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err == nil && fs.Type == unix.OVERLAYFS_SUPER_MAGIC {
		return "native"
	}
	return "overlayfs"
}

// hostsConfig sends every pull, whatever registry the image's name has, to the sandbox's registry and nowhere else, so
// an unknown image is reported as not found.
func (s *Sandbox) hostsConfig() string {
	return fmt.Sprintf(`server = "http://%[1]s"
[host."http://%[1]s"]
  capabilities = ["pull", "resolve"]
`, s.registryAddr())
}

func (s *Sandbox) cniConfig(n int) string {
	first, last := s.plan.PodRange(n)
	return fmt.Sprintf(`{
  "cniVersion": "1.0.0",
  "name": "%s",
  "plugins": [
    {
      "type": "bridge", "bridge": "%s", "isGateway": true, "ipMasq": false, "hairpinMode": true,
      "ipam": {
        "type": "host-local", "dataDir": "%s",
        "ranges": [[{"subnet": "%s", "rangeStart": "%s", "rangeEnd": "%s", "gateway": "%s"}]],
        "routes": [{"dst": "0.0.0.0/0"}]
      }
    },
    {"type": "portmap", "capabilities": {"portMappings": true}}
  ]
}
`, s.cniNetwork(n), network.Bridge, s.path(nodeName(n), "ipam"), s.plan.PodCIDR(), first, last, s.plan.Gateway())
}

// cniNetwork is the name under which CNI keeps results of the node's pods on the machine.
func (s *Sandbox) cniNetwork(n int) string { return s.plan.Name() + "-" + nodeName(n) }

func (s *Sandbox) kubeletConfig(n int) string {
	backoff := "1s" // a container that ends again and again is restarted after this long at most
	if s.RealBackoff {
		backoff = "300s"
	}
	dir := s.path(nodeName(n))
	return fmt.Sprintf(`apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
failCgroupV1: false
cgroupDriver: cgroupfs
cgroupRoot: /%s
authentication:
  anonymous: {enabled: false}
  webhook: {enabled: true}
  x509: {clientCAFile: %q}
authorization: {mode: Webhook}
failSwapOn: false
address: %s
port: 10250
healthzPort: 0
clusterDomain: cluster.local
clusterDNS: [%s]
resolvConf: /etc/resolv.conf
containerRuntimeEndpoint: %q
evictionHard: {memory.available: 100Mi, nodefs.available: 1%%, imagefs.available: 1%%}
imageGCHighThresholdPercent: 100
imageGCLowThresholdPercent: 99
serializeImagePulls: false
crashLoopBackOff: {maxContainerRestartPeriod: %s}
registryPullQPS: 0
eventRecordQPS: 0
volumePluginDir: %q
podLogsDir: %q
`, s.nodeCgroup(n), s.path("pki", "ca.crt"), s.plan.NodeAddr(n), s.plan.DNSAddr(), "unix://"+s.socket(n), backoff,
		dir+"/kubelet/plugins", dir+"/logs")
}

func (s *Sandbox) proxyConfig() string {
	return fmt.Sprintf(`apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
clientConnection: {kubeconfig: %q, qps: 500, burst: 1000}
hostnameOverride: %s
mode: iptables
clusterCIDR: %s
bindAddress: 127.0.0.1
metricsBindAddress: 127.0.0.1:10249
healthzBindAddress: ""
conntrack: {maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
iptables: {masqueradeAll: true, minSyncPeriod: 200ms}
`, s.path("kubeconfig", "proxy"), nodeName(1), s.plan.PodCIDR())
}
