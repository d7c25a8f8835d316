// Package launchorder is the verb `launch-order`: what the containers of a pod wait for that start in an order.
package launchorder

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/cluster"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/commands/cli"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/launchorder"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/view"
)

// New makes the verb, which only has others below it.
func New(deps *cli.Deps) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "launch-order",
		Short: "Look at the order in which the containers of a pod start",
		Long: "Look at the order in which the containers of a pod start. A pod asks for it with the annotation\n" +
			"apps.kruise.io/container-launch-priority: Ordered, or with KRUISE_CONTAINER_PRIORITY in its containers: the higher\n" +
			"starts earlier, and the next level only when every container above it is ready.",
		DisableFlagsInUseLine: true,
	}
	cmd.AddCommand(newWhy(deps))
	return cmd
}

type options struct {
	namespace, pod string
	output         cli.Output
	plain          bool
}

// newWhy makes the verb `launch-order why`, which only looks.
func newWhy(deps *cli.Deps) *cobra.Command {
	var output string
	var plain bool
	cmd := &cobra.Command{
		Use:   "why POD [flags]",
		Short: "Say which level of a pod is open, what the next one waits for and since when",
		Long: "Say which level of a pod is open, what the next one waits for and since when, in the words of its containers, and\n" +
			"who opens levels. Nothing is written.",
		Example:               "  kubectl kruise launch-order why web-7kx2p\n  kubectl kruise launch-order why web-7kx2p -o json",
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			format, err := cli.ParseOutput(output, cli.JSON, cli.YAML)
			if err != nil {
				return err
			}
			o := &options{output: format, plain: plain}
			if o.pod, err = podName(cmd, args); err != nil {
				return err
			}
			if o.namespace, err = deps.Namespace(); err != nil {
				return err
			}
			return o.run(cmd.Context(), deps)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "Output format: json or yaml")
	cmd.Flags().BoolVar(&plain, "plain", false, "No colours on terminals")
	return cmd
}

// podName takes POD, pod/POD and pods/POD.
func podName(cmd *cobra.Command, args []string) (string, error) {
	if len(args) == 1 {
		kind, name, typed := strings.Cut(args[0], "/")
		if !typed {
			kind, name = "pod", args[0]
		}
		if kind = strings.ToLower(kind); (kind == "pod" || kind == "pods" || kind == "po") && name != "" && !strings.Contains(name, "/") {
			return name, nil
		}
	}
	return "", cli.Usagef("%s %q: want the name of one pod, e.g. web-7kx2p", cmd.CommandPath(), strings.Join(args, " "))
}

func (o *options) run(ctx context.Context, deps *cli.Deps) error {
	config, err := deps.Config.ToRESTConfig()
	if err != nil {
		return err
	}
	client, err := cluster.Connect(config)
	if err != nil {
		return err
	}
	pod := &corev1.Pod{}
	if found, err := o.read(ctx, client, plan.Ref{Kind: plan.PodKind, Name: o.pod}, pod); err != nil {
		return err
	} else if !found {
		return fmt.Errorf("there is no pod %q in namespace %s", o.pod, o.namespace)
	}
	world := launchorder.World{Now: deps.Now(), Pod: pod}
	if launchorder.Ordered(pod) {
		barrier := &corev1.ConfigMap{}
		found, err := o.read(ctx, client, plan.Ref{Kind: plan.ConfigMapKind, Name: launchorder.BarrierName(pod.Name)}, barrier)
		if err != nil {
			return err
		}
		if found {
			world.Barrier, world.OpenedAt = barrier, written(barrier)
		}
	}
	subject := view.Subject{Kind: plan.PodKind.Kind, Namespace: o.namespace, Name: o.pod}
	shown := view.NewLaunchOrder(subject, launchorder.Decide(world), o.driver(ctx, client, pod, world.Now), world.Now)
	if o.output != cli.Text {
		return o.output.Write(deps.Out, shown)
	}
	cli.NewPrinter(deps, o.output, o.plain).Print(shown.Text()...)
	return nil
}

// read reads an object whole, with its managed fields; false when it is not there.
func (o *options) read(ctx context.Context, client *cluster.Client, ref plan.Ref, into any) (bool, error) {
	raw, err := client.Raw(ctx, ref.Kind, o.namespace, ref.Name)
	switch {
	case apierrors.IsNotFound(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("read %s %s: %w", strings.ToLower(ref.Kind.Kind), ref.Name, cluster.Explain(err))
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return false, fmt.Errorf("read %s %s: %w", strings.ToLower(ref.Kind.Kind), ref.Name, err)
	}
	return true, nil
}

// written is when a barrier was last written, which is when the last level was opened.
func written(barrier *corev1.ConfigMap) time.Time {
	last := barrier.CreationTimestamp.Time
	for _, f := range barrier.ManagedFields {
		if f.Time != nil && f.Time.After(last) {
			last = f.Time.Time
		}
	}
	return last
}

// driver is who opens the levels of the pod: a loop, or a verb that drives its workload.
func (o *options) driver(ctx context.Context, client *cluster.Client, pod *corev1.Pod, now time.Time) view.Driver {
	lease := ""
	if owner := metav1.GetControllerOf(pod); owner != nil {
		lease = cluster.SubjectLease(owner.Kind, owner.Name)
	}
	facts, err := cluster.ReadLeases(ctx, client, o.namespace, lease)
	if err != nil {
		return view.Driver{Kind: view.DriverUnknown}
	}
	if d, found := cluster.Holding(facts, "", now); found {
		return cli.DriverOf(d)
	}
	if len(facts.Unreadable) > 0 {
		return view.Driver{Kind: view.DriverUnknown}
	}
	return view.Driver{Kind: view.DriverNone}
}
