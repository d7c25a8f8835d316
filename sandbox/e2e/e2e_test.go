// Package e2e tests the built program on this machine: with real nodes, as root.
package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-kruise/kubectl-kruise/sandbox/binaries"
	"github.com/kubectl-kruise/kubectl-kruise/sandbox/cluster"
)

// box is one sandbox of a test, driven by the program.
type box struct {
	t       *testing.T
	program string
	state   string
}

// newBox builds the program and gives it a state folder; at the end of the test nothing is left of the sandbox.
func newBox(t *testing.T, real bool) *box {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a cluster")
	}
	if err := cluster.RequireRealNodes(); real && err != nil {
		t.Skip(err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Skip(err)
	}
	for _, p := range binaries.Programs() {
		file := binaries.Cache{Dir: filepath.Join(cache, "kubectl-kruise", "bin")}.Path(p.Name)
		if _, err := os.Stat(file); err != nil {
			t.Skipf("the cluster's programs are not built (kruise-sandbox build): %v", err)
		}
	}
	b := &box{t: t, program: filepath.Join(t.TempDir(), "kruise-sandbox"), state: filepath.Join(t.TempDir(), "s")}
	if out, err := exec.Command("go", "build", "-o", b.program, "..").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	t.Cleanup(func() {
		if out, err := b.run("down"); err != nil {
			t.Errorf("down: %v\n%s", err, out)
		}
	})
	return b
}

// run calls the program on the box's state folder and returns all it printed.
func (b *box) run(args ...string) (string, error) {
	out, err := exec.Command(b.program, append(args, "--state", b.state)...).CombinedOutput()
	return string(out), err
}

func (b *box) must(args ...string) string {
	b.t.Helper()
	out, err := b.run(args...)
	if err != nil {
		b.t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return out
}

// kubectl calls kubectl as the cluster's administrator.
func (b *box) kubectl(stdin string, args ...string) (string, error) {
	cmd := exec.Command(filepath.Join(b.state, "bin", "kubectl"), args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+filepath.Join(b.state, "kubeconfig", "admin"))
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (b *box) mustKubectl(stdin string, args ...string) string {
	b.t.Helper()
	out, err := b.kubectl(stdin, args...)
	if err != nil {
		b.t.Fatalf("kubectl %v: %v\n%s", args, err, out)
	}
	return out
}

// eventually polls until the condition holds.
func (b *box) eventually(what string, holds func() (string, bool)) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), 3*time.Minute)
	defer cancel()
	for tick := time.NewTicker(100 * time.Millisecond); ; {
		seen, ok := holds()
		if ok {
			tick.Stop()
			return
		}
		select {
		case <-ctx.Done():
			b.t.Fatalf("%s: not within three minutes; last seen:\n%s", what, seen)
		case <-tick.C:
		}
	}
}

type container struct {
	Name         string
	ContainerID  string
	ImageID      string
	RestartCount int
	Ready        bool
	State        struct {
		Waiting struct{ Reason, Message string }
	}
}

// containers returns the container statuses of a pod by name.
func (b *box) containers(pod string) map[string]container {
	b.t.Helper()
	var p struct {
		Status struct{ ContainerStatuses []container }
	}
	if err := json.Unmarshal([]byte(b.mustKubectl("", "get", "pod", pod, "-o", "json")), &p); err != nil {
		b.t.Fatal(err)
	}
	out := map[string]container{}
	for _, c := range p.Status.ContainerStatuses {
		out[c.Name] = c
	}
	return out
}

// index is the number that `up` gave the sandbox.
func (b *box) index() int {
	b.t.Helper()
	data, err := os.ReadFile(filepath.Join(b.state, "sandbox.json"))
	if err != nil {
		b.t.Fatal(err)
	}
	var record struct{ Index int }
	if err := json.Unmarshal(data, &record); err != nil {
		b.t.Fatal(err)
	}
	return record.Index
}

// traces finds what there is of the sandbox on the machine, by kind.
func (b *box) traces(index int) map[string][]string {
	b.t.Helper()
	out := map[string][]string{}
	grep := func(kind, text string, words ...string) {
		for _, line := range strings.Split(text, "\n") {
			for _, w := range words {
				if strings.Contains(line, w) {
					out[kind] = append(out[kind], line)
				}
			}
		}
	}
	read := func(file string) string {
		data, err := os.ReadFile(file)
		if err != nil {
			b.t.Fatal(err)
		}
		return string(data)
	}
	name := fmt.Sprintf("kruise-sandbox-%d", index)
	netns := fmt.Sprintf("/run/kruise-sandbox/%d.netns", index)
	grep("mount", read("/proc/self/mounts"), b.state, netns+" ")
	grep("route", read("/proc/net/route"), fmt.Sprintf("kruisesb%d\t", index))
	rules, err := exec.Command("iptables-save").Output()
	if err != nil {
		b.t.Fatal(err)
	}
	grep("firewall", string(rules), "KUBE-", "CNI-")
	for kind, pattern := range map[string]string{
		"interface": fmt.Sprintf("/sys/class/net/kruisesb%d", index),
		"cgroup":    "/sys/fs/cgroup/*/" + name,
		"cgroup v2": "/sys/fs/cgroup/" + name,
		"slot":      strings.TrimSuffix(netns, ".netns"),
		"netns":     netns,
		"cni":       "/var/lib/cni/results/*" + name + "-*",
		"namespace": "/run/netns/cni-*",
	} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			b.t.Fatal(err)
		}
		out[kind] = append(out[kind], found...)
	}
	commands, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		b.t.Fatal(err)
	}
	for _, file := range commands {
		data, _ := os.ReadFile(file) // the process may be gone
		cwd, _ := os.Readlink(filepath.Dir(file) + "/cwd")
		if line := string(bytes.ReplaceAll(data, []byte{0}, []byte{' '})); strings.Contains(line, b.state) || strings.HasPrefix(cwd, b.state) {
			out["process"] = append(out["process"], line)
		}
	}
	return out
}

// gone fails the test for everything that is left of the sandbox.
func (b *box) gone(index int) {
	b.t.Helper()
	for kind, found := range b.traces(index) {
		for _, f := range found {
			b.t.Errorf("left behind: %s %s", kind, f)
		}
	}
}
