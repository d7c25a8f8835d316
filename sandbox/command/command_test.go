package command

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func run(t *testing.T, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, errOut bytes.Buffer
	root := New(Streams{Out: &out, Err: &errOut})
	root.SetArgs(args)
	err = root.ExecuteContext(t.Context())
	return out.String(), errOut.String(), err
}

func TestWithoutASandbox(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"status"}, "no sandbox is up in "},
		{[]string{"kubeconfig"}, "`kruise-sandbox up` starts one"},
		{[]string{"kubeconfig", "--raw"}, "`kruise-sandbox up` starts one"},
		{[]string{"logs", "etcd"}, `no log of "etcd"`},
		{[]string{"load", "none.tar"}, "no such file"},
		{[]string{"up", "--nodes", "10"}, "--nodes 10: allowed are 0 to 9"},
		{[]string{"up", "--fake-nodes", "-1"}, "--fake-nodes -1: allowed are 0 to 5000"},
		{[]string{"up", "now"}, "unknown command"},
		{[]string{"registry"}, "started by `up`"},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			t.Parallel()
			args := c.args
			if args[0] != "registry" {
				args = append(args, "--state", t.TempDir())
			}
			out, _, err := run(t, args...)
			if err == nil || !strings.Contains(err.Error(), c.want) || out != "" {
				t.Errorf("%v: %v and %q on stdout, want an error with %q", args, err, out, c.want)
			}
		})
	}
}

func TestDownOfNothingMakesNothing(t *testing.T) {
	t.Parallel()
	state := filepath.Join(t.TempDir(), "none")
	_, progress, err := run(t, "down", "--state", state)
	if err != nil || !strings.Contains(progress, "nothing is up in "+state) {
		t.Errorf("down: %v, %q", err, progress)
	}
	if _, err := os.Stat(state); err == nil {
		t.Error("down made the state folder")
	}
	if _, progress, err := run(t, "down", "-q", "--state", state); err != nil || progress != "" {
		t.Errorf("quiet down: %v, %q", err, progress)
	}
}

func TestLogsFollow(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "log")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString("one\n"); err != nil {
		t.Fatal(err)
	}
	in, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	lines := make(chan string, 8)
	done := make(chan error, 1)
	go func() { done <- copyLog(ctx, writerFunc(func(p []byte) { lines <- string(p) }), in, true) }()
	if got := <-lines; got != "one\n" {
		t.Errorf("the log begins with %q", got)
	}
	if _, err := f.WriteString("two\n"); err != nil {
		t.Fatal(err)
	}
	if got := <-lines; got != "two\n" {
		t.Errorf("the log goes on with %q", got)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

type writerFunc func([]byte)

func (f writerFunc) Write(p []byte) (int, error) { f(p); return len(p), nil }
