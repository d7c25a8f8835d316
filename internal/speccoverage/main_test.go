package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

const rows = `# Things
| 9 | a table that is no list of scenarios |
## 7. Scenarios that must hold
| # | Given | Then |
|---|---|---|
| 1 | a | b |
| 2 | c | d |
## 8. Else
| 3 | e | f |
`

const named = `# Pitfalls
### PF-AA-1 The first
- given PF-AA-9 in a sentence
### PF-AB-1 Of others
| PF-AA-2 | in a table |
| see PF-AA-3 | not in the first place |
`

func TestRead(t *testing.T) {
	t.Parallel()
	spec := fstest.MapFS{"rows.md": {Data: []byte(rows)}, "named.md": {Data: []byte(named)}, "empty.md": {}}
	both := []area{{file: "rows.md", rows: "thing"}, {file: "named.md", ids: "PF-AA"}}
	tests := map[string]struct {
		areas  []area
		exempt map[string]string
		want   []scenario
		fault  string
	}{
		"rows and names":      {areas: both, want: []scenario{{id: "thing/1"}, {id: "thing/2"}, {id: "PF-AA-1"}, {id: "PF-AA-2"}}},
		"the first row alone": {areas: []area{{file: "rows.md", rows: "thing", last: 1}}, want: []scenario{{id: "thing/1"}}},
		"exempt": {areas: both[:1], exempt: map[string]string{"thing/2": "later"},
			want: []scenario{{id: "thing/1"}, {id: "thing/2", exempt: "later"}}},
		"an exempt id that is not there": {areas: both, exempt: map[string]string{"thing/4": "later"}, fault: "thing/4 is exempt, but no area has it"},
		"a file that is not there":       {areas: []area{{file: "other.md", rows: "x"}}, fault: "open other.md: file does not exist"},
		"a file without scenarios":       {areas: []area{{file: "empty.md", rows: "x"}}, fault: "empty.md has no scenarios x"},
		"one area twice":                 {areas: append(both, both[0]), fault: "rows.md has thing/1 twice"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := read(spec, test.areas, test.exempt)
			if fault := message(err); fault != test.fault {
				t.Errorf("error %q, want %q", fault, test.fault)
			}
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(scenario{})); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestIDs(t *testing.T) {
	t.Parallel()
	tests := map[string][]string{
		"TestX/thing/3_thing/12":    {"thing/3", "thing/12"},
		"TestX/thing/12a_with_text": {"thing/12"},
		"TestX/PF-AA-3_and_others":  {"PF-AA-3"},
		"TestX/S-AA-3":              {"S-AA-3"},
		"TestSAA4And5":              {"S-AA-4"},
		"TestX/thing/3_and_4":       {"thing/3"},
		"TestX/something-thing/3":   nil,
		"TestThing3":                nil,
		"TestX/XPF-AA-3":            {"XPF-AA-3"},
	}
	for name, want := range tests {
		if diff := cmp.Diff(want, idsOf(name)); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}

func TestReport(t *testing.T) {
	t.Parallel()
	event := func(action, test string) string {
		return `{"Action":"` + action + `","Package":"p","Test":"` + test + `"}`
	}
	tests := map[string]struct {
		events []string
		want   string
	}{
		"it ran and passed":                       {[]string{event("run", "TestX/thing/1"), event("pass", "TestX/thing/1")}, ""},
		"it ran and has no end":                   {[]string{event("run", "TestX/thing/1")}, "thing/1      no test names it\n"},
		"it was skipped":                          {[]string{event("skip", "TestX/thing/1")}, "thing/1      skipped: TestX/thing/1\n"},
		"it was skipped here and passed there":    {[]string{event("skip", "TestX/thing/1"), event("pass", "TestX/thing/1")}, ""},
		"it failed":                               {[]string{event("fail", "TestX/thing/1")}, "thing/1      failed: TestX/thing/1\n"},
		"it passed here and failed there":         {[]string{event("pass", "TestX/thing/1"), event("fail", "TestX/thing/1")}, "thing/1      failed: TestX/thing/1\n"},
		"another of the same id failed":           {[]string{event("pass", "TestX/thing/1a"), event("fail", "TestX/thing/1b")}, "thing/1      failed: TestX/thing/1b\n"},
		"all that is below it was skipped":        {[]string{event("skip", "TestX/thing/1/a"), event("pass", "TestX/thing/1")}, "thing/1      skipped: TestX/thing/1/a\n"},
		"what is below it passed, but not itself": {[]string{event("pass", "TestX/thing/1/a"), event("fail", "TestX/thing/1")}, "thing/1      failed: TestX/thing/1/a\n"},
		"a test of another name":                  {[]string{event("pass", "TestX/thing/12")}, "thing/1      no test names it\n"},
		"an output that speaks of it":             {[]string{`{"Action":"output","Package":"p","Test":"TestX","Output":"thing/1"}`, event("pass", "TestX")}, "thing/1      no test names it\n"},
		"lines that are no events":                {[]string{"go: downloading", event("pass", "TestX/thing/1")}, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newResults()
			if err := r.read(strings.NewReader(strings.Join(test.events, "\n"))); err != nil {
				t.Fatal(err)
			}
			var out, closing strings.Builder
			code := report([]scenario{{id: "thing/1"}, {id: "thing/2", exempt: "later"}}, r, &out, &closing)
			if diff := cmp.Diff(test.want, out.String()); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			if want := min(len(test.want), 1); code != want {
				t.Errorf("exit code %d, want %d", code, want)
			}
			if !strings.HasPrefix(closing.String(), "2 scenarios, 1 exempt, ") {
				t.Errorf("it closes with %q", closing.String())
			}
		})
	}
}

// The whole command, over recorded results alone.
func TestRun(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	broken := write("broken.json", "nothing\n")
	tests := map[string]struct {
		args  []string
		code  int
		fault string
	}{
		"no specification":                    {nil, 2, "which specification? Give its folder: make spec-coverage SPEC=FOLDER"},
		"a folder without the specification":  {[]string{"-spec", folder, "-packages", ""}, 1, folder + ": open cloneset.md: no such file or directory"},
		"a flag that does not exist":          {[]string{"-sepc", folder}, 2, ""},
		"a file that holds no results at all": {[]string{"-spec", specFolder(t), "-packages", "", broken}, 1, broken + " holds no results, want the output of go test -json"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			code, err := run(test.args, &out, &out)
			if fault := message(err); code != test.code || fault != test.fault {
				t.Errorf("exit code %d, error %q; want %d and %q", code, fault, test.code, test.fault)
			}
		})
	}
	t.Run("all is shown by recorded results", func(t *testing.T) {
		t.Parallel()
		var events strings.Builder
		spec := specFolder(t)
		list, err := read(os.DirFS(spec), areas, exempt)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range list {
			if s.exempt == "" {
				events.WriteString(`{"Action":"pass","Package":"p","Test":"TestX/` + s.id + "\"}\n")
			}
		}
		path := filepath.Join(t.TempDir(), "all.json")
		if err := os.WriteFile(path, []byte(events.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		var stdout, stderr strings.Builder
		if code, err := run([]string{"-spec", spec, "-packages", "", path}, &stdout, &stderr); code != 0 || err != nil || stdout.Len() > 0 {
			t.Errorf("exit code %d, error %v, missing:\n%s", code, err, stdout.String())
		}
	})
}

// specFolder is a specification that has every exempt id and one more of each area.
func specFolder(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	for _, a := range areas {
		text := "## Scenarios that must hold\n"
		for id := range exempt {
			if n, ok := strings.CutPrefix(id, a.rows+"/"); ok {
				text += "| " + n + " | x |\n"
			}
			if a.ids != "" && strings.HasPrefix(id, a.ids+"-") {
				text += "| " + id + " | x |\n"
			}
		}
		text += "| 1 | x |\n"
		f, err := os.OpenFile(filepath.Join(folder, a.file), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if a.ids != "" {
			text += "### " + a.ids + "-1 x\n"
		}
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}
