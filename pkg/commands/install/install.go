package install

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/cluster"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/commands/cli"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/install"
)

type flags struct {
	crdsOnly bool
	dryRun   string
	output   string
}

type options struct {
	crds   []*apiextensionsv1.CustomResourceDefinition
	dryRun cluster.DryRun
	output cli.Output
}

// New makes the verb.
func New(deps *cli.Deps) *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "install --crds-only [--dry-run=client|server] [-o yaml|json|name]",
		Short: "Put the kinds of OpenKruise into the cluster",
		Long: "Put the definitions of OpenKruise's kinds into the cluster. Afterwards kubectl knows them, and kubectl kruise\n" +
			"works on them from your machine. Typing it again changes nothing; neither does it touch definitions that\n" +
			"already serve v1beta1 or convert by a webhook.",
		Example: "  kubectl kruise install --crds-only\n" +
			"  kubectl kruise install --crds-only --dry-run=client -o yaml   # needs no cluster",
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
	cmd.Flags().BoolVar(&f.crdsOnly, "crds-only", false, "Install the definitions of the kinds and nothing that runs; required")
	cli.AddDryRunFlag(cmd.Flags(), &f.dryRun)
	cmd.Flags().StringVarP(&f.output, "output", "o", "", "Output format: yaml, json or name")
	return cmd
}

func (f *flags) toOptions() (*options, error) {
	if !f.crdsOnly {
		return nil, cli.Usagef("install needs --crds-only: this version has nothing else to install")
	}
	dryRun, err := cli.ParseDryRun(f.dryRun)
	if err != nil {
		return nil, err
	}
	output, err := cli.ParseOutput(f.output, cli.YAML, cli.JSON, cli.Name)
	if err != nil {
		return nil, err
	}
	crds, err := install.CRDs(install.CRDsOnly)
	if err != nil {
		return nil, err
	}
	return &options{crds: crds, dryRun: dryRun, output: output}, nil
}

func (o *options) run(ctx context.Context, deps *cli.Deps) error {
	objects, err := install.Objects(o.crds)
	if err != nil {
		return err
	}
	if o.dryRun == cluster.DryRunClient {
		return o.print(deps, rendered(objects))
	}
	target, err := connect(deps)
	if err != nil {
		return err
	}
	refusals, err := target.refusals(ctx, o.crds)
	if err != nil {
		return err
	}
	if len(refusals) > 0 {
		for _, why := range refusals {
			fmt.Fprintf(deps.ErrOut, "%s\n", why)
		}
		fmt.Fprintln(deps.ErrOut, "nothing changed: the kinds are there in a form that --crds-only must not take back")
		return nil
	}
	applied, err := target.apply(ctx, objects, o.dryRun)
	if printErr := o.print(deps, applied); err == nil {
		err = printErr
	}
	if err == nil && o.dryRun == cluster.DryRunNone {
		err = target.established(ctx, o.crds)
	}
	return err
}

// outcome is one object and what happened to it.
type outcome struct {
	object *unstructured.Unstructured
	did    string
}

func rendered(objects []*unstructured.Unstructured) []outcome {
	list := make([]outcome, len(objects))
	for i, o := range objects {
		list[i] = outcome{object: o, did: "would be applied"}
	}
	return list
}

func (o *options) print(deps *cli.Deps, list []outcome) error {
	objects := make([]any, len(list))
	for i, one := range list {
		objects[i] = one.object.Object
	}
	switch o.output {
	case cli.JSON:
		return cli.JSON.Write(deps.Out, map[string]any{"apiVersion": "v1", "kind": "List", "items": objects})
	case cli.YAML:
		for _, object := range objects {
			fmt.Fprintln(deps.Out, "---")
			if err := cli.YAML.Write(deps.Out, object); err != nil {
				return err
			}
		}
		return nil
	}
	for _, one := range list {
		line := "customresourcedefinition.apiextensions.k8s.io/" + one.object.GetName()
		if o.output == cli.Text {
			line += " " + one.did + cli.DryRunNote(o.dryRun)
		}
		if _, err := fmt.Fprintln(deps.Out, line); err != nil {
			return err
		}
	}
	return nil
}
