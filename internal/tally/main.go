// Command tally reads the events of `go test -json` and prints what a person wants of them: the closing line of each
// package, everything that a failed test said, why a test was skipped, what the simulator reports of its histories, and
// how many tests ran. It fails when a test failed or none ran.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
)

func main() {
	t := newTally(os.Stdout)
	if err := t.read(os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, "tally:", err)
		os.Exit(1)
	}
	if !t.summary() {
		os.Exit(1)
	}
}

// event is a line of `go test -json`; see `go doc test2json`.
type event struct {
	Action, Package, ImportPath, Test, Output, FailedBuild string
}

type tally struct {
	out                               io.Writer
	said                              map[string][]string // output so far by package and test
	passed, failed, skipped, packages int
	reasons                           map[string]int // why tests were skipped
	broken                            bool           // something failed that is not a test
}

func newTally(out io.Writer) *tally {
	return &tally{out: out, said: map[string][]string{}, reasons: map[string]int{}}
}

func (t *tally) read(in io.Reader) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			fmt.Fprintln(t.out, lines.Text()) // not an event: what the go command itself has to say
			continue
		}
		t.add(e)
	}
	return lines.Err()
}

func (t *tally) add(e event) {
	key := e.Package + " " + e.Test
	switch e.Action {
	case "output":
		t.said[key] = append(t.said[key], e.Output)
		if isReport(e) {
			fmt.Fprint(t.out, strings.TrimLeft(e.Output, " "))
		}
	case "build-output":
		fmt.Fprint(t.out, e.Output)
	case "build-fail":
		t.broken = true
	case "pass", "fail", "skip":
		t.end(e, key)
	}
}

// end takes note of a test, or of a package when the event names no test.
func (t *tally) end(e event, key string) {
	switch {
	case e.Test == "" && e.Action == "fail":
		t.broken = true
		t.packages++
		t.tell(key)
	case e.Test == "" && e.Action == "pass":
		t.packages++
	case e.Test == "": // no test files
	case e.Action == "pass":
		t.passed++
	case e.Action == "skip":
		t.skipped++
		t.reasons[t.reason(key)]++
	default:
		t.failed++
		t.tell(key)
	}
	delete(t.said, key)
}

// place is what the testing package puts before a message.
var place = regexp.MustCompile(`^ *[\w.]+\.go:\d+: `)

// reason is the last that a skipped test said.
func (t *tally) reason(key string) string {
	reason := ""
	for _, line := range t.said[key] {
		if place.MatchString(line) {
			reason = strings.TrimSpace(place.ReplaceAllString(line, ""))
		}
	}
	return reason
}

func (t *tally) tell(key string) {
	for _, line := range t.said[key] {
		if !strings.HasPrefix(line, "=== ") && !isClosing(line) {
			fmt.Fprint(t.out, line)
		}
	}
}

// isReport says whether a line is for the reader even though all is well.
func isReport(e event) bool {
	return e.Test == "" && isClosing(e.Output) || strings.Contains(e.Output, "histories:") || strings.Contains(e.Output, "events judged")
}

// isClosing says whether a line is the one with which the go command closes a package that has tests.
func isClosing(line string) bool {
	return strings.HasPrefix(line, "ok  \t") || strings.HasPrefix(line, "FAIL\t")
}

// summary prints the counts and says whether all is well.
func (t *tally) summary() bool {
	fmt.Fprintf(t.out, "%d tests passed, %d failed, %d skipped, in %d packages\n", t.passed, t.failed, t.skipped, t.packages)
	for _, reason := range slices.Sorted(maps.Keys(t.reasons)) {
		fmt.Fprintf(t.out, "  %d skipped: %s\n", t.reasons[reason], reason)
	}
	if t.passed+t.failed == 0 {
		fmt.Fprintln(t.out, "no test ran")
		return false
	}
	return t.failed == 0 && !t.broken
}
