package cluster

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/kubectl-kruise/kubectl-kruise/sandbox/network"
)

func sample(index, nodes int) *Sandbox {
	return &Sandbox{
		Dir:    "/var/sandbox",
		record: record{Options: Options{Nodes: nodes, FakeNodes: 2}, Index: index},
		plan:   network.Plan{Index: index, Isolated: nodes > 0},
	}
}

func TestKubeletConfig(t *testing.T) {
	t.Parallel()
	s := sample(1, 2)
	got := s.kubeletConfig(2)
	for _, want := range []string{
		"cgroupRoot: /kruise-sandbox-1/node2\n", "address: 10.208.1.2\n", "clusterDNS: [10.208.16.10]\n",
		`containerRuntimeEndpoint: "unix:///var/sandbox/node2/containerd.sock"` + "\n",
		"crashLoopBackOff: {maxContainerRestartPeriod: 1s}\n", "imagefs.available: 1%}\n", "failCgroupV1: false\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	s.RealBackoff = true
	if got := s.kubeletConfig(2); !strings.Contains(got, "crashLoopBackOff: {maxContainerRestartPeriod: 300s}\n") {
		t.Errorf("--real-backoff does not show in\n%s", got)
	}
}

func TestContainerdConfig(t *testing.T) {
	t.Parallel()
	got := sample(1, 1).containerdConfig(1)
	for _, want := range []string{
		`root = "/var/sandbox/node1/containerd"`, `address = "/var/sandbox/node1/containerd.sock"`, "restrict_oom_score_adj = true",
		"netns_mounts_under_state_dir = true", `config_path = "/var/sandbox/node1/registry"`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

func TestCNIConfigOfNodesDiffers(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, index := range []int{1, 2} {
		for n := 1; n <= network.MaxNodes; n++ {
			var config struct {
				Name    string
				Plugins []struct {
					Ipam struct {
						Ranges [][]struct{ RangeStart string }
					}
				}
			}
			if err := json.Unmarshal([]byte(sample(index, 9).cniConfig(n)), &config); err != nil {
				t.Fatal(err)
			}
			for _, key := range []string{config.Name, config.Plugins[0].Ipam.Ranges[0][0].RangeStart} {
				if seen[key] != "" {
					t.Errorf("node %d of sandbox %d shares %s", n, index, key)
				}
				seen[key] = "taken"
			}
		}
	}
}

func TestComponents(t *testing.T) {
	t.Parallel()
	control := []string{"etcd", "apiserver", "controller-manager", "scheduler"}
	for _, c := range []struct {
		options Options
		want    []string
	}{
		{Options{}, control},
		{Options{FakeNodes: 3}, append(slices.Clone(control), "kwok")},
		{Options{Nodes: 2}, append(slices.Clone(control), "registry", "proxy", "node1-containerd", "node1-kubelet", "node2-containerd", "node2-kubelet")},
	} {
		if got := c.options.components(); !slices.Equal(got, c.want) {
			t.Errorf("components of %s: %v, want %v", c.options, got, c.want)
		}
	}
}

func TestOptionsOutOfRange(t *testing.T) {
	t.Parallel()
	for _, o := range []Options{{Nodes: -1}, {Nodes: 10}, {FakeNodes: -1}, {FakeNodes: 5001}} {
		if o.Validate() == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
	for _, o := range []Options{{}, {Nodes: 9, FakeNodes: 5000}} {
		if err := o.Validate(); err != nil {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

func TestMissingPackagesAreNamedOnce(t *testing.T) {
	t.Parallel()
	none := func(string) bool { return false }
	all := func(string) bool { return true }
	if got := missingPackages(all, true, true); len(got) != 0 {
		t.Errorf("nothing is missing, but %v is named", got)
	}
	want := []string{"containerd", "runc", "iptables", "iproute2", "containernetworking-plugins", "busybox-static"}
	if got := missingPackages(none, false, false); !slices.Equal(got, want) {
		t.Errorf("missing: %v, want %v", got, want)
	}
	onlyRunc := func(program string) bool { return program != "runc" }
	if got := missingPackages(onlyRunc, true, true); !slices.Equal(got, []string{"runc"}) {
		t.Errorf("missing: %v, want runc", got)
	}
}

func TestMountsBelow(t *testing.T) {
	t.Parallel()
	table := []byte(`proc /proc proc rw 0 0
overlay /var/sand\040box/node1/run/rootfs overlay rw 0 0
tmpfs /var/sand\040box/node1/kubelet/pods/1 tmpfs rw 0 0
tmpfs /var/sand\040box2/x tmpfs rw 0 0
short
`)
	want := []string{"/var/sand box/node1/run/rootfs", "/var/sand box/node1/kubelet/pods/1"}
	if got := mountsBelow(table, "/var/sand box"); !slices.Equal(got, want) {
		t.Errorf("mountsBelow = %q, want %q", got, want)
	}
}

func TestLongStateFolderIsRefused(t *testing.T) {
	t.Parallel()
	if err := checkLength("/" + strings.Repeat("x", 59)); err != nil {
		t.Error(err)
	}
	if checkLength("/"+strings.Repeat("x", 60)) == nil {
		t.Error("61 characters are accepted")
	}
}
