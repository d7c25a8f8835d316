// Package binaries builds the cluster's programs from their published Go modules into a cache folder of the user, each
// version once. The modules' versions are pinned by the embedded go.mod and go.sum files.
package binaries

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/kubectl-kruise/kubectl-kruise/sandbox/lock"
)

// A folder with a go.mod is a module of its own, which go:embed does not enter; hence the suffix .txt of these files.
//
//go:embed modules
var modules embed.FS

// Versions of what is built.
const (
	KubernetesVersion = "v1.37.2"
	EtcdVersion       = "v3.7.3"
	KwokVersion       = "v0.8.0"
)

// Program is one of the cluster's programs.
type Program struct {
	Name    string
	pkg     string
	module  string // folder below modules/
	version string
	folder  string // name of the cache folder without platform
	ldflags string
}

// Names of the programs.
const (
	Etcd              = "etcd"
	APIServer         = "kube-apiserver"
	ControllerManager = "kube-controller-manager"
	Scheduler         = "kube-scheduler"
	Proxy             = "kube-proxy"
	Kubelet           = "kubelet"
	Kubectl           = "kubectl"
	Kwok              = "kwok"
)

// Programs lists all programs in the order in which they are built.
func Programs() []Program {
	const set = "-X k8s.io/component-base/version."
	minor := strings.Split(KubernetesVersion, ".")[1]
	kubeFlags := set + "gitVersion=" + KubernetesVersion + " " + set + "gitMajor=1 " + set + "gitMinor=" + minor + " " +
		set + "buildDate=2026-01-01T00:00:00Z -s -w"
	var out []Program
	for _, name := range []string{APIServer, ControllerManager, Scheduler, Kubelet, Proxy, Kubectl} {
		out = append(out, Program{name, "k8s.io/kubernetes/cmd/" + name, "kubernetes", KubernetesVersion, "k8s", kubeFlags})
	}
	return append(out,
		Program{Etcd, "go.etcd.io/etcd/server/v3", "etcd", EtcdVersion, "etcd", "-s -w"},
		Program{Kwok, "sigs.k8s.io/kwok/cmd/kwok", "kwok", KwokVersion, "kwok", "-s -w"})
}

// Cache is the folder that holds the built programs.
type Cache struct {
	Dir string
	// Say reports progress, one line a call.
	Say func(format string, args ...any)
}

// Path is where a program is, or will be once it is built.
func (c Cache) Path(name string) string {
	for _, p := range Programs() {
		if p.Name == name {
			return filepath.Join(c.Dir, fmt.Sprintf("%s-%s-%s-%s", p.folder, p.version, runtime.GOOS, runtime.GOARCH), name)
		}
	}
	return ""
}

// Ensure builds those of the named programs that the cache lacks, one after another.
func (c Cache) Ensure(ctx context.Context, names ...string) error {
	var missing []Program
	for _, p := range Programs() {
		for _, n := range names {
			if p.Name == n && !executable(c.Path(n)) {
				missing = append(missing, p)
			}
		}
	}
	if len(missing) == 0 {
		return nil
	}
	if _, err := exec.LookPath("go"); err != nil {
		return fmt.Errorf("building %s needs Go: %w", missing[0].Name, err)
	}
	held, err := c.lock(ctx)
	if err != nil {
		return err
	}
	defer held.Close()
	for i, p := range missing {
		if executable(c.Path(p.Name)) { // another process has built it meanwhile
			continue
		}
		c.Say("building %s %s (%d of %d; once, minutes in all)", p.Name, p.version, i+1, len(missing))
		start := time.Now()
		if err := c.build(ctx, p); err != nil {
			return fmt.Errorf("build %s: %w", p.Name, err)
		}
		c.Say("built %s in %s", p.Name, time.Since(start).Round(time.Second))
	}
	return nil
}

// lock keeps two processes from building at the same time.
func (c Cache) lock(ctx context.Context) (*os.File, error) {
	if err := os.MkdirAll(c.Dir, 0o755); err != nil {
		return nil, err
	}
	return lock.Take(ctx, filepath.Join(c.Dir, "build.lock"), func() { c.Say("waiting for another process that is building") })
}

// build makes one program in a temporary folder beside its place and moves it there.
func (c Cache) build(ctx context.Context, p Program) error {
	target := c.Path(p.Name)
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(filepath.Dir(target), ".build-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	if err := unpack(p.module, tmp); err != nil {
		return err
	}
	out := filepath.Join(tmp, p.Name)
	cmd := exec.CommandContext(ctx, "go", "build", "-ldflags", p.ldflags, "-o", out, p.pkg)
	cmd.Dir = tmp
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	// go's own children go with it when the build is interrupted
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	var text bytes.Buffer
	cmd.Stdout, cmd.Stderr = &text, &text
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		lines := strings.Split(strings.TrimSpace(text.String()), "\n")
		return fmt.Errorf("%w:\n%s", err, strings.Join(lines[max(0, len(lines)-20):], "\n"))
	}
	return os.Rename(out, target)
}

// unpack writes the pinned module into a folder.
func unpack(module, dir string) error {
	for _, name := range []string{"go.mod", "go.sum", "tools.go"} {
		data, err := modules.ReadFile(path.Join("modules", module, name+".txt"))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			return err
		}
	}
	return nil
}

func executable(file string) bool {
	info, err := os.Stat(file)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}
