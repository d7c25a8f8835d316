package view

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestCleanLeavesNothingThatATerminalActsOn(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ in, want string }{
		"plain text stays":          {"nginx: not found", "nginx: not found"},
		"other scripts stay":        {"образ не найден", "образ не найден"},
		"lines become one":          {"first\nsecond\r\n\tthird\n", "first second   third"},
		"escape sequences show":     {"\x1b[31mred\x1b[0m", `\u001b[31mred\u001b[0m`},
		"C1 controls show":          {"a\u009bb", `a\u009bb`},
		"bell and backspace show":   {"a\a\b", `a\u0007\u0008`},
		"turned text shows":         {"a\u202eb", `a\u202eb`},
		"an invisible space shows":  {"a\u200bb", `a\u200bb`},
		"bytes that are no text go": {"a\x9b2Jb", "a\ufffd2Jb"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, Clean(test.in)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestSpansReadAsPeopleSayThem(t *testing.T) {
	t.Parallel()
	tests := map[time.Duration]string{
		0: "0.0s", 400 * time.Millisecond: "0.4s", 1449 * time.Millisecond: "1.4s", 31 * time.Second: "31s",
		192 * time.Second: "3m12s", 125 * time.Minute: "2h5m", 9 * 24 * time.Hour: "9d", -time.Second: "0.0s",
	}
	for d, want := range tests {
		if got := Span(d); got != want {
			t.Errorf("Span(%s) = %q, want %q", d, got, want)
		}
	}
}

func TestHolderNamesThePerson(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"kubectl-kruise/ops@laptop/x7f2": "ops@laptop",
		"kubectl-kruise/ops@laptop":      "ops@laptop",
		"kruise-manager-6f9_abc":         "kruise-manager-6f9_abc",
		"evil\x1b[2J":                    `evil\u001b[2J`,
	}
	for identity, want := range tests {
		if got := Holder(identity); got != want {
			t.Errorf("Holder(%q) = %q, want %q", identity, got, want)
		}
	}
}
