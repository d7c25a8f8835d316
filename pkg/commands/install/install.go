package install

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/features"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/cluster"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/commands/cli"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/install"
)

type flags struct {
	crdsOnly         bool
	image            string
	replicas         int32
	gates            string
	noDaemon         bool
	podFailurePolicy string
	force            bool
	wait             bool
	timeout          time.Duration
	dryRun           string
	output           string
}

type options struct {
	crdsOnly bool
	crds     []*apiextensionsv1.CustomResourceDefinition
	config   install.Config
	wait     time.Duration
	force    bool
	dryRun   cluster.DryRun
	output   cli.Output
}

// New makes the verb.
func New(deps *cli.Deps) *cobra.Command {
	defaults := install.Defaults()
	f := flags{replicas: defaults.Replicas, podFailurePolicy: string(defaults.PodFailurePolicy), wait: true, timeout: 5 * time.Minute}
	cmd := &cobra.Command{
		Use:   "install --image IMAGE | --crds-only",
		Short: "Put the kinds of OpenKruise, and what makes the cluster act by itself, into the cluster",
		Long: "Put the in-cluster pair into the cluster: managers that answer admission and conversion and drive the workloads\n" +
			"when nobody's terminal is open, a daemon on every node, and the definitions of OpenKruise's kinds in both versions.\n" +
			"Typing it again upgrades. What an earlier version has installed and this one has no longer is removed.\n\n" +
			"With --crds-only nothing that runs is installed: kubectl knows the kinds, and kubectl kruise works on them from\n" +
			"your machine. It does not touch definitions that already serve v1beta1 or convert by a webhook.",
		Example: "  kubectl kruise install --image registry.example/kruise-agent:v1\n" +
			"  kubectl kruise install --image registry.example/kruise-agent:v1 --dry-run=client -o yaml   # needs no cluster\n" +
			"  kubectl kruise install --crds-only",
		Args:                  cli.NoArgs,
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, err := f.toOptions(cmd, deps)
			if err != nil {
				return err
			}
			if o.crdsOnly {
				return o.runCRDs(cmd.Context(), deps)
			}
			return o.run(cmd.Context(), deps)
		},
	}
	cmd.Flags().StringVar(&f.image, "image", deps.AgentImage, "Image of kruise-agent, in a registry that the nodes reach")
	cmd.Flags().Int32Var(&f.replicas, "replicas", f.replicas, "Number of managers; all answer admission, one drives")
	cmd.Flags().StringVar(&f.gates, "feature-gates", "", "Feature gates of managers and daemon, e.g. CloneSetShortHash=true")
	cmd.Flags().BoolVar(&f.noDaemon, "no-daemon", false, "Install no daemon on the nodes")
	cmd.Flags().StringVar(&f.podFailurePolicy, "pod-failure-policy", f.podFailurePolicy, "What becomes of a new pod when no manager answers: Ignore lets it in as it is, Fail refuses it")
	cmd.Flags().BoolVar(&f.crdsOnly, "crds-only", false, "Install the definitions of the kinds and nothing that runs")
	cmd.Flags().BoolVar(&f.force, "force-conflicts", false, "Take fields that somebody else has changed since")
	cmd.Flags().BoolVar(&f.wait, "wait", f.wait, "Wait until the managers answer; without it admission is registered by the next run")
	cmd.Flags().DurationVar(&f.timeout, "timeout", f.timeout, "How long to wait for the managers")
	cli.AddDryRunFlag(cmd.Flags(), &f.dryRun)
	cmd.Flags().StringVarP(&f.output, "output", "o", "", "Output format: yaml, json or name")
	return cmd
}

// pairOnly are flags that say something about what runs.
var pairOnly = []string{"image", "replicas", "feature-gates", "no-daemon", "pod-failure-policy", "force-conflicts", "wait", "timeout"}

func (f *flags) toOptions(cmd *cobra.Command, deps *cli.Deps) (o *options, err error) {
	o = &options{crdsOnly: f.crdsOnly, force: f.force}
	if o.dryRun, err = cli.ParseDryRun(f.dryRun); err != nil {
		return nil, err
	}
	if o.output, err = cli.ParseOutput(f.output, cli.YAML, cli.JSON, cli.Name); err != nil {
		return nil, err
	}
	if f.crdsOnly {
		for _, name := range pairOnly {
			if cmd.Flags().Changed(name) {
				return nil, cli.Usagef("--%s has no meaning with --crds-only: nothing that runs is installed", name)
			}
		}
		o.crds, err = install.CRDs(install.CRDsOnly)
		return o, err
	}
	if f.wait {
		if f.timeout <= 0 {
			return nil, cli.Usagef("--timeout %s: want a positive duration, e.g. 5m", f.timeout)
		}
		o.wait = f.timeout
	}
	o.config, err = f.toConfig(deps)
	return o, err
}

func (f *flags) toConfig(deps *cli.Deps) (install.Config, error) {
	config := install.Defaults()
	if f.image == "" {
		return config, cli.Usagef("install needs --image (kruise-agent in a registry that the nodes reach), or --crds-only for the kinds alone")
	}
	if f.replicas < 1 {
		return config, cli.Usagef("--replicas %d: want at least 1", f.replicas)
	}
	if _, err := features.Parse(f.gates); err != nil {
		return config, cli.Usagef("--feature-gates: %w", err)
	}
	policies := []install.FailurePolicy{install.Ignore, install.Fail}
	if !slices.Contains(policies, install.FailurePolicy(f.podFailurePolicy)) {
		return config, cli.Usagef("--pod-failure-policy %q: want %s", f.podFailurePolicy, cli.OneOf(policies))
	}
	namespace, err := cli.InstallNamespace(deps)
	if err != nil {
		return config, err
	}
	config.Namespace, config.Image, config.Replicas, config.FeatureGates = namespace, f.image, f.replicas, f.gates
	config.Daemon, config.PodFailurePolicy, config.Version = !f.noDaemon, install.FailurePolicy(f.podFailurePolicy), deps.Version
	return config, nil
}

func (o *options) run(ctx context.Context, deps *cli.Deps) error {
	if o.dryRun == cluster.DryRunClient {
		manifests, err := install.Manifests(o.config, install.Complete)
		if err != nil {
			return err
		}
		objects, err := install.Applied(manifests)
		if err != nil {
			return err
		}
		return o.print(deps, rendered(objects))
	}
	target, err := install.Connect(deps.Config, cli.Progress(deps))
	if err != nil {
		return err
	}
	if o.dryRun == cluster.DryRunServer {
		objects, err := target.Try(ctx, o.config, deps.Now(), o.force)
		if err != nil {
			return err
		}
		return o.print(deps, rendered(objects))
	}
	done, err := target.Install(ctx, o.config, install.Options{Now: deps.Now(), Wait: o.wait, Force: o.force})
	var late *install.NotReadyError
	if errors.As(err, &late) {
		return &cli.Error{Code: cli.TimedOut, Err: err}
	}
	if err != nil {
		return err
	}
	target.Refresh()
	return o.report(deps, done)
}

// report says what is there now.
func (o *options) report(deps *cli.Deps, done *install.Outcome) error {
	if o.output != cli.Text {
		return o.print(deps, rendered(done.Objects))
	}
	if !done.Complete {
		fmt.Fprintf(deps.Out, "applied in %s; admission is not registered yet\nnext: kubectl kruise install again once the managers are ready\n", o.config.Namespace)
		return nil
	}
	if m := done.Moved; m.Objects+m.References > 0 {
		fmt.Fprintf(deps.ErrOut, "rewrote %d objects as v1beta1 and %d owner references\n", m.Objects, m.References)
	}
	daemon := "no daemon"
	if o.config.Daemon {
		daemon = "a daemon on every node"
	}
	managers := "1 manager"
	if n := o.config.Replicas; n != 1 {
		managers = fmt.Sprintf("%d managers", n)
	}
	_, err := fmt.Fprintf(deps.Out, "installed in %s: %s, %s, image %s\nnext: kubectl kruise check\n",
		o.config.Namespace, managers, daemon, o.config.Image)
	return err
}
