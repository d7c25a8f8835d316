package clonesetsim_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/cloneset"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/revision"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/sim"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/sim/clonesetsim"
)

// maxRounds is far more than any history needs; the longest have some hundred.
const maxRounds = 1500

// minRounds is how many rounds each history has at least.
const minRounds = 10

// outcome is what a history ended with.
type outcome struct {
	rounds  int
	faulted sim.Counts
	end     string // how many pods run which images
}

// play runs a history and checks it from the first write to the end.
func play(h *history, trace func(string, ...any)) (outcome, error) {
	c := sim.New(sim.Config{Seed: h.seed, Kinds: []sim.Kind{clonesetsim.Kind()}, Stages: append(h.spec.hooks.answers(), sim.PodStages(h.pace)...), Nodes: nodes()})
	k := &checker{c: c, rollback: h.rollback, knows: map[string]*knowledge{}, took: map[types.UID]taken{}, moves: map[types.UID]taken{}, made: map[types.UID]string{}, rollout: h.rollout}
	c.Observe(k.wrote)
	run := &sim.Run{Cluster: c, Interval: h.interval, WriteTime: h.write, Faults: h.faults, Events: h.events(k), Trace: trace}
	k.run = run
	for i, name := range []string{"a", "b"} {
		run.Drivers = append(run.Drivers, k.driver(name, h.planner(uint64(i)), sim.NewView(c, h.lag), run))
	}
	if _, err := c.Create(user, plan.CloneSetKind, h.spec.set()); err != nil {
		return outcome{}, err
	}
	run.Start()
	err := run.Settle(maxRounds)
	if err == nil {
		err = k.fault
	}
	if err == nil {
		err = k.atRest(h)
	}
	if err == nil {
		err = k.resumed(run, h)
	}
	out := outcome{rounds: run.Rounds, faulted: run.Faulted}
	var restarts int32
	out.end, restarts = k.summary()
	if err == nil && len(h.faults) > 0 && h.single() {
		if restarts > 1 {
			return out, fmt.Errorf("a container restarted %d times for one update", restarts)
		}
		if h.seed%4 == 0 {
			err = h.smooth(out.end)
		}
	}
	return out, err
}

// planner is that of the n-th process.
func (h *history) planner(n uint64) *clonesetsim.Planner {
	return &clonesetsim.Planner{Namespace: namespace, Name: setName, Gates: gates(h.rollback), Names: cloneset.Names(h.seed + n<<32),
		TemplateFacts: templateFacts, RevisionFacts: revisionFacts}
}

// remembered holds the facts of the few templates of all histories.
var remembered sync.Map

func templateFacts(t *corev1.PodTemplateSpec) (*revision.Facts, error) {
	var key strings.Builder
	for i := range t.Spec.Containers {
		key.WriteString(t.Spec.Containers[i].Image)
		for _, e := range t.Spec.Containers[i].Env {
			key.WriteString("," + e.Name + "=" + e.Value)
		}
		key.WriteByte(' ')
	}
	return remember("template "+key.String(), func() (*revision.Facts, error) { return revision.FactsOf(t, cloneset.DefaultTemplate) })
}

func revisionFacts(r *appsv1.ControllerRevision) (*revision.Facts, error) {
	return remember(string(r.Data.Raw), func() (*revision.Facts, error) { return revision.FactsOfRevision(r, cloneset.DefaultTemplate) })
}

func remember(key string, work func() (*revision.Facts, error)) (*revision.Facts, error) {
	if known, ok := remembered.Load(key); ok {
		return known.(*revision.Facts), nil
	}
	facts, err := work()
	if err == nil {
		remembered.Store(key, facts)
	}
	return facts, err
}

func (k *checker) driver(name string, p *clonesetsim.Planner, v *sim.View, run *sim.Run) *sim.Driver {
	return &sim.Driver{Name: name, View: v, Forget: p.Forget, Plan: func(v *sim.View, failures []sim.Failure) (*plan.Plan, error) {
		w, ok := p.World(v, failures, true)
		if !ok {
			return &plan.Plan{}, nil
		}
		out, err := cloneset.Decide(w)
		if err != nil {
			return nil, err
		}
		// An error of a driver's Plan would only say that the spec is wrong.
		k.fail(k.planned(name, v, out))
		if run.Rounds%10 == 0 {
			k.fail(k.again(p, v, failures, out, run.Rounds%40 != 0))
		}
		p.Names++
		return &out.Plan, nil
	}}
}

// atRest judges the cluster after everything has come to rest.
func (k *checker) atRest(h *history) error {
	set := k.c.Get(plan.CloneSetKind, namespace, setName).(*v1beta1.CloneSet)
	l := limitsOf(set)
	all := pods(k.c)
	var old, updated, specified, up, asked int
	for _, p := range all {
		if hash(p) == k.last.UpdateHash {
			updated++
		} else {
			old++
		}
		if l.specified(p) {
			specified++
		}
		if l.still && p.Labels[keys.LifecycleStateLabel] == keys.StatePreparingUpdate {
			asked++ // its update goes on after the pause
		}
		if available(p, l.minReady, k.c.Now()) {
			up++
		}
	}
	fault := func(format string, args ...any) error {
		return fmt.Errorf("at rest: %s (%d old, %d updated, %d available, limits %+v)\n%s",
			fmt.Sprintf(format, args...), old, updated, up, l, describe(k.last))
	}
	switch {
	case len(all) != l.replicas:
		return fault("%d pods", len(all))
	case up+asked != l.replicas:
		return fault("%d of them available", up)
	case l.still && l.unavailable == 0 && specified > 0:
		return nil // marked pods cannot go: there is no surge while updates are paused, and nothing may be unavailable
	case specified > 0 || len(l.named) > 0:
		return fault("%d pods are still marked, podsToDelete is %v", specified, l.named)
	case !l.still && updated < l.replicas-l.partition:
		return fault("too few updated")
	case !l.still && h.rollback && set.Status.CurrentRevision != set.Status.UpdateRevision && old != l.partition:
		return fault("old pods differ from the partition")
	case !l.still && h.plain() && set.Status.CurrentRevision != set.Status.UpdateRevision && old != l.partition:
		return fault("old pods differ from the partition, and nothing but updates happened")
	case !l.still && !k.last.Done:
		return fault("the goal holds, but the plan is not done")
	case !k.last.Empty():
		return fault("there is more to write")
	}
	if text := set.Annotations[keys.RunAnnotation]; h.rollout != nil && (!k.ran || text != "") {
		return fault("the update in batches has not ended: %s", text)
	}
	if err := k.claimsAtRest(h, all); err != nil {
		return err
	}
	s := &set.Status
	if int(s.Replicas) != len(all) || int(s.UpdatedReplicas) != updated || int(s.AvailableReplicas) != up ||
		int(s.UpdatedAvailableReplicas) != updated || s.ObservedGeneration != set.Generation {
		return fault("the status does not say so: %+v", *s)
	}
	return nil
}

// claimsAtRest: every pod has its claims, and without reuse there are no others.
func (k *checker) claimsAtRest(h *history, all []*corev1.Pod) error {
	count := 0
	for _, p := range all {
		if missing := k.missingClaim(p); missing != "" {
			return fmt.Errorf("at rest: pod %s has no claim %s", p.Name, missing)
		}
	}
	for _, obj := range k.c.List(plan.ClaimKind) {
		for _, o := range obj.GetOwnerReferences() {
			if o.Kind == plan.CloneSetKind.Kind {
				count++
			}
		}
	}
	if want := len(all) * h.spec.claims; count < want || count > want && !h.spec.reuse {
		return fmt.Errorf("at rest: the set has %d claims, its pods need %d", count, want)
	}
	return nil
}

// plain says that the history has only updates to images never used before, so that it is known how it ends.
func (h *history) plain() bool {
	seen := map[int]bool{1: true}
	for _, s := range h.steps {
		switch s.what {
		case setImage:
			if seen[s.n] {
				return false
			}
			seen[s.n] = true
		case setUnavailable, setSurge, crash, unready:
		default:
			return false
		}
	}
	return !slices.ContainsFunc(h.faults, func(f sim.Fault) bool { return f.Kind == sim.Intrude })
}

// late is when histories of one late update make it: everything before has come to rest, whatever went wrong.
const late = time.Hour

// single says that the history is one late update of pods at rest.
func (h *history) single() bool {
	return len(h.steps) == 1 && h.steps[0].at == late && h.plain()
}

// smooth plays the same history without faults: whatever goes wrong on the way, the end is the same.
func (h *history) smooth(end string) error {
	calm := *h
	calm.faults = nil
	out, err := play(&calm, nil)
	if err != nil {
		return fmt.Errorf("without faults: %w", err)
	}
	if out.end != end {
		return fmt.Errorf("the history ends with %s, without faults it ends with %s", end, out.end)
	}
	return nil
}

// resumed starts a process without any memory and lets it look around at several times: it must find nothing to do.
func (k *checker) resumed(run *sim.Run, h *history) error {
	before := k.c.List(plan.PodKind)
	fresh := h.planner(7)
	for i := 0; i == 0 || run.Rounds < minRounds; i++ {
		if err := run.Until(k.c.Elapsed()+time.Duration(i)*time.Minute, maxRounds); err != nil {
			return err
		}
		out, err := fresh.Plan(sim.NewView(k.c, h.lag), nil)
		if err != nil {
			return err
		}
		run.Rounds++
		if !out.Empty() {
			return fmt.Errorf("a fresh process finds work in a cluster at rest:\n%s", describe(out))
		}
	}
	for i, obj := range k.c.List(plan.PodKind) {
		if obj != before[i] {
			return fmt.Errorf("pod %s changed in a cluster at rest", obj.GetName())
		}
	}
	return nil
}

// summary says how many pods run which images, and the largest restart count.
func (k *checker) summary() (end string, restarts int32) {
	counts := map[string]int{}
	for _, p := range pods(k.c) {
		var images []string
		for i := range p.Status.ContainerStatuses {
			images = append(images, p.Status.ContainerStatuses[i].Image)
			restarts = max(restarts, p.Status.ContainerStatuses[i].RestartCount)
		}
		counts[strings.Join(images, "+")]++
	}
	return strings.TrimPrefix(fmt.Sprint(counts), "map"), restarts
}
