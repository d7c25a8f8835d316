package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestErrorsHaveExitCodes(t *testing.T) {
	t.Parallel()
	ended, end := context.WithCancelCause(context.Background())
	end(Stopped(Terminated))
	plainEnd, cancel := context.WithCancel(context.Background())
	cancel()
	tests := map[string]struct {
		ctx    context.Context
		err    error
		code   Code
		silent bool
	}{
		"nothing":                          {t.Context(), nil, OK, true},
		"any error":                        {t.Context(), errors.New("x"), Failure, false},
		"a usage error":                    {t.Context(), Usagef("x"), Usage, false},
		"a usage error with words around":  {t.Context(), fmt.Errorf("x: %w", Usagef("y")), Usage, false},
		"an outcome that was told":         {t.Context(), Stopped(TimedOut), TimedOut, true},
		"an error that a signal caused":    {ended, errors.New("request cancelled"), Terminated, true},
		"a usage error in spite of it":     {ended, Usagef("x"), Usage, false},
		"a context that just ended":        {plainEnd, errors.New("x"), Failure, false},
		"success in spite of a signal":     {ended, nil, OK, true},
		"an outcome told before a signal":  {ended, Stopped(Paused), Paused, true},
		"another driver with its own text": {t.Context(), &Error{Code: Superseded, Err: errors.New("x")}, Superseded, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if code := CodeOf(test.ctx, test.err); code != test.code {
				t.Errorf("code %d, want %d", code, test.code)
			}
			if test.err != nil && Silent(test.ctx, test.err) != test.silent {
				t.Errorf("silent %v, want %v", !test.silent, test.silent)
			}
		})
	}
}

func TestEveryExitCodeHasAMeaning(t *testing.T) {
	t.Parallel()
	for _, c := range Codes() {
		if c.Meaning() == "" {
			t.Errorf("code %d has no meaning", c)
		}
	}
}

func TestErrorsOfTheServerAreToldInItsOwnWords(t *testing.T) {
	t.Parallel()
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "web-1", errors.New(`User "dev" cannot patch`))
	for want, err := range map[string]error{
		`no permission: User "dev" cannot patch`: forbidden,
		"one; two; three":                        Join([]error{errors.New("one"), errors.New("two"), errors.New("three")}),
	} {
		if got := Explain(err); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if Join(nil) != nil {
		t.Error("no errors joined are one")
	}
}

func deps(env map[string]string) *Deps {
	return &Deps{
		LookupEnv: func(k string) (string, bool) { v, ok := env[k]; return v, ok },
		Hostname:  func() (string, error) { return "lap top", nil },
		Random:    func() uint64 { return 35 },
	}
}

func TestColourNeedsATerminalThatHasIt(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		env      map[string]string
		terminal bool
		want     bool
	}{
		"a terminal":        {map[string]string{"TERM": "xterm"}, true, true},
		"no terminal":       {map[string]string{"TERM": "xterm"}, false, false},
		"NO_COLOR":          {map[string]string{"TERM": "xterm", "NO_COLOR": "1"}, true, false},
		"NO_COLOR is empty": {map[string]string{"TERM": "xterm", "NO_COLOR": ""}, true, true},
		"a dumb terminal":   {map[string]string{"TERM": "dumb"}, true, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := deps(test.env).Colour(test.terminal); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func TestTheHolderOfALeaseNamesUserAndMachine(t *testing.T) {
	t.Parallel()
	tests := map[string]map[string]string{
		"kubectl-kruise/ops@lap-top/z":      {"USER": "ops"},
		"kubectl-kruise/a-b-c@lap-top/z":    {"USER": "a/b@c"},
		"kubectl-kruise/win@lap-top/z":      {"USERNAME": "win"},
		"kubectl-kruise/somebody@lap-top/z": nil,
	}
	for want, env := range tests {
		if got := deps(env).holder(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	nameless := deps(nil)
	nameless.Hostname = func() (string, error) { return "", os.ErrNotExist }
	if got := nameless.holder(); !strings.Contains(got, "@unknown/") {
		t.Errorf("got %q", got)
	}
}

func TestChoicesInWords(t *testing.T) {
	t.Parallel()
	for want, list := range map[string][]Output{"": nil, "json": {JSON}, "json or yaml": {JSON, YAML}, "json, yaml or name": {JSON, YAML, Name}} {
		if got := OneOf(list); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
