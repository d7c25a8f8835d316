package cli

import (
	"slices"

	"github.com/spf13/pflag"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/cluster"
)

func dryRuns() []cluster.DryRun {
	return []cluster.DryRun{cluster.DryRunNone, cluster.DryRunClient, cluster.DryRunServer}
}

// AddDryRunFlag adds --dry-run. The bare flag means client, as kubectl has it.
func AddDryRunFlag(flags *pflag.FlagSet, value *string) {
	flags.StringVar(value, "dry-run", string(cluster.DryRunNone), "What to do instead of writing: client computes only, server lets the server check; none writes")
	flags.Lookup("dry-run").NoOptDefVal = string(cluster.DryRunClient)
}

// ParseDryRun checks a value of --dry-run.
func ParseDryRun(value string) (cluster.DryRun, error) {
	if !slices.Contains(dryRuns(), cluster.DryRun(value)) {
		return "", Usagef("--dry-run %q: want %s", value, OneOf(dryRuns()))
	}
	return cluster.DryRun(value), nil
}

// DryRunNote is what a line about a write ends with.
func DryRunNote(d cluster.DryRun) string {
	switch d {
	case cluster.DryRunClient:
		return " (dry run)"
	case cluster.DryRunServer:
		return " (server dry run)"
	}
	return ""
}
