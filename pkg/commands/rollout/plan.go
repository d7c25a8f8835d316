package rollout

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/features"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/cluster"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/commands/cli"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/batch"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/revision"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/sim/clonesetsim"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/sim/estimate"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/view"
)

// newPlan makes the verb `rollout plan`, which only computes.
func newPlan(deps *cli.Deps) *cobra.Command {
	var f flags
	var batches string
	cmd := &cobra.Command{
		Use:   "plan TYPE/NAME [flags]",
		Short: "Show what a rollout would do before it does it",
		Long: "Show which pods a rollout with the same flags would move, batch by batch: in place or recreated and why, how many are\n" +
			"unavailable at the worst moment, about how long it takes, and who else owns, limits or scales the workload.\n\n" +
			"The rollout is played in virtual time, at the pace at which the pods have started before. Nothing is written. The\n" +
			"exit code is 0 when there is nothing to do and 10 when there is.",
		Example: "  kubectl kruise rollout plan cloneset/web --image nginx=nginx:1.27\n" +
			"  kubectl kruise rollout plan cloneset/web --image nginx=nginx:1.27 --batches 1,25%,100%",
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := parseTarget(cmd, args)
			if err != nil {
				return err
			}
			o, err := f.toPlanOptions(t, cmd.Flags().Changed)
			if err != nil {
				return err
			}
			return o.runPlan(cmd.Context(), deps, batches, cmd.Flags().Changed("batches"))
		},
	}
	f.addChange(cmd.Flags())
	cmd.Flags().StringVar(&batches, "batches", "", batchesUsage)
	f.drive.Add(cmd.Flags())
	cmd.Flags().StringVarP(&f.output, "output", "o", "", "Output format: json or yaml")
	cmd.Flags().BoolVar(&f.plain, "plain", false, "No colours on terminals")
	return cmd
}

const batchesUsage = "How many pods are updated at the end of each batch, as growing numbers or percentages, e.g. 1,25%,100%"

func (f *flags) toPlanOptions(t target, set func(flag string) bool) (*options, error) {
	o := &options{target: t, plain: f.plain}
	var err error
	if o.intent, err = f.intent(set); err != nil {
		return nil, err
	}
	if o.gates, o.mode, err = f.drive.Parse(); err != nil {
		return nil, err
	}
	o.output, err = cli.ParseOutput(f.output, cli.JSON, cli.YAML)
	return o, err
}

func (o *options) runPlan(ctx context.Context, deps *cli.Deps, batches string, batched bool) error {
	s, err := find(ctx, deps, o.target)
	if err != nil {
		return err
	}
	change, err := s.judge(o.intent, o.gates)
	if err != nil {
		return err
	}
	after := s.set.DeepCopy()
	if err := change.Apply(after); err != nil {
		return err
	}
	var goals []int32
	if batched {
		if _, goals, err = batch.ParseBatches(batches, replicasOf(after)); err != nil {
			return cli.Usagef("--batches %w", err)
		}
	}
	outlook, err := s.outlook(ctx, deps, after, goals, o.gates)
	if err != nil {
		return err
	}
	voice := newVoice(deps, o, s)
	voice.mute = true
	voice.changes(s, change, false)
	outlook.Changes = voice.recorded
	if outlook.Driver, err = s.driver(ctx, deps); err != nil {
		return err
	}
	outlook.Watchers = s.watchers(ctx)
	if o.output == cli.Text {
		voice.printer.Print(outlook.Text()...)
	} else if err := o.output.Write(deps.Out, outlook); err != nil {
		return err
	}
	if outlook.Differs() {
		return cli.Stopped(cli.Differences)
	}
	return nil
}

// outlook plays the workload as it will be.
func (s *subject) outlook(ctx context.Context, deps *cli.Deps, after *v1beta1.CloneSet, goals []int32, gates features.Gates) (*view.Outlook, error) {
	first, parts, err := s.look(ctx, deps, after, gates)
	if err != nil {
		return nil, err
	}
	if note, refused := forbidden(first.Plan); refused {
		return nil, cli.Usagef("%s: %s", s.target, view.Clean(note))
	}
	var all []plan.Object
	for _, kind := range []schema.GroupKind{plan.PodKind, plan.ControllerRevisionKind, plan.ClaimKind} {
		all = append(all, parts[kind]...)
	}
	played := clonesetsim.Case(after, all, gates)
	played.Pace = estimate.PaceOf(podsOf(parts))
	if len(goals) > 0 {
		played.Goals, played.Limit = goals, clonesetsim.KeepBack
	}
	found, err := estimate.Play(played)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.target, err)
	}
	o := &view.Outlook{Meta: view.Of("Outlook"), Subject: first.Subject, At: first.At, From: first.Counts.CurrentRevision,
		To: first.Counts.UpdateRevision, Warnings: first.Plan.Warnings}
	o.SetEstimate(found, played.Replicas)
	revisions := revisionsOf(parts)
	to, from := byName(revisions, o.To), byName(revisions, o.From)
	o.New = to == nil
	if from != nil && o.From != o.To {
		if o.Template, err = templateDiff(from, &after.Spec.Template); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// templateDiff compares a revision with a template.
func templateDiff(from *appsv1.ControllerRevision, to *corev1.PodTemplateSpec) ([]view.FieldDiff, error) {
	data, err := revision.FromTemplate(to)
	if err != nil {
		return nil, err
	}
	return diffData(from.Data.Raw, data)
}

// diffData compares the templates in the data of two revisions.
func diffData(from, to []byte) ([]view.FieldDiff, error) {
	var a, b struct {
		Spec struct{ Template map[string]any }
	}
	if err := json.Unmarshal(from, &a); err != nil {
		return nil, fmt.Errorf("read a revision: %w", err)
	}
	if err := json.Unmarshal(to, &b); err != nil {
		return nil, fmt.Errorf("read a revision: %w", err)
	}
	var raw [2][]byte
	for i, template := range []map[string]any{a.Spec.Template, b.Spec.Template} {
		delete(template, "$patch")
		var err error
		if raw[i], err = json.Marshal(template); err != nil {
			return nil, err
		}
	}
	return view.DiffJSON(raw[0], raw[1])
}

func replicasOf(set *v1beta1.CloneSet) int32 {
	if set.Spec.Replicas != nil {
		return *set.Spec.Replicas
	}
	return v1beta1.DefaultReplicas
}

func podsOf(parts map[schema.GroupKind][]plan.Object) []*corev1.Pod {
	var list []*corev1.Pod
	for _, object := range parts[plan.PodKind] {
		if pod, ok := object.(*corev1.Pod); ok {
			list = append(list, pod)
		}
	}
	return list
}

func revisionsOf(parts map[schema.GroupKind][]plan.Object) []*appsv1.ControllerRevision {
	var list []*appsv1.ControllerRevision
	for _, object := range parts[plan.ControllerRevisionKind] {
		if rev, ok := object.(*appsv1.ControllerRevision); ok {
			list = append(list, rev)
		}
	}
	return revision.NewestFirst(list)
}

// byName finds a revision by its name, or by its hash alone; nil if there is none.
func byName(revisions []*appsv1.ControllerRevision, name string) *appsv1.ControllerRevision {
	for _, rev := range revisions {
		if revision.Same(rev.Name, name) {
			return rev
		}
	}
	return nil
}

// driver is who moves the pods now. Leases that may not be read make it unknown.
func (s *subject) driver(ctx context.Context, deps *cli.Deps) (view.Driver, error) {
	facts, err := cluster.ReadLeases(ctx, s.client, s.namespace, cluster.SubjectLease(s.target.kind.Kind, s.target.name))
	if err != nil {
		return view.Driver{}, err
	}
	if d, found := cluster.Holding(facts, "", deps.Now()); found {
		return cli.DriverOf(d), nil
	}
	if len(facts.Unreadable) > 0 {
		return view.Driver{Kind: view.DriverUnknown}, nil
	}
	return view.Driver{Kind: view.DriverNone}, nil
}
