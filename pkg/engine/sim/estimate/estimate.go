package estimate

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/sim"
)

// Case is a rollout to be played. Nothing in it is changed.
type Case struct {
	// Kind is the kind of Subject, which is the workload as it will be once the change is written, and Parts are its pods
	// and what else belongs to it.
	Kind    sim.Kind
	Subject plan.Object
	Parts   []plan.Object
	// Driver makes a driver with the kind's planner.
	Driver func(*sim.View) *sim.Driver
	// Limit lets a number of pods stay back. It gets a shallow copy of the subject. Nil leaves the subject as it is; then
	// there is one batch.
	Limit func(subject plan.Object, partition int32)
	// Replicas is how many pods are wanted, Goals how many of them are updated at the end of each batch.
	Replicas int32
	Goals    []int32
	Pace     sim.Pace
}

// Batch is what happens in one batch.
type Batch struct {
	// Goal is how many pods are updated at its end, all together.
	Goal int32
	// InPlace, Recreated, Created and Removed are the pods that it moves, by name. Created are those that were missing; their
	// names are made up.
	InPlace, Recreated, Created, Removed []string
	// Guessed is how many more pods move that were not played, because there are too many of them; they are taken to go like
	// the others, and Took is for all.
	Guessed int
	// Worst is how many of the wanted pods were unavailable at the worst moment.
	Worst int32
	Took  time.Duration
}

// Estimate is what will happen if nothing comes in between.
type Estimate struct {
	Batches []Batch
	Total   time.Duration
	// Obstacles say why pods are recreated where they could have been updated in place: the field that forces it.
	Obstacles []string
	// Stuck says why the end was not reached; empty when it was.
	Stuck string
}

// Moved is how many pods a batch moves.
func (b *Batch) Moved() int {
	return len(b.InPlace) + len(b.Recreated) + len(b.Created) + len(b.Removed) + b.Guessed
}

const (
	player = "user"
	// maxWork bounds the rounds of all batches by what they cost, which grows with the pods: some seconds.
	maxWork, maxRounds = 300_000, 5_000
	// interval is the time between two rounds; what happens within it is answered together.
	interval = 50 * time.Millisecond
)

// Play plays the case from its first batch to its last. The error says that the objects cannot be played or that the spec
// is wrong.
func Play(c Case) (*Estimate, error) {
	world, err := build(&c)
	if err != nil {
		return nil, err
	}
	watcher := &watcher{wanted: c.Replicas}
	driver := c.Driver(sim.NewView(world, 0))
	think := driver.Plan
	driver.Plan = func(v *sim.View, failures []sim.Failure) (*plan.Plan, error) {
		p, err := think(v, failures)
		if err != nil && watcher.err == nil {
			watcher.err = err
		}
		return p, err
	}
	run := &sim.Run{Cluster: world, Drivers: []*sim.Driver{driver}, Interval: interval, WriteTime: 5 * time.Millisecond,
		Planned: func(_ *sim.Driver, p *plan.Plan) error { watcher.see(world, p); return nil }}
	goals := c.Goals
	if c.Limit == nil || len(goals) == 0 {
		goals = []int32{c.Replicas}
	}
	e := &Estimate{}
	for _, goal := range goals {
		if c.Limit != nil {
			err := world.Change(player, c.Kind.Kind, c.Subject.GetNamespace(), c.Subject.GetName(), func(obj plan.Object) { c.Limit(obj, max(c.Replicas-goal, 0)) })
			if err != nil {
				return nil, err
			}
		}
		began := world.Elapsed()
		watcher.begin(goal, began)
		run.Start()
		err := run.Settle(max(min(maxRounds, maxWork/(max(len(c.Parts), 1)*len(goals))), 20))
		if watcher.err != nil {
			return nil, watcher.err
		}
		if run.Broken() != nil {
			return nil, run.Broken()
		}
		watcher.batch.settle()
		e.Stuck = watcher.stuck(err, world.Elapsed())
		e.Batches = append(e.Batches, watcher.batch)
		if e.Stuck != "" {
			break
		}
		e.Total += watcher.batch.Took
	}
	e.Obstacles = watcher.obstacles
	return e, nil
}

// watcher takes down what plans do.
type watcher struct {
	wanted int32
	batch  Batch
	began  time.Duration
	last   *plan.Plan
	// done is how many pods are updated before the batch.
	done      int32
	err       error
	obstacles []string
}

func (w *watcher) begin(goal int32, at time.Duration) {
	w.done = max(w.done, w.batch.Goal)
	w.batch, w.began, w.last = Batch{Goal: goal}, at, nil
}

func (w *watcher) see(world *sim.Cluster, p *plan.Plan) {
	done := w.last != nil && w.last.Done
	if w.last == nil && w.done == 0 {
		w.done = updated(p)
	}
	w.last = p
	available := int32(0)
	for _, v := range p.Verdicts {
		if v.Available {
			available++
		}
		switch v.Fate {
		case plan.UpdateInPlace:
			note(&w.batch.InPlace, v.Name)
		case plan.Recreate:
			note(&w.batch.Recreated, v.Name)
			if v.Note != "" {
				note(&w.obstacles, v.Note)
			}
		case plan.Make:
			note(&w.batch.Created, v.Name)
		case plan.Remove:
			note(&w.batch.Removed, v.Name)
		}
	}
	w.batch.Worst = max(w.batch.Worst, w.wanted-available)
	if p.Done && !done {
		w.batch.Took = world.Elapsed() - w.began
	}
}

func note(list *[]string, word string) {
	if i, found := slices.BinarySearch(*list, word); !found {
		*list = slices.Insert(*list, i, word)
	}
}

func updated(p *plan.Plan) int32 {
	n := int32(0)
	for _, v := range p.Verdicts {
		if v.Updated {
			n++
		}
	}
	return n
}

// stuck says why the goal does not hold; empty when it does. When there was more to play than may be, what was played
// speaks for the rest.
func (w *watcher) stuck(err error, now time.Duration) string {
	switch {
	case err != nil:
		played := len(w.batch.InPlace) + len(w.batch.Recreated)
		if left := int(w.batch.Goal-w.done) - played; played > 0 && left > 0 {
			w.batch.Guessed = left
			w.batch.Took = (now - w.began) * time.Duration(played+left) / time.Duration(played)
			return ""
		}
		return "there are too many steps to play them all"
	case w.last == nil:
		return "nothing was planned"
	case w.last.Done:
		return ""
	}
	for _, wait := range w.last.Waits {
		return cmp.Or(wait.Note, string(wait.Reason))
	}
	return "the goal is not reached"
}

// settle takes the deletion and the replacement of recreated pods off the lists of the others.
func (b *Batch) settle() {
	b.Removed = slices.DeleteFunc(b.Removed, func(name string) bool { return slices.Contains(b.Recreated, name) })
	b.Created = b.Created[:max(len(b.Created)-len(b.Recreated), 0)]
}

// String is for the logs of tests.
func (b Batch) String() string {
	return fmt.Sprintf("goal %d: %d in place, %d recreated, %d created, %d removed, worst %d, %s", b.Goal, len(b.InPlace), len(b.Recreated),
		len(b.Created), len(b.Removed), b.Worst, b.Took)
}
