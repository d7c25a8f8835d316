package cluster

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"strconv"

	"github.com/kubectl-kruise/kubectl-kruise/sandbox/binaries"
	"github.com/kubectl-kruise/kubectl-kruise/sandbox/network"
	"github.com/kubectl-kruise/kubectl-kruise/sandbox/pki"
	"github.com/kubectl-kruise/kubectl-kruise/sandbox/process"
)

const adminUser = "admin"

var loopback = netip.AddrFrom4([4]byte{127, 0, 0, 1})

// writeKeys makes all keys, certificates, tokens and kubeconfigs.
func (s *Sandbox) writeKeys() error {
	dir := s.path("pki")
	ca, err := pki.NewAuthority(dir)
	if err != nil {
		return err
	}
	requests := []pki.Request{
		{Name: "apiserver", IPs: []netip.Addr{loopback, s.plan.APIServiceAddr(), s.plan.Gateway(), s.plan.LinkAddr()},
			DNS: []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"}},
		{Name: "etcd", IPs: []netip.Addr{loopback}},
		{Name: "kubelet-client", Organization: "system:masters"},
	}
	for _, r := range requests {
		if err := ca.Issue(r); err != nil {
			return err
		}
	}
	if err := pki.ServiceAccountKeys(dir); err != nil {
		return err
	}
	outside := "https://" + network.Port(s.plan.APIHost(), s.plan.Ports().API)
	inside := "https://" + network.Port(loopback, s.plan.Ports().API)
	clients := []pki.Client{
		{Name: "admin", User: adminUser, Group: "system:masters", Server: outside},
		{Name: "controller-manager", User: "system:kube-controller-manager", Server: inside},
		{Name: "scheduler", User: "system:kube-scheduler", Server: inside},
		{Name: "proxy", User: "system:kube-proxy", Server: inside},
		{Name: "kwok", User: "kwok", Group: "system:masters", Server: inside},
	}
	for n := 1; n <= s.Nodes; n++ {
		clients = append(clients, pki.Client{Name: nodeName(n), User: "system:node:" + nodeName(n), Group: "system:nodes", Server: inside})
	}
	return pki.WriteClients(s.path("pki", "ca.crt"), s.path("pki", "tokens.csv"), s.path("kubeconfig"), clients)
}

// run starts a component of the control plane.
func (s *Sandbox) run(name string, command ...string) error {
	return s.runIn("control", name, command...)
}

// runIn starts a component in one of the sandbox's cgroups.
func (s *Sandbox) runIn(group, name string, command ...string) error {
	spec := process.Spec{
		Name: name, Command: command, Dir: s.Dir,
		PIDFile: s.path("pid", name+".pid"), LogFile: s.LogFile(name), Lock: s.held,
	}
	if s.plan.Isolated {
		var err error
		if spec.NetNS, err = netNS(s.Index); err != nil {
			return err
		}
		spec.Cgroups = []string{processHierarchy() + "/" + s.plan.Name() + "/" + group}
	}
	p, err := process.Start(spec)
	if err != nil {
		return err
	}
	s.watch(p)
	return nil
}

func (s *Sandbox) startEtcd() error {
	ports := s.plan.Ports()
	client, peer := "https://"+network.Port(loopback, ports.Etcd), "https://"+network.Port(loopback, ports.EtcdPeer)
	return s.run("etcd", s.Cache.Path(binaries.Etcd),
		"--data-dir", s.path("etcd"), "--unsafe-no-fsync", "--quota-backend-bytes", strconv.Itoa(4<<30),
		"--listen-client-urls", client, "--advertise-client-urls", client,
		"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", "default="+peer,
		"--client-cert-auth", "--trusted-ca-file", s.path("pki", "ca.crt"),
		"--cert-file", s.path("pki", "etcd.crt"), "--key-file", s.path("pki", "etcd.key"),
		"--peer-client-cert-auth", "--peer-trusted-ca-file", s.path("pki", "ca.crt"),
		"--peer-cert-file", s.path("pki", "etcd.crt"), "--peer-key-file", s.path("pki", "etcd.key"))
}

const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
rules:
- level: Metadata
`

func (s *Sandbox) startAPIServer() error {
	ports := s.plan.Ports()
	// Pods reach the API server at the bridge's address, the machine at the link's. Without real nodes the advertised
	// address is one that no packet reaches, because the API server accepts no loopback address there.
	bind, advertise := "0.0.0.0", s.plan.Gateway()
	if !s.plan.Isolated {
		bind, advertise = loopback.String(), s.plan.LinkAddr()
	}
	args := []string{s.Cache.Path(binaries.APIServer),
		"--etcd-servers=https://" + network.Port(loopback, ports.Etcd),
		"--etcd-cafile=" + s.path("pki", "ca.crt"), "--etcd-certfile=" + s.path("pki", "etcd.crt"), "--etcd-keyfile=" + s.path("pki", "etcd.key"),
		"--secure-port=" + strconv.Itoa(ports.API), "--bind-address=" + bind, "--advertise-address=" + advertise.String(),
		"--tls-cert-file=" + s.path("pki", "apiserver.crt"), "--tls-private-key-file=" + s.path("pki", "apiserver.key"),
		"--token-auth-file=" + s.path("pki", "tokens.csv"),
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-signing-key-file=" + s.path("pki", "sa.key"), "--service-account-key-file=" + s.path("pki", "sa.pub"),
		"--service-cluster-ip-range=" + s.plan.ServiceCIDR().String(),
		"--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction", "--allow-privileged=true",
		// webhooks and aggregated APIs are dialled at their endpoints, not at a cluster IP
		"--enable-aggregator-routing=true",
		"--kubelet-preferred-address-types=InternalIP",
		"--kubelet-client-certificate=" + s.path("pki", "kubelet-client.crt"), "--kubelet-client-key=" + s.path("pki", "kubelet-client.key"),
	}
	if s.Audit {
		policy := s.path("config", "audit-policy.yaml")
		if err := os.WriteFile(policy, []byte(auditPolicy), 0o600); err != nil {
			return err
		}
		// blocking: when a request has its answer, the log has its line
		args = append(args, "--audit-policy-file="+policy, "--audit-log-path="+s.path("log", "audit.log"),
			"--audit-log-mode=blocking", "--audit-log-maxsize=2000")
	}
	return s.run("apiserver", args...)
}

func (s *Sandbox) startControllerManager() error {
	config := s.path("kubeconfig", "controller-manager")
	return s.run("controller-manager", s.Cache.Path(binaries.ControllerManager),
		"--kubeconfig="+config, "--authentication-kubeconfig="+config, "--authorization-kubeconfig="+config,
		"--leader-elect=false", "--use-service-account-credentials=true",
		"--service-account-private-key-file="+s.path("pki", "sa.key"), "--root-ca-file="+s.path("pki", "ca.crt"),
		"--cluster-signing-cert-file="+s.path("pki", "ca.crt"), "--cluster-signing-key-file="+s.path("pki", "ca.key"),
		"--enable-hostpath-provisioner=true", "--kube-api-qps=300", "--kube-api-burst=500",
		"--bind-address=127.0.0.1", "--secure-port="+strconv.Itoa(s.plan.Ports().ControllerManager))
}

func (s *Sandbox) startScheduler() error {
	kubeconfig := s.path("kubeconfig", "scheduler")
	config := s.path("config", "scheduler.yaml")
	text := fmt.Sprintf(`apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
clientConnection: {kubeconfig: %q, qps: 500, burst: 1000}
`, kubeconfig)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return err
	}
	return s.run("scheduler", s.Cache.Path(binaries.Scheduler), "--config="+config,
		"--authentication-kubeconfig="+kubeconfig, "--authorization-kubeconfig="+kubeconfig,
		"--bind-address=127.0.0.1", "--secure-port="+strconv.Itoa(s.plan.Ports().Scheduler))
}

// startControlPlane brings the API server to where it answers, then starts what works through it.
func (s *Sandbox) startControlPlane(ctx context.Context) (*api, error) {
	if err := s.startEtcd(); err != nil {
		return nil, err
	}
	if err := s.startAPIServer(); err != nil {
		return nil, err
	}
	client, err := s.api()
	if err != nil {
		return nil, err
	}
	if err := s.wait(ctx, "the API server", func() bool { return client.ready(ctx) }); err != nil {
		return nil, err
	}
	s.Say("API server ready")
	if err := s.startControllerManager(); err != nil {
		return nil, err
	}
	return client, s.startScheduler()
}
