package clonesetsim_test

import (
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"testing"
	"time"
)

// How many histories all families together play: few for a plain `go test`, many where the environment says so.
const (
	historiesVariable = "KRUISE_HISTORIES"
	someHistories     = 10_000
)

func TestMain(m *testing.M) {
	flag.Parse()
	if err := configure(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	os.Exit(m.Run())
}

// configure sets the flags of rapid that nobody set: how many histories, and a seed unless RAPID_SEED gives one. It is
// printed so that the same histories can be had again with -rapid.seed.
func configure() error {
	histories := someHistories
	if text := os.Getenv(historiesVariable); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return fmt.Errorf("%s is %q, want a number of histories", historiesVariable, text)
		}
		histories = n
	}
	each := (histories + len(families) - 1) / len(families)
	values := map[string]string{
		"rapid.checks":     strconv.Itoa(each),
		"rapid.seed":       strconv.FormatInt(time.Now().UnixNano()&(1<<53-1), 10),
		"rapid.nofailfile": "true",
	}
	if os.Getenv("RAPID_SEED") != "" {
		delete(values, "rapid.seed")
	}
	flag.Visit(func(f *flag.Flag) { delete(values, f.Name) })
	for name, value := range values {
		if err := flag.Set(name, value); err != nil {
			return err
		}
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400) // every history leaves a small cluster behind
	}
	return nil
}
