package soak

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// patience is how long a driver may go on acting on a spec, or on pods, that have changed meanwhile.
const patience = 10 * time.Second

// limits are the numbers of a CloneSet's spec, worked out by the recorder.
type limits struct {
	replicas, partition, unavailable, surge int
	paused                                  bool
	image                                   string
}

// seen is a pod as the judge sees it.
type seen struct {
	name      string
	active    bool // neither terminating nor gone
	ready     bool // in service: Ready, and no readiness gate against it
	image     string
	specified bool
}

// record is one event of the API server's watch.
type record struct {
	version uint64
	at      time.Time
	set     string
	limits  *limits // of a CloneSet, or
	uid     types.UID
	pod     seen // of a pod
}

// judge replays what happened to one CloneSet.
type judge struct {
	set   string
	pods  map[types.UID]seen
	specs []spec
	// byUser are the pods that a user has deleted, with the time at which it was seen.
	byUser  map[types.UID]bool
	losses  []time.Time
	broken  []string
	updates int
}

type spec struct {
	limits
	since time.Time
}

// judgeAll puts the records in the order in which the API server made them and judges each CloneSet.
func judgeAll(records []record, byUser map[types.UID]bool) (broken []string, updates map[string]int) {
	slices.SortStableFunc(records, func(a, b record) int { return cmp.Compare(a.version, b.version) })
	judges := map[string]*judge{}
	updates = map[string]int{}
	var names []string
	for _, r := range records {
		j := judges[r.set]
		if j == nil {
			j = &judge{set: r.set, pods: map[types.UID]seen{}, byUser: byUser}
			judges[r.set] = j
			names = append(names, r.set)
		}
		j.take(r)
	}
	for _, name := range names {
		broken = append(broken, judges[name].broken...)
		updates[name] = judges[name].updates
	}
	return broken, updates
}

func (j *judge) take(r record) {
	if r.limits != nil {
		j.specs = append(j.specs, spec{*r.limits, r.at})
		return
	}
	before, known := j.pods[r.uid]
	j.pods[r.uid] = r.pod
	if !r.pod.active {
		delete(j.pods, r.uid)
	}
	after := r.pod
	lost := known && before.active && !after.active
	switch {
	case lost && j.byUser[r.uid]:
		j.losses = append(j.losses, r.at)
	case !known && after.active:
		j.created(r)
	case lost && before.ready || known && before.ready && !after.ready:
		j.disrupted(r)
	}
	if known && before.active && after.active && before.image != after.image {
		j.updates++
		j.updated(r)
	}
}

// created: no more pods than replicas and maxSurge.
func (j *judge) created(r record) {
	most := j.loosest(r.at, func(l limits) int { return l.replicas + l.surge })
	if n := j.count(func(s seen) bool { return s.active }); n > most {
		j.accuse(r, "is created: %d pods are there, at most %d may be", n, most)
	}
}

// disrupted: of what a driver takes out of service, enough pods stay in service. What users take away is not its doing.
func (j *judge) disrupted(r record) {
	least := -j.loosest(r.at, func(l limits) int { return l.unavailable - l.replicas })
	excused := 0
	for _, at := range j.losses {
		if r.at.Sub(at) < patience {
			excused++
		}
	}
	if n := j.count(func(s seen) bool { return s.ready }); n < least-excused {
		j.accuse(r, "is taken out of service: %d pods stay, at least %d must (%d deleted by users)", n, least, excused)
	}
}

// updated: nothing moves while paused, and the partition stays at old revisions.
func (j *judge) updated(r record) {
	if paused := -j.loosest(r.at, func(l limits) int {
		if l.paused {
			return -1
		}
		return 0
	}); paused == 1 {
		j.accuse(r, "is updated to %s although the set is paused", r.pod.image)
	}
	least := -j.loosest(r.at, func(l limits) int {
		if l.image != r.pod.image {
			return -l.replicas // an older goal, whose partition the loosest of these says nothing about
		}
		return -l.partition
	})
	lost := 0
	for _, at := range j.losses {
		if r.at.Sub(at) < patience {
			lost++
		}
	}
	if n := j.count(func(s seen) bool { return s.image != r.pod.image && !s.specified }); n < least-lost {
		j.accuse(r, "is updated to %s: %d old pods are left, the partition is %d", r.pod.image, n, least)
	}
}

// loosest is the greatest value among the specs that a driver may act on.
func (j *judge) loosest(at time.Time, value func(limits) int) int {
	last := len(j.specs) - 1
	best := value(j.specs[last].limits)
	for i := last - 1; i >= 0 && at.Sub(j.specs[i+1].since) < patience; i-- {
		best = max(best, value(j.specs[i].limits))
	}
	return best
}

func (j *judge) count(holds func(seen) bool) int {
	n := 0
	for _, s := range j.pods {
		if holds(s) {
			n++
		}
	}
	return n
}

func (j *judge) accuse(r record, format string, args ...any) {
	j.broken = append(j.broken, fmt.Sprintf("version %d: %s of %s ", r.version, r.pod.name, j.set)+fmt.Sprintf(format, args...))
}
