// Package version is the verb `version`: what runs here, what the cluster serves, and who drives.
package version

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/cluster"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/commands/cli"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/view"
)

type flags struct {
	client bool
	output string
}

type options struct {
	client bool
	output cli.Output
}

// New makes the verb.
func New(deps *cli.Deps) *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:                   "version [--client] [-o json|yaml]",
		Short:                 "Print the versions of the plugin, the server and the served kinds",
		Long:                  "Print the version of the plugin, the version of the server, the API versions of OpenKruise that it\nserves, and who drives in the namespace.",
		Example:               "  kubectl kruise version\n  kubectl kruise version --client -o json",
		Args:                  cli.NoArgs,
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, err := f.toOptions()
			if err != nil {
				return err
			}
			return o.run(cmd.Context(), deps)
		},
	}
	cmd.Flags().BoolVar(&f.client, "client", false, "Only the plugin's own version; needs no cluster")
	cmd.Flags().StringVarP(&f.output, "output", "o", "", "Output format: json or yaml")
	return cmd
}

func (f *flags) toOptions() (*options, error) {
	output, err := cli.ParseOutput(f.output, cli.JSON, cli.YAML)
	return &options{client: f.client, output: output}, err
}

func (o *options) run(ctx context.Context, deps *cli.Deps) error {
	v := &view.Version{Meta: view.Of("Version"), Client: build(deps)}
	var err error
	if !o.client {
		err = askServer(ctx, deps, v)
	}
	if o.output != cli.Text {
		return errors.Join(o.output.Write(deps.Out, v), err)
	}
	_, printErr := io.WriteString(deps.Out, v.Text())
	return errors.Join(printErr, err)
}

// build says what this program is: the released version if it has one, else what the Go tool recorded.
func build(deps *cli.Deps) view.Build {
	b := view.Build{Version: deps.Version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if deps.Build == nil {
		return b
	}
	if b.Version == "" {
		b.Version = deps.Build.Main.Version
	}
	for _, s := range deps.Build.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.time":
			b.Date = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

// askServer fills in what the cluster says. What it could not learn stays absent and is told in the error.
func askServer(ctx context.Context, deps *cli.Deps, v *view.Version) error {
	config, err := deps.Config.ToRESTConfig()
	if err != nil {
		return err
	}
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return err
	}
	server, err := client.ServerVersionWithContext(ctx)
	if err != nil {
		return fmt.Errorf("server version: %w", cluster.Explain(err))
	}
	v.Server = server.GitVersion
	if v.Served, err = served(ctx, client); err != nil {
		return err
	}
	return whoDrives(ctx, deps, config, v)
}

// whoDrives reads the Leases that decide about the namespace. Where they may not be read it stays unknown.
func whoDrives(ctx context.Context, deps *cli.Deps, config *rest.Config, v *view.Version) error {
	namespace, err := deps.Namespace()
	if err != nil {
		return err
	}
	client, err := cluster.Connect(config)
	if err != nil {
		return err
	}
	driver := view.Driver{Kind: view.DriverUnknown}
	if facts, err := cluster.ReadLeases(ctx, client, namespace, ""); err == nil && len(facts.Unreadable) == 0 {
		other, _ := cluster.Above(facts, "", deps.Now())
		driver = cli.DriverOf(other)
		if driver.Kind == "" {
			driver.Kind = view.DriverNone
		}
	}
	v.Namespace, v.Driver = namespace, &driver
	return nil
}

// served lists the versions of OpenKruise's groups, ordered as the server prefers them.
func served(ctx context.Context, client *discovery.DiscoveryClient) ([]view.ServedVersion, error) {
	groups, err := client.ServerGroupsWithContext(ctx)
	if err != nil {
		return nil, fmt.Errorf("served kinds: %w", cluster.Explain(err))
	}
	var list []view.ServedVersion
	for _, g := range groups.Groups {
		if !strings.HasSuffix(g.Name, ".kruise.io") {
			continue
		}
		for _, version := range g.Versions {
			resources, err := client.ServerResourcesForGroupVersionWithContext(ctx, version.GroupVersion)
			if err != nil {
				return nil, fmt.Errorf("served kinds: %w", cluster.Explain(err))
			}
			s := view.ServedVersion{GroupVersion: version.GroupVersion}
			for _, r := range resources.APIResources {
				if !strings.Contains(r.Name, "/") {
					s.Resources = append(s.Resources, r.Name)
				}
			}
			slices.Sort(s.Resources)
			list = append(list, s)
		}
	}
	return list, nil
}
