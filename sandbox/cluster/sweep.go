package cluster

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/kubectl-kruise/kubectl-kruise/sandbox/network"
)

// sweep removes what a sandbox with real nodes leaves outside its state folder, and the mounts inside it. It needs
// nothing but the index and the folder's name, so it works after any crash; without root there is nothing to sweep.
func (s *Sandbox) sweep(plan network.Plan, stateDir string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	if err := killCgroup(plan.Name()); err != nil {
		return err
	}
	// These are read from the state folder, so before its mounts go.
	removeShimSockets(stateDir)
	removeVolumes(stateDir)
	if err := unmountBelow(stateDir); err != nil {
		return err
	}
	removeLogLinks(stateDir)
	removeCNIResults(stateDir)
	removePluginSocket()
	file, err := netNS(plan.Index)
	if err != nil {
		return err
	}
	if err := plan.Remove(file); err != nil {
		return err
	}
	return removeCgroups(plan.Name())
}

// unmountBelow lets go of all mounts below a folder, the deepest first.
func unmountBelow(dir string) error {
	table, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return err
	}
	points := mountsBelow(table, dir)
	for _, point := range slices.Backward(points) {
		if err := syscall.Unmount(point, syscall.MNT_DETACH); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOENT) {
			return fmt.Errorf("unmount %s: %w", point, err)
		}
	}
	return nil
}

// mountsBelow lists the mount points below a folder, in the order of the table: parents first.
func mountsBelow(table []byte, dir string) []string {
	var out []string
	lines := bufio.NewScanner(bytes.NewReader(table))
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 2 {
			continue
		}
		if point := unescape(fields[1]); strings.HasPrefix(point, dir+"/") {
			out = append(out, point)
		}
	}
	return out
}

var octal = regexp.MustCompile(`\\[0-7]{3}`)

// unescape undoes the kernel's notation of spaces and the like in mount tables.
func unescape(s string) string {
	return octal.ReplaceAllStringFunc(s, func(code string) string {
		n, err := strconv.ParseUint(code[1:], 8, 8)
		if err != nil {
			return code
		}
		return string([]byte{byte(n)})
	})
}

// removeShimSockets removes the sockets, outside the state folder, of the containers whose shims were killed.
func removeShimSockets(stateDir string) {
	addresses, _ := filepath.Glob(stateDir + "/node*/run/io.containerd.runtime.v2.task/*/*/address")
	for _, file := range addresses {
		data, err := os.ReadFile(file)
		if socket, ok := strings.CutPrefix(strings.TrimSpace(string(data)), "unix://"); ok && err == nil && strings.HasPrefix(socket, "/run/containerd/s/") {
			_ = os.Remove(socket)
		}
	}
	for _, dir := range []string{"/run/containerd/s", "/run/containerd"} {
		_ = os.Remove(dir) // succeeds when it is empty
	}
}

var hostPathVolume = regexp.MustCompile(`/tmp/hostpath_pv/[0-9a-f]{8}-[0-9a-f-]{27}`)

// removeVolumes removes the folders that the host-path provisioner made. etcd's files name them, also when nothing
// answers any more.
func removeVolumes(stateDir string) {
	var files []string
	for _, pattern := range []string{"/etcd/member/wal/*.wal", "/etcd/member/snap/db"} {
		found, _ := filepath.Glob(stateDir + pattern)
		files = append(files, found...)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		for _, dir := range hostPathVolume.FindAll(data, -1) {
			_ = os.RemoveAll(string(dir))
		}
	}
	_ = os.Remove("/tmp/hostpath_pv") // succeeds when it is empty
}

// removeLogLinks removes the links that kubelets make for each container's log.
func removeLogLinks(stateDir string) {
	const dir = "/var/log/containers"
	links, _ := filepath.Glob(dir + "/*.log")
	for _, link := range links {
		if target, err := os.Readlink(link); err == nil && strings.HasPrefix(target, stateDir+"/") {
			_ = os.Remove(link)
		}
	}
	_ = os.Remove(dir) // succeeds when it is empty
}

// removeCNIResults removes what CNI remembers of the pods' networks: a file for each interface, which names the pod's
// network namespace below the state folder.
func removeCNIResults(stateDir string) {
	results, _ := filepath.Glob("/var/lib/cni/results/*")
	for _, file := range results {
		if data, err := os.ReadFile(file); err == nil && bytes.Contains(data, []byte(`"`+stateDir+"/")) {
			_ = os.Remove(file)
		}
	}
	for _, dir := range []string{"/var/lib/cni/results", "/var/lib/cni"} {
		_ = os.Remove(dir) // succeeds when it is empty
	}
}

// removePluginSocket removes the socket for device plugins, which every kubelet makes at the same place, unless some
// kubelet still listens at it.
func removePluginSocket() {
	const socket = "/var/lib/kubelet/device-plugins/kubelet.sock"
	conn, err := net.Dial("unix", socket)
	if err == nil {
		conn.Close()
		return
	}
	_ = os.Remove(socket)
	for _, dir := range []string{"/var/lib/kubelet/device-plugins", "/var/lib/kubelet"} {
		_ = os.Remove(dir) // succeeds when it is empty
	}
}
