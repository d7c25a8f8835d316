package rollout

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/cluster"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/commands/cli"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/batch"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/budget"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/revision"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/view"
)

// until is where a batched run hands back the prompt.
type until string

const (
	untilComplete until = "complete"
	untilPaused   until = "paused"
	untilBatch    until = "batch"
)

// batchFlags are the flags of batched runs.
type batchFlags struct {
	batches, pause, until, onFailure string
}

func (f *batchFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.batches, "batches", "", batchesUsage)
	flags.StringVar(&f.pause, "pause-between", "", "What to wait for between batches: a duration, or approve (see rollout approve)")
	flags.StringVar(&f.until, "until", string(untilComplete), "When to hand back the prompt: batch (one is done), paused (one has to wait) or complete")
	flags.StringVar(&f.onFailure, "on-failure", string(batch.Stop), "What to do when a batch fails: stop leaves it paused, undo takes its pods back")
}

// batchOptions are what they mean.
type batchOptions struct {
	// batches is empty when a recorded run is carried on.
	batches, pause string
	until          until
	onFailure      batch.OnFailure
}

// parse checks what can be checked without the workload.
func (f *batchFlags) parse(set func(string) bool) (*batchOptions, error) {
	o := &batchOptions{until: until(f.until), onFailure: batch.OnFailure(f.onFailure)}
	if ends := []until{untilBatch, untilPaused, untilComplete}; !slices.Contains(ends, o.until) {
		return o, cli.Usagef("--until %q: want %s", f.until, cli.OneOf(ends))
	}
	if ways := []batch.OnFailure{batch.Stop, batch.Undo}; !slices.Contains(ways, o.onFailure) {
		return o, cli.Usagef("--on-failure %q: want %s", f.onFailure, cli.OneOf(ways))
	}
	pause, err := batch.ParsePause(f.pause)
	if err != nil {
		return o, cli.Usagef("--pause-between %w", err)
	}
	o.batches, o.pause = f.batches, pause.String()
	if !set("batches") {
		for _, flag := range []string{"pause-between", "on-failure"} {
			if set(flag) {
				return o, cli.Usagef("--%s needs --batches, e.g. --batches 1,25%%,100%%", flag)
			}
		}
		return o, nil
	}
	for _, flag := range []string{"partition", "paused"} {
		if set(flag) {
			return o, cli.Usagef("--batches and --%s exclude each other: the batches move the partition", flag)
		}
	}
	if f.batches == "" {
		return o, cli.Usagef("--batches %q: want numbers of pods or percentages that grow, e.g. 1,25%%,100%%", f.batches)
	}
	return o, nil
}

// prepareBatches completes an intent by what belongs to batches: a new run with its first batch, or, for an intent that
// changes where the pods go without batches, the end of a recorded one.
func (o *options) prepareBatches(asked cluster.Intent) func(context.Context, *cli.Deps, *subject) (cluster.Intent, error) {
	return func(ctx context.Context, deps *cli.Deps, s *subject) (cluster.Intent, error) {
		in := asked
		_, recorded := s.set.Annotations[keys.RunAnnotation]
		if o.batch.batches == "" {
			if recorded && (len(in.Images) > 0 || in.Partition != nil) {
				in.Annotations = map[string]*string{keys.RunAnnotation: nil, keys.ApproveAnnotation: nil}
			}
			return in, nil
		}
		return o.firstBatch(ctx, deps, s, in)
	}
}

// firstBatch records a run together with the change that it is about and with its first batch.
func (o *options) firstBatch(ctx context.Context, deps *cli.Deps, s *subject, in cluster.Intent) (cluster.Intent, error) {
	change, err := s.judge(in, o.gates)
	if err != nil {
		return in, err
	}
	after := s.set.DeepCopy()
	if err := change.Apply(after); err != nil {
		return in, err
	}
	batches, _, err := batch.ParseBatches(o.batch.batches, replicasOf(after))
	if err != nil {
		return in, cli.Usagef("--batches %w", err)
	}
	planned, _, err := s.look(ctx, deps, after, o.gates)
	if err != nil {
		return in, err
	}
	counts := planned.Counts
	if old, err := recordedRun(s.set); err == nil && old != nil && old.Failed == "" &&
		revision.Same(old.TargetRevision, counts.UpdateRevision) && fmt.Sprint(old.Batches) == fmt.Sprint(batches) {
		return in, nil // the same again goes on where it stopped
	}
	if counts.Updated >= counts.Wanted {
		return in, nil // there is nothing to do in batches
	}
	run := s.newRun(deps, batches, counts)
	run.PauseBetween, run.OnFailure = o.batch.pause, o.batch.onFailure
	if in.Template != nil {
		run.FromRevision = in.Template.From
	}
	err = begin(&in, run, counts, o.delegated)
	if block := s.set.Spec.UpdateStrategy.RollingUpdate; block != nil && block.Paused {
		paused := false
		in.Paused = &paused
	}
	return in, err
}

// newRun is a run to the revision that a look found to be the wanted one.
func (s *subject) newRun(deps *cli.Deps, batches []string, counts view.Counts) *batch.Run {
	return &batch.Run{ID: strconv.FormatUint(deps.Random(), 36), TargetRevision: counts.UpdateRevision, Batches: batches,
		StartedAt: deps.Now().UTC().Truncate(time.Second), By: view.Holder(deps.Session(s.client, s.target.gates, "", nil).Holder),
		Version: batch.Version, FromRevision: counts.CurrentRevision}
}

// begin puts a new run and its first batch into an intent, in place of a run and an approval that stand there.
func begin(in *cluster.Intent, run *batch.Run, counts view.Counts, delegated bool) error {
	d := batch.Next(batch.State{Now: run.StartedAt, Run: run, UpdateRevision: counts.UpdateRevision, Replicas: counts.Wanted, Updated: counts.Updated,
		UpdatedAvailable: counts.UpdatedAvailable})
	if err := record(in, d, delegated); err != nil {
		return err
	}
	in.Annotations[keys.ApproveAnnotation] = nil
	return nil
}

// record puts the cursor of a decision and the partition that it begins with into one intent.
//
// Where somebody else drives the partition is a percentage: when others change the replicas, that one may act before this
// process can move the partition.
func record(in *cluster.Intent, d batch.Decision, delegated bool) error {
	text, err := d.Run.Encode()
	if err != nil {
		return err
	}
	partition := intstr.FromInt32(d.Partition)
	if share := batch.Share(d.Partition, d.Run.Replicas); delegated {
		if same, err := budget.Partition(&share, d.Run.Replicas); err == nil && same == d.Partition {
			partition = share
		}
	}
	in.Partition, in.Exclusive, in.Annotations = &partition, true, map[string]*string{keys.RunAnnotation: &text}
	return nil
}

// recordedRun is the run that stands on a workload; nil if there is none.
func recordedRun(set *v1beta1.CloneSet) (*batch.Run, error) {
	text, found := set.Annotations[keys.RunAnnotation]
	if !found {
		return nil, nil
	}
	return batch.Parse(text)
}

// stateOf is what one look shows of a batched run; false if there is none. A cursor that cannot be read is an error.
func stateOf(now time.Time, set *v1beta1.CloneSet, parts map[schema.GroupKind][]plan.Object, counts view.Counts) (batch.State, time.Time, bool, error) {
	run, err := recordedRun(set)
	if err != nil || run == nil {
		return batch.State{}, time.Time{}, false, err
	}
	s := batch.State{Now: now.UTC().Truncate(time.Second), Run: run, Approval: set.Annotations[keys.ApproveAnnotation], UpdateRevision: counts.UpdateRevision,
		Replicas: counts.Wanted, Updated: counts.Updated, UpdatedAvailable: counts.UpdatedAvailable}
	if block := set.Spec.UpdateStrategy.RollingUpdate; block != nil {
		if s.Partition, err = budget.Partition(block.Partition, counts.Wanted); err != nil {
			return s, time.Time{}, false, err
		}
	}
	if limit := set.Spec.ProgressDeadlineSeconds; limit != nil && *limit > 0 && *limit != v1beta1.NoProgressDeadline {
		s.Deadline = time.Duration(*limit) * time.Second
	}
	pods := podsOf(parts)
	updated := pods[:0:0]
	for _, pod := range pods {
		if revision.Same(pod.Labels[keys.ControllerRevisionHashLabel], counts.UpdateRevision) {
			updated = append(updated, pod)
		}
	}
	var wake time.Time
	s.Failure, wake = batch.Judge(updated, now)
	return s, wake, true, nil
}

// runView is a recorded run for people and machines; nil if there is none or if it cannot be read.
func runView(now time.Time, set *v1beta1.CloneSet, parts map[schema.GroupKind][]plan.Object, counts view.Counts) *view.RunView {
	state, _, found, err := stateOf(now, set, parts, counts)
	if err != nil || !found {
		return nil
	}
	return runOf(state.Run, batch.Next(state))
}

// runOf is a run and what it does now, as it is shown.
func runOf(r *batch.Run, d batch.Decision) *view.RunView {
	return &view.RunView{ID: r.ID, Revision: r.TargetRevision, Batches: r.Batches, Batch: r.Batch, Goal: d.Goal, By: r.By, StartedAt: r.StartedAt,
		Step: string(d.Step), Detail: d.Why, Until: d.Until}
}
