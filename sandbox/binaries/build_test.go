package binaries

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPinnedModulesHaveTheVersionsInTheNames(t *testing.T) {
	t.Parallel()
	for module, want := range map[string]string{
		"kubernetes": "k8s.io/kubernetes " + KubernetesVersion,
		"etcd":       "go.etcd.io/etcd/server/v3 " + EtcdVersion,
		"kwok":       "sigs.k8s.io/kwok " + KwokVersion,
	} {
		dir := t.TempDir()
		if err := unpack(module, dir); err != nil {
			t.Fatal(err)
		}
		text := func(name string) string {
			data, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			return string(data)
		}
		if !strings.Contains(text("go.mod"), want+"\n") {
			t.Errorf("go.mod of %s does not require %s", module, want)
		}
		if !strings.Contains(text("go.sum"), want+" h1:") {
			t.Errorf("go.sum of %s has no sum for %s", module, want)
		}
		for _, p := range Programs() {
			if p.module == module && !strings.Contains(text("tools.go"), `"`+p.pkg+`"`) {
				t.Errorf("tools.go of %s does not keep %s", module, p.pkg)
			}
		}
	}
}

func TestEnsureLeavesWhatIsThere(t *testing.T) {
	t.Parallel()
	c := Cache{Dir: t.TempDir(), Say: func(format string, args ...any) { t.Errorf("says "+format, args...) }}
	var names []string
	for _, p := range Programs() {
		names = append(names, p.Name)
		if !strings.Contains(c.Path(p.Name), "-"+p.version+"-") {
			t.Errorf("the version %s is not in %s", p.version, c.Path(p.Name))
		}
		if err := os.MkdirAll(filepath.Dir(c.Path(p.Name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(c.Path(p.Name), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Ensure(t.Context(), names...); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(c.Dir, "build.lock")); err == nil {
		t.Error("the cache was locked though there was nothing to do")
	}
}

func TestFailedBuildLeavesNothing(t *testing.T) {
	t.Parallel()
	c := Cache{Dir: t.TempDir(), Say: func(string, ...any) {}}
	p := Programs()[0]
	p.pkg = "./none"
	err := c.build(t.Context(), p)
	if err == nil || !strings.Contains(err.Error(), "none") {
		t.Errorf("build of a package that is not there: %v", err)
	}
	left, globErr := filepath.Glob(filepath.Join(c.Dir, "*", "*"))
	if hidden, _ := filepath.Glob(filepath.Join(c.Dir, "*", ".*")); globErr != nil || len(left)+len(hidden) > 0 {
		t.Errorf("left behind: %v %v", left, hidden)
	}
}
