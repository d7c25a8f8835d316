package cli

import (
	"fmt"
	"slices"
	"strings"

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

// AddReleaseFlag adds --release-on-exit, for verbs that drive until something ends them (launchorder.md 7).
func AddReleaseFlag(flags *pflag.FlagSet, release *bool) {
	flags.BoolVar(release, "release-on-exit", true, "Open what is left of the pods' launch orders at the end, when nobody else drives; false leaves them to the next driver")
}

// LocalGates are the feature gates of a loop that runs on the operator's machine: there is no node daemon to rely on, so
// an in-place update renews env from metadata only at the next restart (inplace.md 11).
func LocalGates() features.Gates { return features.Defaults().With(features.KruiseDaemon, false) }

// noDaemon goes before what the user says, who may know better.
const noDaemon = "KruiseDaemon=false,"

// effective are the gates that change what a loop of this build does. Naming another one is refused: a gate that is
// accepted and ignored would promise what nobody does.
var effective = []features.Gate{
	features.CloneSetPartitionRollback, features.CloneSetShortHash, features.InPlaceUpdateEnvFromMetadata,
	features.InPlaceWorkloadVerticalScaling, features.KruiseDaemon, features.PreparingUpdateAsUpdate, features.RecreatePodWhenChangeVCTInCloneSetGate,
}

// parseGates reads the flag. AllAlpha and AllBeta are taken for the effective gates.
func (f *DriveFlags) parseGates() (features.Gates, error) {
	gates, err := features.Parse(noDaemon + f.gates)
	if err != nil {
		return gates, err
	}
	var names []string
	for _, gate := range effective {
		names = append(names, gate.String())
	}
	names = append(names, "AllAlpha", "AllBeta")
	for part := range strings.SplitSeq(f.gates, ",") {
		name, _, _ := strings.Cut(part, "=")
		if name = strings.TrimSpace(name); name != "" && !slices.Contains(names, name) {
			return gates, fmt.Errorf("%s has no effect here; want one of %s", name, strings.Join(names, ", "))
		}
	}
	return gates, nil
}

// Parse checks the values.
func (f *DriveFlags) Parse() (features.Gates, cluster.Mode, error) {
	gates, err := f.parseGates()
	if err != nil {
		return gates, "", Usagef("--feature-gates: %w", err)
	}
	switch mode := cluster.Mode(f.mode); mode {
	case cluster.ModeAuto, cluster.ModeLocal, cluster.ModeDelegate:
		return gates, mode, nil
	}
	return gates, "", Usagef("--mode %q: want %s", f.mode, OneOf([]cluster.Mode{cluster.ModeLocal, cluster.ModeDelegate}))
}
