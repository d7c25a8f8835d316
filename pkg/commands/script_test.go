package commands_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"k8s.io/apimachinery/pkg/util/wait"
)

// kubeconfig names a cluster with an API server, controllers and fake nodes that the scripts may use. Each script works
// in a namespace of its own.
const kubeconfigVariable = "KRUISE_TEST_KUBECONFIG"

// TestScripts sets PATH for the whole process, so it cannot be parallel itself; the scripts are.
func TestScripts(t *testing.T) {
	admin := os.Getenv(kubeconfigVariable)
	if admin == "" {
		t.Skipf("%s names no cluster; run: make test-integration", kubeconfigVariable)
	}
	bin := t.TempDir()
	build := exec.Command("go", "build", "-o", bin+"/", "../../cmd/kubectl-kruise")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the plugin: %v\n%s", err, out)
	}
	// The sandbox keeps kubectl beside its kubeconfig folder.
	path := strings.Join([]string{bin, filepath.Join(filepath.Dir(admin), "..", "bin"), os.Getenv("PATH")}, string(os.PathListSeparator))
	t.Setenv("PATH", path)
	install := exec.Command(filepath.Join(bin, "kubectl-kruise"), "install", "--crds-only", "--kubeconfig", admin)
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("install the kinds: %v\n%s", err, out)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup:               func(env *testscript.Env) error { return setUp(env, admin, path) },
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"code":       code,
			"eventually": eventually,
			"plain":      plain,
			"objects":    objects,
			"interrupt":  interrupt,
			"hold":       hold,
			"role":       role,
		},
	})
}

// setUp gives the script a namespace and a kubeconfig whose context names it.
func setUp(env *testscript.Env, admin, path string) error {
	script := filepath.Base(env.WorkDir)
	script = strings.TrimPrefix(script, "script-")
	namespace := fmt.Sprintf("t-%s-%s", strings.ReplaceAll(script, "_", "-"), strconv.FormatInt(time.Now().UnixNano()%1e9, 36))
	file := filepath.Join(env.WorkDir, "kubeconfig")
	config, err := os.ReadFile(admin)
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, config, 0o600); err != nil {
		return err
	}
	for _, pair := range [][2]string{{"KUBECONFIG", file}, {"NAMESPACE", namespace}, {"PATH", path}, {"HOME", env.WorkDir}, {"ROOT", repository()}} {
		env.Setenv(pair[0], pair[1])
	}
	kubectl := func(args ...string) error {
		cmd := exec.Command("kubectl", append(args, "--kubeconfig", file)...)
		cmd.Env = append(os.Environ(), "PATH="+path)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("kubectl %s: %w\n%s", strings.Join(args, " "), err, out)
		}
		return nil
	}
	if err := kubectl("create", "namespace", namespace); err != nil {
		return err
	}
	env.Defer(func() { _ = kubectl("delete", "namespace", namespace, "--wait=false") })
	return kubectl("config", "set-context", "--current", "--namespace", namespace)
}

func repository() string {
	dir, _ := filepath.Abs("../..")
	return dir
}

// code runs a command that has to end with the given exit code: code 2 kubectl-kruise rollout x/y.
func code(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code NUMBER COMMAND…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	var exit *exec.ExitError
	switch err := ts.Exec(args[1], args[2:]...); {
	case errors.As(err, &exit):
		got = exit.ExitCode()
	case err != nil:
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// eventually repeats a command until its standard output matches: eventually PATTERN COMMAND…. With ! it has to succeed
// without a match.
func eventually(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: eventually PATTERN COMMAND…")
	}
	pattern, err := regexp.Compile(args[0])
	ts.Check(err)
	var out []byte
	var last error
	err = wait.PollUntilContextTimeout(context.Background(), 100*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		cmd := exec.Command(args[1], args[2:]...)
		cmd.Env = environment(ts)
		out, last = cmd.Output()
		return last == nil && pattern.Match(out) != neg, nil
	})
	if err != nil {
		ts.Fatalf("within a minute the output of %s did not come to be as wanted; last:\n%s%v", strings.Join(args[1:], " "), out, last)
	}
}

func environment(ts *testscript.TestScript) []string {
	var env []string
	for _, name := range []string{"KUBECONFIG", "NAMESPACE", "PATH", "HOME"} {
		env = append(env, name+"="+ts.Getenv(name))
	}
	return env
}

// plain checks that neither stream of the last command, nor any file that is named, has a control code.
func plain(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("plain cannot be negated")
	}
	texts := map[string]string{"stdout": ts.ReadFile("stdout"), "stderr": ts.ReadFile("stderr")}
	for _, file := range args {
		texts[file] = ts.ReadFile(file)
	}
	for name, text := range texts {
		if i := strings.IndexFunc(text, func(r rune) bool { return r < ' ' && r != '\n' || r == 0x7f }); i >= 0 {
			ts.Fatalf("%s has a control code at byte %d: %q", name, i, text[max(0, i-20):min(len(text), i+20)])
		}
	}
}

// objects writes the identity and resourceVersion of every object of the namespace to a file: objects FILE.
func objects(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: objects FILE")
	}
	kinds := "clonesets,pods,controllerrevisions,leases,events,configmaps,secrets,persistentvolumeclaims"
	cmd := exec.Command("kubectl", "get", kinds, "--ignore-not-found", "-o",
		`jsonpath={range .items[*]}{.kind}/{.metadata.name} {.metadata.uid} {.metadata.resourceVersion}{"\n"}{end}`)
	cmd.Env = environment(ts)
	out, err := cmd.Output()
	ts.Check(err)
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	slices.Sort(lines)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.Join(lines, "\n")+"\n"), 0o644))
}

// interrupt starts a command, sends it SIGINT once its standard error matches, and checks its exit code: interrupt CODE
// PATTERN COMMAND…. Its streams are left in the files interrupted.out and interrupted.err.
func interrupt(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: interrupt CODE PATTERN COMMAND…")
	}
	pattern, err := regexp.Compile(args[1])
	ts.Check(err)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, args[2], args[3:]...)
	cmd.Env, cmd.Dir = environment(ts), ts.MkAbs(".")
	var out bytes.Buffer
	errOut := &watched{pattern: pattern, seen: func() { _ = cmd.Process.Signal(syscall.SIGINT) }}
	cmd.Stdout, cmd.Stderr = &out, errOut
	_ = cmd.Run()
	ts.Check(os.WriteFile(ts.MkAbs("interrupted.out"), out.Bytes(), 0o644))
	ts.Check(os.WriteFile(ts.MkAbs("interrupted.err"), errOut.text.Bytes(), 0o644))
	if got := strconv.Itoa(cmd.ProcessState.ExitCode()); got != args[0] {
		ts.Fatalf("exit code %s, want %s\nstdout:\n%s\nstderr:\n%s", got, args[0], out.String(), errOut.text.String())
	}
}

// watched is a stream that calls seen once when its text matches.
type watched struct {
	pattern *regexp.Regexp
	seen    func()
	text    bytes.Buffer
	done    bool
}

func (w *watched) Write(b []byte) (int, error) {
	n, err := w.text.Write(b)
	if !w.done && w.pattern.Match(w.text.Bytes()) {
		w.done = true
		w.seen()
	}
	return n, err
}

// hold makes a live Lease: hold NAME HOLDER.
func hold(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: hold NAME HOLDER")
	}
	now := time.Now().UTC().Format("2006-01-02T15:04:05.000000Z")
	manifest := fmt.Sprintf(`{"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": %q},
		"spec": {"holderIdentity": %q, "leaseDurationSeconds": 300, "acquireTime": %q, "renewTime": %q}}`, args[0], args[1], now, now)
	cmd := exec.Command("kubectl", "apply", "--server-side", "--force-conflicts", "-f", "-")
	cmd.Env, cmd.Stdin = environment(ts), strings.NewReader(manifest)
	if out, err := cmd.CombinedOutput(); err != nil {
		ts.Fatalf("%v\n%s", err, out)
	}
}

// role copies the first manifest of a document: role DOCUMENT FILE.
func role(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: role DOCUMENT FILE")
	}
	_, rest, found := strings.Cut(ts.ReadFile(args[0]), "```yaml\n")
	manifest, _, ended := strings.Cut(rest, "```")
	if !found || !ended {
		ts.Fatalf("%s has no manifest", args[0])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(manifest), 0o644))
}
