package clonesetsim_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/batch"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/sim"
)

// rollout is an update in batches. Two operators look at it in turn and carry it on from what is recorded; a third person
// approves.
type rollout struct {
	batches   []string
	pause     string
	approvals []approval
}

// approval is one that somebody writes; a wrong one is for another revision.
type approval struct {
	at    time.Duration
	batch int
	wrong bool
}

// rolloutAt is when the template changes; by then most sets are at rest.
const rolloutAt = 20 * time.Second

// operator carries a run on from what it saw when it last looked.
type operator struct {
	set                *v1beta1.CloneSet
	updated, available int32
	// run is what text says.
	run  *batch.Run
	text string
}

// look takes the set and its pods in, unless it will not be able to act on them.
func (o *operator) look(k *checker) {
	o.set, o.updated, o.available = k.set(), 0, 0
	if o.set.Annotations[keys.RunAnnotation] == "" {
		return
	}
	l := limitsOf(o.set)
	for _, p := range pods(k.c) {
		if hash(p) != short(o.set.Status.UpdateRevision) {
			continue
		}
		o.updated++
		if available(p, l.minReady, k.c.Now()) {
			o.available++
		}
	}
}

// act writes what follows from what was seen, unless the set has changed since: that would be a conflict.
func (o *operator) act(k *checker) error {
	if o.set == nil || o.set.ResourceVersion != k.set().ResourceVersion || o.set.Status.ObservedGeneration != o.set.Generation {
		return nil
	}
	text := o.set.Annotations[keys.RunAnnotation]
	if text == "" {
		return k.begin(o.set)
	}
	if text != o.text {
		run, err := batch.Parse(text)
		if err != nil {
			return err
		}
		o.text, o.run = text, run
	}
	run := o.run
	block := o.set.Spec.UpdateStrategy.RollingUpdate
	s := batch.State{Now: k.c.Now(), Run: run, Approval: o.set.Annotations[keys.ApproveAnnotation], UpdateRevision: o.set.Status.UpdateRevision,
		Replicas: *o.set.Spec.Replicas, Partition: block.Partition.IntVal, Updated: o.updated, UpdatedAvailable: o.available}
	d := batch.Next(s)
	switch {
	case d.Step == batch.Complete:
		return k.record(nil, 0)
	case d.Step == batch.Superseded || d.Step == batch.Fail:
		return fmt.Errorf("the run ended: %s", d.Why)
	case d.Run == nil:
		return nil
	case d.Step == batch.Begin:
		if err := mayBegin(&s, d.Run); err != nil {
			return err
		}
	}
	return k.record(d.Run, d.Partition)
}

// begin records a run once the revision of the changed template is known.
func (k *checker) begin(set *v1beta1.CloneSet) error {
	if k.ran || set.Spec.Template.Spec.Containers[0].Image != imageName(2) {
		return nil
	}
	k.ran = true
	run := &batch.Run{ID: "x", TargetRevision: set.Status.UpdateRevision, Batches: k.rollout.batches, StartedAt: k.c.Now(), By: "one", Version: batch.Version,
		PauseBetween: k.rollout.pause, Replicas: *set.Spec.Replicas, Partition: *set.Spec.Replicas}
	return k.record(run, *set.Spec.Replicas)
}

// record writes the cursor and the partition in one write.
func (k *checker) record(run *batch.Run, partition int32) error {
	text := ""
	if run != nil {
		var err error
		if text, err = run.Encode(); err != nil {
			return err
		}
	}
	return k.c.Change("operator", plan.CloneSetKind, namespace, setName, func(obj plan.Object) {
		annotate(obj, keys.RunAnnotation, text)
		spec := &obj.(*v1beta1.CloneSet).Spec
		block := *spec.UpdateStrategy.RollingUpdate
		block.Partition = value(fmt.Sprint(partition))
		spec.UpdateStrategy.RollingUpdate = &block
	})
}

func annotate(obj plan.Object, key, text string) {
	notes := map[string]string{}
	for k, v := range obj.GetAnnotations() {
		notes[k] = v
	}
	notes[key] = text
	if text == "" {
		delete(notes, key)
	}
	obj.SetAnnotations(notes)
}

// mayBegin: a batch begins only after the one before, with its approval or after its pause, and lets its own pods move.
func mayBegin(s *batch.State, next *batch.Run) error {
	goals, err := batch.Goals(next.Batches, s.Replicas)
	if err != nil {
		return err
	}
	if moving, most := s.Replicas-next.Partition, max(goals[next.Batch-1], min(s.Updated, s.Replicas)); moving > most {
		return fmt.Errorf("batch %d lets %d pods move, its goal is %d", next.Batch, moving, most)
	}
	if next.Batch == 1 {
		return nil
	}
	if s.Updated < goals[next.Batch-2] || s.UpdatedAvailable < s.Updated {
		return fmt.Errorf("batch %d begins with %d updated pods, %d of them available, goal %d", next.Batch, s.Updated, s.UpdatedAvailable, goals[next.Batch-2])
	}
	given := []string{fmt.Sprintf("%s/%d", s.UpdateRevision, next.Batch), fmt.Sprintf("%s/%d", short(s.UpdateRevision), next.Batch)}
	approved := slices.Contains(given, s.Approval)
	switch {
	case s.Run.PauseBetween == "" || approved:
		return nil
	case s.Run.PauseBetween == "approve":
		return fmt.Errorf("batch %d begins with the approval %q", next.Batch, s.Approval)
	case s.Run.ReachedAt.IsZero() || s.Now.Sub(s.Run.ReachedAt) < 10*time.Second:
		return fmt.Errorf("batch %d begins %s after the one before was seen to be done", next.Batch, s.Now.Sub(s.Run.ReachedAt))
	}
	return nil
}

// short is a revision without the set's name.
func short(revision string) string { return revision[strings.LastIndexByte(revision, '-')+1:] }

// events are the change of the template, the looks of the operators, and the approvals. In the end everything is approved.
func (r *rollout) events(k *checker, seed uint64) []sim.Event {
	list := []sim.Event{{At: rolloutAt, Do: func(c *sim.Cluster) {
		step{what: setPartition, text: "100%"}.do(c)
		step{what: setImage, n: 2}.do(c)
	}}}
	operators := []*operator{{}, {}}
	turn := seed
	look := func(*sim.Cluster) {
		turn = turn*6364136223846793005 + 1442695040888963407
		o := operators[turn>>40%2]
		if turn>>45%4 != 0 { // else it acts on what it saw before
			o.look(k)
		}
		k.fail(o.act(k))
	}
	for at := rolloutAt; at < 75*time.Minute; {
		list = append(list, sim.Event{At: at, Do: look})
		if at += 3 * time.Second; at > rolloutAt+2*time.Minute {
			at += time.Minute
		}
	}
	approvals := slices.Clone(r.approvals)
	for n := range r.batches {
		approvals = append(approvals, approval{at: time.Duration(n+1) * 12 * time.Minute, batch: n + 1})
	}
	for i, a := range approvals {
		list = append(list, sim.Event{At: a.at, Do: func(c *sim.Cluster) {
			revision := k.set().Status.UpdateRevision
			if i%2 == 1 {
				revision = short(revision)
			}
			if a.wrong {
				revision += "x"
			}
			_ = c.Change("approver", plan.CloneSetKind, namespace, setName, func(obj plan.Object) {
				annotate(obj, keys.ApproveAnnotation, fmt.Sprintf("%s/%d", revision, a.batch))
			})
		}})
	}
	return list
}
