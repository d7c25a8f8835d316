package rollout

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/cluster"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/commands/cli"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/batch"
)

// newScale makes the verb `rollout scale`.
func newScale(deps *cli.Deps) *cobra.Command {
	var replicas int32
	cmd := &cobra.Command{
		Use:     "scale TYPE/NAME --replicas N [flags]",
		Short:   "Change the number of pods",
		Long:    "Record how many pods are wanted, then create or delete pods like rollout until they are there.",
		Example: "  kubectl kruise rollout scale cloneset/web --replicas 10",
	}
	cmd.Flags().Int32Var(&replicas, "replicas", 0, "How many pods are wanted")
	return newDriving(deps, cmd, func(_ *options, set func(string) bool) error {
		switch {
		case !set("replicas"):
			return cli.Usagef("--replicas is missing: want a number of pods, e.g. 3")
		case replicas < 0:
			return cli.Usagef("--replicas %d: want 0 or more", replicas)
		}
		return nil
	}, func(ctx context.Context, deps *cli.Deps, s *subject) (cluster.Intent, error) {
		return s.scaled(ctx, deps, cluster.Intent{Replicas: &replicas})
	})
}

// newScaleDown makes the verb `rollout scale-down`.
func newScaleDown(deps *cli.Deps) *cobra.Command {
	var names []string
	cmd := &cobra.Command{
		Use:   "scale-down TYPE/NAME --pods A,B [flags]",
		Short: "Remove certain pods and lower the replicas by as many",
		Long: "Record that certain pods are deleted and that as many fewer are wanted, in one patch, then delete them within the\n" +
			"limits of the workload. No other pod takes their place.",
		Example: "  kubectl kruise rollout scale-down cloneset/web --pods web-7kx2p,web-m4zq9",
	}
	cmd.Flags().StringSliceVar(&names, "pods", nil, "The pods to remove, separated by commas")
	return newDriving(deps, cmd, func(o *options, _ func(string) bool) error {
		var list []string
		for _, name := range names {
			name = strings.TrimPrefix(strings.TrimSpace(name), "pod/")
			if name == "" || slices.Contains(list, name) {
				return cli.Usagef("--pods %q: want different names of pods, separated by commas", strings.Join(names, ","))
			}
			list = append(list, name)
		}
		if len(list) == 0 {
			return cli.Usagef("--pods is missing: want names of pods, separated by commas")
		}
		names = list
		return nil
	}, func(ctx context.Context, deps *cli.Deps, s *subject) (cluster.Intent, error) {
		in, err := s.without(ctx, names)
		if err != nil {
			return in, err
		}
		return s.scaled(ctx, deps, in)
	})
}

// without is the intent that removes pods for good. Each has to be an active pod of the workload that nobody has chosen
// for deletion yet, or the number of pods that go would not be the number that the replicas are lowered by.
func (s *subject) without(ctx context.Context, names []string) (cluster.Intent, error) {
	parts, err := s.parts(ctx, s.set)
	if err != nil {
		return cluster.Intent{}, err
	}
	pods := podsOf(parts)
	for _, name := range names {
		fault := fmt.Sprintf("%s has no pod %q", s.target, name)
		for _, pod := range pods {
			if pod.Name != name {
				continue
			}
			switch fault = ""; {
			case pod.DeletionTimestamp != nil:
				fault = fmt.Sprintf("pod %s is being deleted already", name)
			case pod.Labels[keys.SpecifiedDeleteLabel] != "" || slices.Contains(s.set.Spec.ScaleStrategy.PodsToDelete, name):
				fault = fmt.Sprintf("pod %s is chosen for deletion already", name)
			}
		}
		if fault != "" {
			return cluster.Intent{}, cli.Usagef("--pods: %s; nothing is written", fault)
		}
	}
	left := replicasOf(s.set) - int32(len(names))
	if left < 0 {
		return cluster.Intent{}, cli.Usagef("--pods: %d pods are named, %s wants %d; nothing is written", len(names), s.target, replicasOf(s.set))
	}
	return cluster.Intent{Replicas: &left, PodsToDelete: names, Exclusive: true}, nil
}

// scaled completes an intent that changes the replicas. While a batched run is recorded the partition has to follow in the
// same patch, or more pods would move than the batch allows.
func (s *subject) scaled(ctx context.Context, deps *cli.Deps, in cluster.Intent) (cluster.Intent, error) {
	if run, err := recordedRun(s.set); err != nil || run == nil {
		return in, err
	}
	planned, parts, err := s.look(ctx, deps, s.set, cli.LocalGates())
	if err != nil {
		return in, err
	}
	state, _, found, err := stateOf(planned.At, s.set, parts, planned.Counts)
	if err != nil || !found {
		return in, err
	}
	state.Replicas = *in.Replicas
	if d := batch.Next(state); d.Step == batch.Adjust {
		err = record(&in, d, false)
	}
	return in, err
}
