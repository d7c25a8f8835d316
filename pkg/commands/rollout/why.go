package rollout

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/cluster"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/commands/cli"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/view"
)

// newWhy makes the verb `rollout why`, which only looks.
func newWhy(deps *cli.Deps) *cobra.Command {
	var output string
	var plain bool
	cmd := &cobra.Command{
		Use:   "why TYPE/NAME [POD] [flags]",
		Short: "Say what happens next to each pod and what it waits for",
		Long: "Say what happens next to each pod and what it waits for, in the words of its containers and events. Pods that are\n" +
			"alike share a line. With the name of a pod only that one is told. Nothing is written.",
		Example:               "  kubectl kruise rollout why cloneset/web\n  kubectl kruise rollout why cloneset/web web-9qk7d",
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			pod := ""
			if len(args) > 1 && strings.Contains(args[0], "/") || len(args) > 2 {
				pod, args = strings.TrimPrefix(args[len(args)-1], "pod/"), args[:len(args)-1]
			}
			t, err := parseTarget(cmd, args)
			if err != nil {
				return err
			}
			format, err := cli.ParseOutput(output, cli.JSON, cli.YAML)
			if err != nil {
				return err
			}
			o := &options{target: t, output: format, plain: plain, gates: cli.LocalGates()}
			return o.runWhy(cmd.Context(), deps, pod)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "Output format: json or yaml")
	cmd.Flags().BoolVar(&plain, "plain", false, "No colours on terminals")
	return cmd
}

func (o *options) runWhy(ctx context.Context, deps *cli.Deps, pod string) error {
	s, err := find(ctx, deps, o.target)
	if err != nil {
		return err
	}
	driver, err := s.driver(ctx, deps)
	if err != nil {
		return err
	}
	planned, parts, err := s.look(ctx, deps, s.set, o.gates)
	if err != nil {
		return err
	}
	reasons := view.NewReasons(planned, driver, s.warningsOfPods(ctx, planned), pod)
	reasons.Run = runView(planned.At, s.set, parts, planned.Counts)
	if pod != "" && len(reasons.Groups) == 0 {
		return fmt.Errorf("%s has no pod %q", o.target, pod)
	}
	if o.output != cli.Text {
		return o.output.Write(deps.Out, reasons)
	}
	cli.NewPrinter(deps, o.output, o.plain).Print(reasons.Text()...)
	return nil
}

// warningsOfPods is what the last warning about each pod that is not available says. Without the right to read events
// their words are missing, nothing else.
func (s *subject) warningsOfPods(ctx context.Context, planned view.Planned) map[string]string {
	ill := map[string]bool{}
	for _, v := range planned.Plan.Verdicts {
		if !v.Available && v.UID != "" {
			ill[v.Name] = true
		}
	}
	if len(ill) == 0 {
		return nil
	}
	objects, _, err := s.client.List(ctx, schema.GroupKind{Kind: "Event"}, cluster.Scope{Namespace: s.namespace, Fields: "type=Warning,involvedObject.kind=Pod"})
	if err != nil {
		return nil
	}
	words, last := map[string]string{}, map[string]*corev1.Event{}
	for _, object := range objects {
		event, ok := object.(*corev1.Event)
		if !ok || !ill[event.InvolvedObject.Name] {
			continue
		}
		name := event.InvolvedObject.Name
		if old := last[name]; old == nil || !latest(event).Before(latest(old)) {
			last[name], words[name] = event, event.Reason+": "+event.Message
		}
	}
	return words
}
