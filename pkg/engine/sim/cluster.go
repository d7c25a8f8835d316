package sim

import (
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
)

// Start is when the virtual clock of every cluster begins.
var Start = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// Cluster is the state of the world. Its zero value is not usable; call New.
type Cluster struct {
	seed   uint64
	now    time.Duration
	rv     int64
	uids   int64
	tables []*table
	exists map[types.UID]bool
	life   lives
	nodes  []Node
	bad    []BadImage
	watch  []func(Write) error
	broken error
}

// Config says what a cluster is made of.
type Config struct {
	// Seed is the only source of chance.
	Seed uint64
	// Kinds are those beside the built-in ones.
	Kinds []Kind
	// Stages is how pods live; nil means that nothing happens to them by itself.
	Stages []Stage
	// Nodes is where pods run.
	Nodes []Node
}

// New makes an empty cluster.
func New(config Config) *Cluster {
	c := &Cluster{seed: config.Seed, nodes: slices.Clone(config.Nodes), exists: map[types.UID]bool{}}
	c.life.stages, c.life.byUID = config.Stages, map[types.UID]*life{}
	for _, k := range append(Builtin(), config.Kinds...) {
		c.tables = append(c.tables, &table{kind: k})
	}
	return c
}

// Now is the virtual time.
func (c *Cluster) Now() time.Time { return Start.Add(c.now) }

// Elapsed is the virtual time since Start.
func (c *Cluster) Elapsed() time.Duration { return c.now }

// stamp is the virtual time as the API stores it, in whole seconds.
func (c *Cluster) stamp() metav1.Time { return metav1.NewTime(c.Now().Truncate(time.Second)) }

func (c *Cluster) table(kind schema.GroupKind) *table {
	for _, t := range c.tables {
		if t.kind.Kind == kind {
			return t
		}
	}
	return nil
}

// List returns the objects of a kind by namespace and name. Nobody may change the list or the objects.
func (c *Cluster) List(kind schema.GroupKind) []plan.Object {
	if t := c.table(kind); t != nil {
		return t.share()
	}
	return nil
}

// Get returns an object, or nil.
func (c *Cluster) Get(kind schema.GroupKind, namespace, name string) plan.Object {
	if t := c.table(kind); t != nil {
		return t.get(namespace, name)
	}
	return nil
}

// Pod returns a pod, or nil.
func (c *Cluster) Pod(namespace, name string) *corev1.Pod {
	pod, _ := c.Get(plan.PodKind, namespace, name).(*corev1.Pod)
	return pod
}

// Who writes beside drivers and people.
const (
	kubelet          = "kubelet"
	garbageCollector = "garbage collector"
)

// Write is one change that took effect.
type Write struct {
	// By names who made it: a driver, a part of the cluster, or somebody else.
	By   string
	Kind schema.GroupKind
	// Before is nil for a creation and After is nil for a removal.
	Before, After plan.Object
	// Action is what a driver asked for; nil for others.
	Action *plan.Action
}

// Observe has f called after every change. Its first error is kept: see Broken.
func (c *Cluster) Observe(f func(Write) error) { c.watch = append(c.watch, f) }

// Broken is the first error of an observer. A cluster goes on after it; whoever plays it should stop.
func (c *Cluster) Broken() error { return c.broken }

func (c *Cluster) tell(w Write) {
	for _, f := range c.watch {
		if err := f(w); err != nil && c.broken == nil {
			c.broken = err
		}
	}
}

// store gives an object its version and keeps it. before is nil for a new one.
func (c *Cluster) store(t *table, before, after plan.Object, by string, action *plan.Action) {
	c.rv++
	after.SetResourceVersion(strconv.FormatInt(c.rv, 10))
	t.put(after, c.now, c.rv)
	c.exists[after.GetUID()] = true
	if pod, ok := after.(*corev1.Pod); ok {
		c.life.look(c, pod)
	}
	c.tell(Write{By: by, Kind: t.kind.Kind, Before: before, After: after, Action: action})
}

// erase removes an object, and what it alone owned.
func (c *Cluster) erase(t *table, obj plan.Object, by string, action *plan.Action) {
	c.rv++
	last := t.kind.Shallow(obj)
	last.SetResourceVersion(strconv.FormatInt(c.rv, 10))
	t.remove(last, c.now, c.rv)
	delete(c.exists, obj.GetUID())
	if pod, ok := obj.(*corev1.Pod); ok {
		c.life.forget(pod.UID)
	}
	c.tell(Write{By: by, Kind: t.kind.Kind, Before: obj, Action: action})
	c.collect(obj.GetUID())
}

// collect deletes what was owned by the given UID and by nobody else that exists.
func (c *Cluster) collect(owner types.UID) {
	for _, t := range c.tables {
		for _, obj := range t.share() {
			owners := obj.GetOwnerReferences()
			if !owns(owners, owner) || c.anyExists(owners) {
				continue
			}
			c.remove(t, obj, garbageCollector, nil)
		}
	}
}

func owns(owners []metav1.OwnerReference, uid types.UID) bool {
	for i := range owners {
		if owners[i].UID == uid {
			return true
		}
	}
	return false
}

func (c *Cluster) anyExists(owners []metav1.OwnerReference) bool {
	for i := range owners {
		if c.exists[owners[i].UID] {
			return true
		}
	}
	return false
}

// chance is a number below n that depends on the seed and on what it is for.
func (c *Cluster) chance(n uint64, what string, salt int64) uint64 {
	if n == 0 {
		return 0
	}
	h := c.seed ^ uint64(salt)*0x9e3779b97f4a7c15
	for i := range len(what) {
		h = (h ^ uint64(what[i])) * 0x100000001b3
	}
	return mix(h) % n
}

// mix spreads the bits of h over the whole word.
func mix(h uint64) uint64 {
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}
