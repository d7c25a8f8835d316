package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// masks hide what differs from run to run.
var masks = []struct{ pattern, with string }{
	{`(?m)^ *\d+s  waiting: .*\n(      .*\n)*`, ""}, // said only when something takes long
	{`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`, "UID"},
	{`\bcs-demo-[bcdfghjklmnpqrstvwxz2456789]{5}\b`, "cs-demo-POD"},
	{`\b(\d+m)?\d+(\.\d+)?(ms|s)\b`, "TIME"},
	{`\b\S+@\S+\b`, "USER"},
	{`[ \t]+`, " "},
}

func masked(text string) string {
	for _, m := range masks {
		text = regexp.MustCompile(m.pattern).ReplaceAllString(text, m.with)
	}
	return strings.TrimSpace(text)
}

// The demo prints what the README says it prints. It runs on a sandbox of its own, alone: other tests that run beside it
// begin later.
func TestDemoPrintsWhatTheReadmeShows(t *testing.T) {
	state := os.Getenv("KRUISE_E2E_DEMO_STATE")
	if state == "" {
		t.Fatal("KRUISE_E2E_DEMO_STATE names no folder for the demo's sandbox")
	}
	readme, err := os.ReadFile(filepath.Join(lab.root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	transcript := regexp.MustCompile("(?s)<!-- demo -->\n```console\n(.*?)\n```\n").FindSubmatch(readme)
	if transcript == nil {
		t.Fatal("README.md has no transcript after <!-- demo -->")
	}
	t.Cleanup(func() {
		if out, err := exec.Command(filepath.Join(lab.root, "bin", "kruise-sandbox"), "down", "-q", "--state", state).CombinedOutput(); err != nil {
			t.Errorf("down: %v\n%s", err, out)
		}
	})
	demo := exec.CommandContext(t.Context(), filepath.Join(lab.root, "hack", "demo.sh"))
	demo.Env = append(os.Environ(), "STATE="+state)
	var stderr strings.Builder
	demo.Stderr = &stderr
	out, err := demo.Output()
	if err != nil {
		t.Fatalf("hack/demo.sh: %v\n%s%s", err, out, stderr.String())
	}
	if diff := cmp.Diff(masked(string(transcript[1])), masked(string(out))); diff != "" {
		t.Errorf("the demo: -README +now\n%s\nin full:\n%s", diff, out)
	}
}
