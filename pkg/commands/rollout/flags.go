package rollout

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/distribution/reference"
	"github.com/spf13/pflag"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/features"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/cluster"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/commands/cli"
)

// flags are what is typed.
type flags struct {
	images                              []string
	partition, maxUnavailable, maxSurge string
	policy, paused                      string
	timeout                             time.Duration
	noWait, release                     bool
	dryRun                              string
	drive                               cli.DriveFlags
	output                              string
	plain                               bool
}

func (f *flags) add(flags *pflag.FlagSet) {
	f.addChange(flags)
	f.addRun(flags)
}

// addRun adds the flags of every verb that writes and then waits.
func (f *flags) addRun(flags *pflag.FlagSet) {
	flags.DurationVar(&f.timeout, "timeout", 0, "Stop waiting after that time; 0 waits as long as it takes")
	flags.BoolVar(&f.noWait, "no-wait", false, "Record what is wanted and leave the rest to whoever drives")
	cli.AddDryRunFlag(flags, &f.dryRun)
	f.drive.Add(flags)
	cli.AddReleaseFlag(flags, &f.release)
	flags.StringVarP(&f.output, "output", "o", "", "Output format: json, yaml, name, or jsonl: a line for each thing that happens")
	flags.BoolVar(&f.plain, "plain", false, "No colours on terminals")
}

// addChange adds the flags that say what is wanted of the workload.
func (f *flags) addChange(flags *pflag.FlagSet) {
	flags.StringArrayVar(&f.images, "image", nil, "New image of a container, as CONTAINER=IMAGE; can be repeated")
	flags.StringVar(&f.partition, "partition", "", "Pods to keep at their revision: a number or a percentage")
	flags.StringVar(&f.maxUnavailable, "max-unavailable", "", "Pods that may be unavailable on the way: a number or a percentage")
	flags.StringVar(&f.maxSurge, "max-surge", "", "Pods that may exist above the wanted number on the way: a number or a percentage")
	flags.StringVar(&f.policy, "type", "", "How pods are updated: "+strings.Join(updateTypes(), ", "))
	flags.StringVar(&f.paused, "paused", "", "Stop updating pods (true) or go on (false)")
	flags.Lookup("paused").NoOptDefVal = "true"
}

// options are what was meant.
type options struct {
	target  target
	intent  cluster.Intent
	timeout time.Duration
	noWait  bool
	dryRun  cluster.DryRun
	gates   features.Gates
	mode    cluster.Mode
	release bool
	output  cli.Output
	plain   bool
	// carryOn says that the verb carries a recorded run in batches on, batch how; nil is to its end.
	carryOn bool
	batch   *batchOptions
	// delegated says that somebody else drives.
	delegated bool
	// failed is why the run has failed that a way back follows; reaching its end is no success then.
	failed string
	// prepare finds the intent for verbs that have to look at the workload first; it is asked again when the workload has
	// changed since. Nil leaves the intent as it is.
	prepare func(context.Context, *cli.Deps, *subject) (cluster.Intent, error)
}

func updateTypes() []string {
	return []string{string(v1beta1.ReCreatePodUpdatePolicy), string(v1beta1.InPlaceIfPossiblePodUpdatePolicy),
		string(v1beta1.InPlaceOnlyPodUpdatePolicy), cluster.OnDelete}
}

// toOptions checks everything that can be checked without the cluster.
func (f *flags) toOptions(t target, set func(flag string) bool) (*options, error) {
	o := &options{target: t, timeout: f.timeout, noWait: f.noWait, release: f.release, plain: f.plain}
	var err error
	if o.intent, err = f.intent(set); err != nil {
		return nil, err
	}
	if o.dryRun, err = cli.ParseDryRun(f.dryRun); err != nil {
		return nil, err
	}
	if o.gates, o.mode, err = f.drive.Parse(); err != nil {
		return nil, err
	}
	o.target.gates = o.gates
	if o.output, err = cli.ParseOutput(f.output, cli.JSON, cli.YAML, cli.Name, cli.JSONL); err != nil {
		return nil, err
	}
	waits := !o.noWait && o.dryRun == cluster.DryRunNone
	switch {
	case f.timeout < 0:
		return nil, cli.Usagef("--timeout %s: want 0 or more, e.g. 10m", f.timeout)
	case f.timeout > 0 && !waits:
		return nil, cli.Usagef("--timeout %s: nothing is waited for with --no-wait or --dry-run", f.timeout)
	case !f.release && !waits:
		return nil, cli.Usagef("--release-on-exit=false: nothing is driven with --no-wait or --dry-run")
	case o.noWait && o.dryRun != cluster.DryRunNone:
		return nil, cli.Usagef("--no-wait and --dry-run exclude each other: a dry run never waits")
	}
	return o, nil
}

// intent is what the flags ask of the workload.
func (f *flags) intent(set func(flag string) bool) (cluster.Intent, error) {
	var in cluster.Intent
	var err error
	if in.Images, err = parseImages(f.images); err != nil {
		return in, err
	}
	for _, n := range f.numbers(&in) {
		if set(n.flag) {
			if *n.to, err = parseNumber(n.flag, n.text); err != nil {
				return in, err
			}
		}
	}
	if set("type") {
		if !contains(updateTypes(), f.policy) {
			return in, cli.Usagef("--type %q: want %s", f.policy, cli.OneOf(updateTypes()))
		}
		in.Type = f.policy
	}
	if set("paused") {
		paused, err := strconv.ParseBool(f.paused)
		if err != nil {
			return in, cli.Usagef("--paused %q: want true or false", f.paused)
		}
		in.Paused = &paused
	}
	return in, nil
}

// parseImages reads CONTAINER=IMAGE pairs.
func parseImages(pairs []string) (map[string]string, error) {
	if len(pairs) == 0 {
		return nil, nil
	}
	images := map[string]string{}
	for _, pair := range pairs {
		container, image, ok := strings.Cut(pair, "=")
		if !ok || container == "" || image == "" || strings.ContainsAny(pair, " \t\n") {
			return nil, cli.Usagef("--image %q: want CONTAINER=IMAGE, e.g. nginx=nginx:1.27", pair)
		}
		if _, err := reference.ParseNormalizedNamed(image); err != nil {
			return nil, cli.Usagef("--image %q: %q is no image: %w; want a name with a tag or digest, e.g. nginx:1.27", pair, image, err)
		}
		if old, twice := images[container]; twice && old != image {
			return nil, cli.Usagef("--image: container %q has two images, %s and %s", container, old, image)
		}
		images[container] = image
	}
	return images, nil
}
