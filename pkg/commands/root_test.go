package commands

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/commands/cli"
)

// result is what a command line leaves behind.
type result struct {
	Code        cli.Code
	Out, ErrOut string
}

func run(t *testing.T, env map[string]string, args ...string) result {
	t.Helper()
	var out, errOut bytes.Buffer
	code := Main(t.Context(), depsFor(&out, &errOut, env), args)
	return result{Code: code, Out: out.String(), ErrOut: errOut.String()}
}

func depsFor(out, errOut io.Writer, env map[string]string) cli.Deps {
	return cli.Deps{
		IOStreams: genericiooptions.IOStreams{In: strings.NewReader(""), Out: out, ErrOut: errOut},
		Now:       func() time.Time { return time.Unix(1700000000, 0) },
		Random:    func() uint64 { return 4 },
		LookupEnv: func(key string) (string, bool) { v, ok := env[key]; return v, ok },
		Hostname:  func() (string, error) { return "laptop", nil },
	}
}

func TestCommandLinesThatCannotBeUnderstoodEndWithUsageAndOneSentence(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		args string
		want string
	}{
		"unknown verb":             {"fly", `error: unknown command "fly" for "kubectl kruise"; it has: `},
		"unknown flag":             {"version --fly", "error: kubectl kruise version has no flag --fly; see: kubectl kruise version --help\n"},
		"unknown short flag":       {"version -q", "error: kubectl kruise version has no flag -q; see: kubectl kruise version --help\n"},
		"flag without its value":   {"version -o", "error: --output needs a value\n"},
		"bad boolean":              {"version --client=maybe", "error: --client \"maybe\": want true or false\n"},
		"bad output format":        {"version -o table", "error: --output \"table\": want json or yaml\n"},
		"argument that is unasked": {"version all", "error: kubectl kruise version takes no argument, got \"all\"\n"},
		"help for nothing":         {"help fly", `error: no help for "fly"; there is: `},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := run(t, nil, strings.Fields(test.args)...)
			if got.Code != cli.Usage || got.Out != "" || !strings.HasPrefix(got.ErrOut, test.want) || strings.Count(got.ErrOut, "\n") != 1 {
				t.Errorf("got %+v\nwant code %d, nothing on stdout and one line beginning with %q", got, cli.Usage, test.want)
			}
		})
	}
}

func TestHelpNamesTheCommandAsItIsTyped(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{}, {"--help"}, {"help"}, {"version", "--help"}, {"help", "version"}, {"options"}} {
		got := run(t, nil, args...)
		if got.Code != cli.OK || got.ErrOut != "" {
			t.Errorf("%v: got %+v, want code 0 and nothing on the error stream", args, got)
		}
		if strings.Contains(got.Out, "kubectl-kruise ") || !strings.Contains(got.Out, "kubectl kruise") && args != nil && len(args) > 0 && args[0] != "options" {
			t.Errorf("%v: help does not speak of \"kubectl kruise\":\n%s", args, got.Out)
		}
	}
}

func TestVersionOfTheClientNeedsNoCluster(t *testing.T) {
	t.Parallel()
	got := run(t, nil, "version", "--client", "-o", "yaml")
	if got.Code != cli.OK || !strings.Contains(got.Out, "apiVersion: view.kubectl-kruise.github.io/v1\n") {
		t.Errorf("got %+v", got)
	}
}

func TestAnUnreachableServerIsAnErrorAfterWhatIsKnown(t *testing.T) {
	t.Parallel()
	got := run(t, nil, "version", "--server", "http://127.0.0.1:1")
	if got.Code != cli.Failure || !strings.HasPrefix(got.Out, "client  ") || !strings.HasPrefix(got.ErrOut, "error: server version: ") {
		t.Errorf("got %+v", got)
	}
}

// closedPipe is a stream whose reader has gone.
type closedPipe struct{}

func (closedPipe) Write([]byte) (int, error) { return 0, syscall.EPIPE }

func TestAClosedPipeEndsTheCommandQuietly(t *testing.T) {
	t.Parallel()
	var errOut bytes.Buffer
	code := Main(t.Context(), depsFor(closedPipe{}, &errOut, nil), []string{"version", "--client"})
	if diff := cmp.Diff(result{Code: cli.PipeClosed}, result{Code: code, ErrOut: errOut.String()}); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestASignalExplainsTheErrorThatItCaused(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cli.Stopped(cli.Terminated))
	var out, errOut bytes.Buffer
	code := Main(ctx, depsFor(&out, &errOut, nil), []string{"version", "--server", "http://127.0.0.1:1"})
	if code != cli.Terminated || errOut.String() != "" {
		t.Errorf("got code %d and %q, want %d and silence", code, errOut.String(), cli.Terminated)
	}
}

// emptyCluster is an API server that serves no kind at all.
func emptyCluster(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	return server.URL
}

func TestAMissingKindNamesTheNextCommand(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"rollout cloneset/web", "rollout status cloneset/web", "reconcile"} {
		got := run(t, nil, append(strings.Fields(line), "--server", emptyCluster(t))...)
		want := result{Code: cli.Failure, ErrOut: "error: the cluster does not know CloneSet.apps.kruise.io; next: kubectl kruise install --crds-only\n"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -want +got:\n%s", line, diff)
		}
	}
}

func TestGlobalFlagsReachWhatTheyAreFor(t *testing.T) {
	t.Parallel()
	var out, errOut bytes.Buffer
	deps := depsFor(&out, &errOut, nil)
	level := 0
	deps.SetLogLevel = func(l int) { level = l }
	if code := Main(t.Context(), deps, []string{"version", "--client", "-v", "6"}); code != cli.OK || level != 6 {
		t.Errorf("-v 6: code %d, level %d", code, level)
	}

	for line, want := range map[string]float32{"": -1, "--qps=20": 20} {
		root := &cobra.Command{Use: "root"}
		config := globalFlags(root, &deps)
		if err := root.PersistentFlags().Parse(strings.Fields(line + " --server=http://127.0.0.1:1")); err != nil {
			t.Fatal(err)
		}
		rest, err := config.ToRESTConfig()
		if err != nil || rest.QPS != want {
			t.Errorf("%q: %+v, %v; want QPS %v", line, rest, err, want)
		}
	}
}
