// Command speccoverage says which scenarios of the specification have no test that ran and passed.
//
//	speccoverage -spec FOLDER [-packages PATTERN] [FILE...]
//
// It runs the tests of the packages itself, which needs no cluster, and reads what earlier runs of `go test -json` wrote into
// the files: those of tests that need one. A scenario is shown by a test whose name holds its id (cloneset/27, PF-CS-3, S-CS-6;
// in the name of a function SCS6). What a comment says, what was skipped and what failed does not count.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

func main() {
	code, err := run(os.Args[1:], os.Stdout, os.Stderr)
	if err != nil {
		fmt.Fprintln(os.Stderr, "spec-coverage:", err)
	}
	os.Exit(code)
}

// run returns 0 when every scenario is shown, 1 when some are missing or something failed, 2 for wrong arguments.
func run(args []string, stdout, stderr io.Writer) (int, error) {
	flags := flag.NewFlagSet("speccoverage", flag.ContinueOnError)
	flags.SetOutput(stderr)
	spec := flags.String("spec", "", "the folder with the specification")
	packages := flags.String("packages", "./pkg/...", "packages whose tests are run; empty runs none")
	if err := flags.Parse(args); err != nil {
		return 2, nil // the flag package has said what is wrong
	}
	if *spec == "" {
		return 2, errors.New("which specification? Give its folder: make spec-coverage SPEC=FOLDER")
	}
	scenarios, err := read(os.DirFS(*spec), areas, exempt)
	if err != nil {
		return 1, fmt.Errorf("%s: %w", *spec, err)
	}
	shown := newResults()
	for _, name := range flags.Args() {
		if err := shown.readFile(name); err != nil {
			return 1, err
		}
	}
	if *packages != "" {
		if err := shown.test(strings.Fields(*packages), stderr); err != nil {
			return 1, err
		}
	}
	code := report(scenarios, shown, stdout, stderr)
	if len(shown.broken) > 0 {
		return 1, fmt.Errorf("go test: %s", strings.Join(shown.broken, "; "))
	}
	return code, nil
}

// report prints one line for each scenario that no test shows, and how many there are of each kind.
func report(scenarios []scenario, shown *results, stdout, stderr io.Writer) int {
	verdicts := shown.verdicts()
	missing, exempted := 0, 0
	for _, s := range scenarios {
		if s.exempt != "" {
			exempted++
			continue
		}
		if why := verdicts.missing(s.id); why != "" {
			missing++
			fmt.Fprintf(stdout, "%-12s %s\n", s.id, why)
		}
	}
	fmt.Fprintf(stderr, "%d scenarios, %d exempt, %d without a test that ran and passed (%d tests were read)\n",
		len(scenarios), exempted, missing, len(shown.tests))
	if missing > 0 {
		return 1
	}
	return 0
}

// test runs the tests of packages. That some fail is no error: their scenarios are missing then.
func (r *results) test(packages []string, stderr io.Writer) error {
	cmd := exec.Command("go", append([]string{"test", "-json", "-count=1", "-timeout=30m"}, packages...)...)
	cmd.Stderr = stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("go test: %w", err)
	}
	readErr := r.read(out)
	var exit *exec.ExitError
	if err := cmd.Wait(); err != nil && !errors.As(err, &exit) {
		return fmt.Errorf("go test: %w", err)
	}
	if readErr != nil {
		return fmt.Errorf("go test: %w", readErr)
	}
	return nil
}
