package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
)

// results are the outcomes of tests, of one run or several.
type results struct {
	// tests are the outcomes by package and test: pass, fail or skip. What failed in one run has failed; what one run skips
	// and another passes has passed.
	tests map[test]string
	// broken says what kept a package from being tested.
	broken []string
}

type test struct{ pkg, name string }

func newResults() *results { return &results{tests: map[test]string{}} }

func (r *results) readFile(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	before := len(r.tests)
	if err := r.read(f); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if len(r.tests) == before {
		return fmt.Errorf("%s holds no results, want the output of go test -json", name)
	}
	return nil
}

// read takes the events of `go test -json`; see `go doc test2json`. Lines that are no events are left out.
func (r *results) read(in io.Reader) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e struct{ Action, Package, ImportPath, Test string }
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			continue
		}
		switch {
		case e.Action == "build-fail":
			r.broken = append(r.broken, e.ImportPath+" does not build")
		case e.Test == "":
		case e.Action == "pass", e.Action == "fail", e.Action == "skip":
			r.add(test{e.Package, e.Test}, e.Action)
		}
	}
	return lines.Err()
}

func (r *results) add(t test, outcome string) {
	rank := []string{"", "skip", "pass", "fail"}
	if slices.Index(rank, outcome) > slices.Index(rank, r.tests[t]) {
		r.tests[t] = outcome
	}
}

// verdicts are the tests that name an id, by id and outcome.
type verdicts map[string]map[string][]string

// An id in a test's name stands by itself; in the name of a function it is written without its dashes.
var (
	numbered = regexp.MustCompile(`(?:^|[^A-Za-z0-9-])([a-z]+/\d+)`)
	dashed   = regexp.MustCompile(`(?:^|[^A-Za-z0-9-])([A-Z]+(?:-[A-Z]+)+-\d+)`)
	function = regexp.MustCompile(`^Test(PF|S)([A-Z]{2})(\d+)`)
)

func idsOf(name string) []string {
	var ids []string
	for _, form := range []*regexp.Regexp{numbered, dashed} {
		for _, m := range form.FindAllStringSubmatch(name, -1) {
			ids = append(ids, m[1])
		}
	}
	if m := function.FindStringSubmatch(name); m != nil {
		ids = append(ids, m[1]+"-"+m[2]+"-"+m[3])
	}
	return ids
}

// verdicts looks at the tests that have no tests below them: one above them passes even when all below were skipped. One
// that failed itself spoils those below.
func (r *results) verdicts() verdicts {
	v := verdicts{}
	above := map[test]bool{}
	for t := range r.tests {
		for _, parent := range parents(t) {
			above[parent] = true
		}
	}
	for t, outcome := range r.tests {
		if above[t] {
			continue
		}
		if slices.ContainsFunc(parents(t), func(p test) bool { return r.tests[p] == "fail" }) && outcome == "pass" {
			outcome = "fail"
		}
		for _, id := range idsOf(t.name) {
			if v[id] == nil {
				v[id] = map[string][]string{}
			}
			v[id][outcome] = append(v[id][outcome], t.name)
		}
	}
	return v
}

// parents are the names that a test's could be below of.
func parents(t test) []test {
	var list []test
	for i, c := range t.name {
		if c == '/' {
			list = append(list, test{t.pkg, t.name[:i]})
		}
	}
	return list
}

// missing says why an id counts as not shown, or nothing.
func (v verdicts) missing(id string) string {
	of := v[id]
	switch {
	case len(of["fail"]) > 0:
		return "failed: " + strings.Join(slices.Sorted(slices.Values(of["fail"])), ", ")
	case len(of["pass"]) > 0:
		return ""
	case len(of["skip"]) > 0:
		return "skipped: " + strings.Join(slices.Sorted(slices.Values(of["skip"])), ", ")
	}
	return "no test names it"
}
