package install

import (
	"context"
	"fmt"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/cluster"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/commands/cli"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/install"
)

// runCRDs puts the definitions alone into the cluster.
func (o *options) runCRDs(ctx context.Context, deps *cli.Deps) error {
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
