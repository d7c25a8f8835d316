package cli

import (
	"github.com/spf13/pflag"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/features"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/cluster"
)

// DriveFlags are the flags of verbs that may drive.
type DriveFlags struct {
	gates, mode string
}

// Add adds the flags.
func (f *DriveFlags) Add(flags *pflag.FlagSet) {
	flags.StringVar(&f.gates, "feature-gates", "", "Feature gates of the planner, with OpenKruise's names, e.g. CloneSetPartitionRollback=true")
	flags.StringVar(&f.mode, "mode", "", "Who drives when the leases of kruise-system may not be read: local (here) or delegate (whoever is there)")
}

// LocalGates are the feature gates of a loop that runs on the operator's machine: there is no node daemon to rely on, so
// an in-place update renews env from metadata only at the next restart (inplace.md 11).
func LocalGates() features.Gates { return features.Defaults().With(features.KruiseDaemon, false) }

// noDaemon goes before what the user says, who may know better.
const noDaemon = "KruiseDaemon=false,"

// Parse checks the values.
func (f *DriveFlags) Parse() (features.Gates, cluster.Mode, error) {
	gates, err := features.Parse(noDaemon + f.gates)
	if err != nil {
		return gates, "", Usagef("--feature-gates: %w", err)
	}
	switch mode := cluster.Mode(f.mode); mode {
	case cluster.ModeAuto, cluster.ModeLocal, cluster.ModeDelegate:
		return gates, mode, nil
	}
	return gates, "", Usagef("--mode %q: want %s", f.mode, OneOf([]cluster.Mode{cluster.ModeLocal, cluster.ModeDelegate}))
}
