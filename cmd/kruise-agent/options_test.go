package main

import (
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/features"
)

// Wrong flags are refused in one sentence, as a mistake of usage.
func TestWrongFlags(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, args, want string
	}{
		{"nothing", "", "what to run is missing, want manager or daemon"},
		{"a word too many", "manager now", `kruise-agent manager: unknown argument "now"`},
		{"an unknown flag", "daemon --fast", "unknown flag: --fast"},
		{"an unknown gate", "manager --feature-gates=Fish=true", `unknown feature gate "Fish"`},
		{"an unknown gate of the daemon", "daemon --feature-gates=Fish=true", `unknown feature gate "Fish"`},
		{"an unknown policy", "manager --pod-failure-policy=Maybe", `--pod-failure-policy "Maybe": want Ignore or Fail`},
		{"no port", "manager --webhook-port=0", "--webhook-port 0: want a port from 1 to 65535"},
		{"no time", "manager --cert-sync=0s", "--cert-sync 0s: want at least 1ms"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			cmd := command(slog.New(slog.DiscardHandler))
			cmd.SetArgs(strings.Fields(tc.args))
			cmd.SetOut(io.Discard)
			err := cmd.ExecuteContext(t.Context())
			var usage *usageError
			if !errors.As(err, &usage) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want a mistake of usage that says %q", err, tc.want)
			}
		})
	}
}

// What nobody does yet is not counted on.
func TestPlanGates(t *testing.T) {
	t.Parallel()
	all, err := features.Parse("AllAlpha=true,AllBeta=true")
	if err != nil {
		t.Fatal(err)
	}
	for _, gate := range []features.Gate{features.KruiseDaemon, features.InPlaceUpdateEnvFromMetadata} {
		if planGates(all).Enabled(gate) {
			t.Errorf("the loop plans with %s", gate)
		}
	}
	for _, gate := range []features.Gate{features.CloneSetShortHash, features.InPlaceWorkloadVerticalScaling} {
		if !planGates(all).Enabled(gate) {
			t.Errorf("%s is lost", gate)
		}
	}
}

func TestHealth(t *testing.T) {
	t.Parallel()
	h := newHealth("b", "a")
	ask := func() (int, string) {
		recorder := httptest.NewRecorder()
		h.handler().ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/readyz", nil))
		return recorder.Code, strings.TrimSpace(recorder.Body.String())
	}
	for _, step := range []struct {
		change func()
		code   int
		says   string
	}{
		{func() {}, 503, "a: not there yet; b: not there yet"},
		{func() { h.set("a", nil); h.set("b", errors.New("it burns")) }, 503, "b: it burns"},
		{func() { h.set("b", nil) }, 200, "ok"},
		{func() { h.leave() }, 503, "about to end"},
	} {
		step.change()
		if code, says := ask(); code != step.code || says != step.says {
			t.Errorf("%d %q, want %d %q", code, says, step.code, step.says)
		}
	}
}
