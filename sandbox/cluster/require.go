package cluster

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/kubectl-kruise/kubectl-kruise/sandbox/image"
)

// cniDirs are the folders in which distributions put the CNI plugins.
var cniDirs = []string{"/usr/lib/cni", "/opt/cni/bin"}

// cniDir is the folder that has the plugins a node needs, or "".
func cniDir() string {
	for _, dir := range cniDirs {
		found := true
		for _, plugin := range []string{"bridge", "host-local", "portmap", "loopback"} {
			_, err := os.Stat(dir + "/" + plugin)
			found = found && err == nil
		}
		if found {
			return dir
		}
	}
	return ""
}

// RequireRealNodes says what the machine lacks for real nodes.
func RequireRealNodes() error {
	if os.Geteuid() != 0 {
		return fmt.Errorf("real nodes need root; without it a control plane with fake nodes works: kruise-sandbox up --nodes 0 --fake-nodes 3")
	}
	missing := missingPackages(func(program string) bool { _, err := exec.LookPath(program); return err == nil }, cniDir() != "", image.CheckBusybox() == nil)
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("real nodes need packages that are not installed; on Debian: apt-get install %s", strings.Join(missing, " "))
}

// missingPackages names the Debian packages whose programs are not there.
func missingPackages(has func(program string) bool, cni, busybox bool) []string {
	var out []string
	for _, p := range []struct{ program, pkg string }{
		{"containerd", "containerd"}, {"ctr", "containerd"}, {"runc", "runc"}, {"iptables", "iptables"}, {"ip", "iproute2"},
	} {
		if !has(p.program) && !slices.Contains(out, p.pkg) {
			out = append(out, p.pkg)
		}
	}
	if !cni {
		out = append(out, "containernetworking-plugins")
	}
	if !busybox {
		out = append(out, "busybox-static")
	}
	return out
}
