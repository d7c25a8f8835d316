package cli

import (
	"slices"

	"github.com/spf13/pflag"
)

// DryRun is the value of --dry-run.
type DryRun string

// The values of --dry-run.
const (
	// DryRunNone writes.
	DryRunNone DryRun = "none"
	// DryRunClient computes and writes nothing.
	DryRunClient DryRun = "client"
	// DryRunServer sends requests that the server checks and does not store.
	DryRunServer DryRun = "server"
)

func dryRuns() []DryRun { return []DryRun{DryRunNone, DryRunClient, DryRunServer} }

// AddDryRunFlag adds --dry-run. The bare flag means client, as kubectl has it.
func AddDryRunFlag(flags *pflag.FlagSet, value *string) {
	flags.StringVar(value, "dry-run", string(DryRunNone), "What to do instead of writing: client computes only, server lets the server check; none writes")
	flags.Lookup("dry-run").NoOptDefVal = string(DryRunClient)
}

// ParseDryRun checks a value of --dry-run.
func ParseDryRun(value string) (DryRun, error) {
	if !slices.Contains(dryRuns(), DryRun(value)) {
		return "", Usagef("--dry-run %q: want %s", value, OneOf(dryRuns()))
	}
	return DryRun(value), nil
}

// Note is what a line about a write ends with.
func (d DryRun) Note() string {
	switch d {
	case DryRunClient:
		return " (dry run)"
	case DryRunServer:
		return " (server dry run)"
	}
	return ""
}

// Writes says that something may be stored.
func (d DryRun) Writes() bool { return d == DryRunNone }
