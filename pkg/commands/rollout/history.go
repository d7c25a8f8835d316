package rollout

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/commands/cli"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/revision"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/view"
)

const changeCause = "kubernetes.io/change-cause"

// newHistory makes the verb `rollout history`, which only looks.
func newHistory(deps *cli.Deps) *cobra.Command {
	var diff, output string
	var plain bool
	cmd := &cobra.Command{
		Use:   "history TYPE/NAME [--diff A,B] [flags]",
		Short: "Show the revisions of a workload and what they change",
		Long: "Show the revisions of a workload, the newest first. With --diff it shows what of the templates of two revisions\n" +
			"differs, or of one revision and what the template says now. Nothing is written.",
		Example:               "  kubectl kruise rollout history cloneset/web\n  kubectl kruise rollout history cloneset/web --diff 1,3",
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := parseTarget(cmd, args)
			if err != nil {
				return err
			}
			format, err := cli.ParseOutput(output, cli.JSON, cli.YAML)
			if err != nil {
				return err
			}
			var numbers []int64
			if cmd.Flags().Changed("diff") {
				if numbers, err = parseRevisions(diff); err != nil {
					return err
				}
			}
			o := &options{target: t, output: format, plain: plain, gates: cli.LocalGates()}
			return o.runHistory(cmd.Context(), deps, numbers)
		},
	}
	cmd.Flags().StringVar(&diff, "diff", "", "Compare two revisions by their numbers, e.g. 1,3; a single one is compared with the present template")
	cmd.Flags().StringVarP(&output, "output", "o", "", "Output format: json or yaml")
	cmd.Flags().BoolVar(&plain, "plain", false, "No colours on terminals")
	return cmd
}

// parseRevisions reads one or two numbers of revisions.
func parseRevisions(text string) ([]int64, error) {
	var numbers []int64
	parts := strings.Split(text, ",")
	for _, part := range parts {
		n, err := strconv.ParseInt(strings.TrimSpace(part), 10, 64)
		if err != nil || n < 1 || len(parts) > 2 {
			return nil, cli.Usagef("--diff %q: want one or two numbers of revisions, e.g. 3 or 1,3", text)
		}
		numbers = append(numbers, n)
	}
	return numbers, nil
}

func (o *options) runHistory(ctx context.Context, deps *cli.Deps, numbers []int64) error {
	s, err := find(ctx, deps, o.target)
	if err != nil {
		return err
	}
	planned, parts, err := s.look(ctx, deps, s.set, o.gates)
	if err != nil {
		return err
	}
	revisions := revisionsOf(parts)
	h := &view.History{Meta: view.Of("History"), Subject: planned.Subject, At: planned.At, Revisions: []view.RevisionView{}}
	for _, rev := range revisions {
		h.Revisions = append(h.Revisions, revisionView(rev, planned.Counts, podsOf(parts)))
	}
	if len(numbers) > 0 {
		if h.Diff, err = s.compare(revisions, numbers, planned.Counts.UpdateRevision); err != nil {
			return err
		}
	}
	if o.output != cli.Text {
		return o.output.Write(deps.Out, h)
	}
	cli.NewPrinter(deps, o.output, o.plain).Print(h.Text()...)
	return nil
}

func revisionView(rev *appsv1.ControllerRevision, counts view.Counts, pods []*corev1.Pod) view.RevisionView {
	v := view.RevisionView{Number: rev.Revision, Name: rev.Name, Created: rev.CreationTimestamp.Time, Cause: rev.Annotations[changeCause],
		Update: revision.Same(rev.Name, counts.UpdateRevision), Current: revision.Same(rev.Name, counts.CurrentRevision)}
	for _, pod := range pods {
		if pod.DeletionTimestamp == nil && revision.Same(pod.Labels[keys.ControllerRevisionHashLabel], rev.Name) {
			v.Pods++
		}
	}
	if template, err := revision.Template(rev); err == nil {
		for _, c := range template.Spec.Containers {
			v.Images = append(v.Images, c.Name+"="+c.Image)
		}
	}
	return v
}

// compare finds the revisions by number. Without a second one the first is compared with the present template's, which may
// have none yet.
func (s *subject) compare(revisions []*appsv1.ControllerRevision, numbers []int64, update string) (*view.RevisionDiff, error) {
	from, err := s.numbered(revisions, "diff", numbers[0])
	if err != nil {
		return nil, err
	}
	d := &view.RevisionDiff{From: view.RevisionRef{Number: from.Revision, Name: from.Name}}
	if len(numbers) == 1 {
		d.To.Name = update
		if to := byName(revisions, update); to != nil {
			d.To.Number = to.Revision
		}
		d.Template, err = templateDiff(from, &s.set.Spec.Template)
		return d, err
	}
	to, err := s.numbered(revisions, "diff", numbers[1])
	if err != nil {
		return nil, err
	}
	d.To = view.RevisionRef{Number: to.Revision, Name: to.Name}
	d.Template, err = diffData(from.Data.Raw, to.Data.Raw)
	return d, err
}

// numbered finds a revision by its number, or says which there are.
func (s *subject) numbered(revisions []*appsv1.ControllerRevision, flag string, number int64) (*appsv1.ControllerRevision, error) {
	i := slices.IndexFunc(revisions, func(r *appsv1.ControllerRevision) bool { return r.Revision == number })
	if i >= 0 {
		return revisions[i], nil
	}
	var known []string
	for _, rev := range revisions {
		known = append(known, fmt.Sprint(rev.Revision))
	}
	return nil, cli.Usagef("--%s %d: %s has no such revision; it has: %s", flag, number, s.target, strings.Join(known, ", "))
}

// latest is when an event was last seen.
func latest(e *corev1.Event) time.Time {
	if e.Series != nil {
		return e.Series.LastObservedTime.Time
	}
	if !e.LastTimestamp.IsZero() {
		return e.LastTimestamp.Time
	}
	return e.EventTime.Time
}
