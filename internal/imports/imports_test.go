// Package imports keeps the map of the house true: it reads the import graph and refuses an arrow that runs up, between
// rooms of one floor that may not know each other, or from the engine to anything that dials, waits or reads a clock.
package imports

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/kubectl-kruise/kubectl-kruise"

// floors says on which floor the packages below a path stand; the longest match holds. Imports only run down.
var floors = map[string]int{
	"pkg/apis":      1,
	"pkg/engine":    2,
	"pkg/cluster":   3,
	"pkg/view":      3,
	"pkg/install":   4,
	"pkg/daemon":    4,
	"pkg/webhook":   4,
	"pkg/reconcile": 4,
	"pkg/tui":       4,
	"pkg/commands":  5,
	"cmd":           6,
}

// apart lists the floors on which no room imports another one. On the others (the parts of apis, of the engine, of
// commands) the rules below say more.
var apart = map[int]bool{3: true, 4: true}

// shared are the parts of the engine that kinds build on; a kind never imports another kind.
var shared = []string{"plan", "revision", "inplace", "order", "budget", "launchorder"}

// impure must not be imported by the engine directly, nor by anything below it in this module.
var impure = []string{"context", "net", "os", "sync", "log", "math/rand", "crypto/rand", "k8s.io/client-go", "k8s.io/cli-runtime",
	"sigs.k8s.io/controller-runtime", "github.com/spf13/cobra", "k8s.io/klog", "k8s.io/component-base"}

// foreign must not be in the plugin at all: they belong to the in-cluster binary.
var foreign = []string{"sigs.k8s.io/controller-runtime/pkg/manager", "sigs.k8s.io/controller-runtime/pkg/webhook",
	"sigs.k8s.io/controller-runtime/pkg/builder", "sigs.k8s.io/controller-runtime/pkg/leaderelection",
	"github.com/open-policy-agent/cert-controller", "k8s.io/cri-client", "k8s.io/cri-api", "k8s.io/kubernetes",
	module + "/pkg/daemon", module + "/pkg/webhook"}

// ofTheTerminal must not be in the in-cluster binary: it has no terminal, and installs nothing.
var ofTheTerminal = []string{"charm.land", "github.com/charmbracelet", "k8s.io/cli-runtime", "k8s.io/kubectl", "sigs.k8s.io/cli-utils",
	module + "/pkg/tui", module + "/pkg/commands", module + "/pkg/install"}

type goPackage struct {
	ImportPath string
	Imports    []string
	Deps       []string
}

func list(t *testing.T, args ...string) []goPackage {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-e", "-json=ImportPath,Imports,Deps"}, args...)...)
	var stderr strings.Builder
	cmd.Dir, cmd.Stderr = "../..", &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	var packages []goPackage
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
}

func TestImportsOnlyRunDown(t *testing.T) {
	t.Parallel()
	seen := map[int]bool{}
	for _, p := range list(t, "./cmd/...", "./pkg/...") {
		room, floor := roomOf(p.ImportPath)
		if floor == 0 {
			t.Errorf("%s stands on no floor; name it in this test and in CONTRIBUTING.md", p.ImportPath)
		}
		seen[floor] = true
		for _, i := range p.Imports {
			if fault := judge(room, floor, p.ImportPath, i); fault != "" {
				t.Error(fault)
			}
		}
	}
	if !seen[1] || !seen[2] || !seen[6] {
		t.Errorf("go list found floors %v only; the test looks at the wrong place", seen)
	}
}

// judge says what is wrong with an import of a package in the given room, if anything.
func judge(room string, floor int, from, to string) string {
	target, below := roomOf(to)
	switch {
	case below > floor:
		return fmt.Sprintf("%s (floor %d) imports %s (floor %d): imports only run down", from, floor, to, below)
	case below == floor && below != 0 && target != room && apart[floor]:
		return fmt.Sprintf("%s imports %s: rooms of floor %d do not know each other", from, to, floor)
	case room == "pkg/tui" && below != 0 && target != "pkg/tui" && target != "pkg/view":
		return fmt.Sprintf("%s imports %s: the TUI reaches view alone", from, to)
	case floor <= 2 && within(to, impure):
		return fmt.Sprintf("%s imports %s: the engine and the types are pure", from, to)
	case room == "pkg/view" && within(to, impure):
		return fmt.Sprintf("%s imports %s: views are pure", from, to)
	case room == "pkg/engine" && target == "pkg/engine" && kindOf(from) != "" && kindOf(to) != "" && kindOf(from) != kindOf(to):
		return fmt.Sprintf("%s imports %s: kinds share parts, never each other", from, to)
	}
	return ""
}

// roomOf finds the room of a package of this module and its floor; 0 for all other packages.
func roomOf(path string) (string, int) {
	rel, ours := strings.CutPrefix(path, module+"/")
	if !ours {
		return "", 0
	}
	room := ""
	for prefix := range floors {
		if (rel == prefix || strings.HasPrefix(rel, prefix+"/")) && len(prefix) > len(room) {
			room = prefix
		}
	}
	return room, floors[room]
}

// kindOf is the name of the kind whose planner a package belongs to; empty for shared parts and for the simulator, which
// plays all kinds.
func kindOf(path string) string {
	rel := strings.TrimPrefix(path, module+"/pkg/engine/")
	first, _, _ := strings.Cut(rel, "/")
	if slices.Contains(shared, first) || first == "sim" {
		return ""
	}
	return first
}

func within(path string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return path == p || strings.HasPrefix(path, p+"/") })
}

func TestEachProgramIsFreeOfTheOthersLibraries(t *testing.T) {
	t.Parallel()
	for program, unwanted := range map[string][]string{"kubectl-kruise": foreign, "kruise-agent": ofTheTerminal} {
		packages := list(t, "./cmd/"+program)
		if len(packages) != 1 || len(packages[0].Deps) < 100 {
			t.Fatalf("%s: go list found %d packages; the test looks at the wrong place", program, len(packages))
		}
		for _, d := range packages[0].Deps {
			if within(d, unwanted) {
				t.Errorf("%s is linked into %s", d, program)
			}
		}
	}
}

func TestTheRuleRefusesWhatItShould(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		from, to string
		refused  bool
	}{
		"up":                         {"pkg/engine/plan", "pkg/view", true},
		"down":                       {"pkg/view", "pkg/engine/plan", false},
		"cluster to view":            {"pkg/cluster", "pkg/view", true},
		"install to reconcile":       {"pkg/install", "pkg/reconcile", true},
		"a room to itself":           {"pkg/cluster/lease", "pkg/cluster", false},
		"tui to view":                {"pkg/tui", "pkg/view", false},
		"tui to cluster":             {"pkg/tui", "pkg/cluster", true},
		"one kind to another":        {"pkg/engine/cloneset", "pkg/engine/statefulset", true},
		"a kind to a shared part":    {"pkg/engine/cloneset", "pkg/engine/inplace", false},
		"the simulator plays a kind": {"pkg/engine/sim", "pkg/engine/cloneset", false},
		"engine to client":           {"pkg/engine/cloneset", "k8s.io/client-go/kubernetes", true},
		"engine to context":          {"pkg/engine/cloneset", "context", true},
		"engine to types":            {"pkg/engine/cloneset", "k8s.io/api/core/v1", false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			to := test.to
			if strings.HasPrefix(to, "pkg/") {
				to = module + "/" + to
			}
			room, floor := roomOf(module + "/" + test.from)
			if fault := judge(room, floor, module+"/"+test.from, to); (fault != "") != test.refused {
				t.Errorf("got fault %q, want refused %v", fault, test.refused)
			}
		})
	}
}
