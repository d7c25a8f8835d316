package sim

import (
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
)

// View is what a client sees of the cluster: the events of each kind after a delay, or none at all while a watch is lost,
// and over them what its own writes returned. It begins with a fresh list of everything.
type View struct {
	c *Cluster
	// Lag is how old events are when they are seen.
	Lag   time.Duration
	kinds []seen
	// own holds what own writes and own reads returned, until the watch has come that far.
	own []shadow
}

// seen is what watches delivered of one kind.
type seen struct {
	table *table
	items []plan.Object
	// aliased says that items belong to the table.
	aliased bool
	// events is how many of the table's events were applied.
	events int
	// rv is the version up to which the kind was seen.
	rv   int64
	lost bool
}

// shadow covers an object, or says that it is gone.
type shadow struct {
	uid types.UID
	obj plan.Object
	rv  int64
	at  *table
}

// NewView lists the cluster.
func NewView(c *Cluster, lag time.Duration) *View {
	v := &View{c: c, Lag: lag, kinds: make([]seen, len(c.tables))}
	for i, t := range c.tables {
		v.kinds[i] = seen{table: t, items: t.share(), aliased: true, events: len(t.log), rv: c.rv}
	}
	return v
}

// Relist reads every kind anew and ends lost watches.
func (v *View) Relist() {
	*v = *NewView(v.c, v.Lag)
}

// Lose stops the events of a kind until Recover.
func (v *View) Lose(kind schema.GroupKind) {
	if k := v.kind(kind); k != nil {
		k.lost = true
	}
}

// Recover ends all lost watches: what was missed is listed. It says whether there was one.
func (v *View) Recover() bool {
	any := false
	for i := range v.kinds {
		if k := &v.kinds[i]; k.lost {
			*k = seen{table: k.table, items: k.table.share(), aliased: true, events: len(k.table.log), rv: v.c.rv}
			any = true
		}
	}
	v.tidy()
	return any
}

func (v *View) kind(kind schema.GroupKind) *seen {
	for i := range v.kinds {
		if v.kinds[i].table.kind.Kind == kind {
			return &v.kinds[i]
		}
	}
	return nil
}

// Sync takes the events that are due and says whether there were any.
func (v *View) Sync() bool {
	changed := false
	for i := range v.kinds {
		if k := &v.kinds[i]; !k.lost && k.take(v.c.now-v.Lag) {
			changed = true
		}
	}
	if changed {
		v.tidy()
	}
	return changed
}

// take applies the events up to a time.
func (k *seen) take(until time.Duration) bool {
	log := k.table.log
	from := k.events
	for k.events < len(log) && log[k.events].at <= until {
		k.events++
	}
	if k.events == from {
		return false
	}
	k.rv = log[k.events-1].rv
	if k.events == len(log) {
		k.items, k.aliased = k.table.share(), true
		return true
	}
	if k.aliased {
		k.items, k.aliased = append(make([]plan.Object, 0, len(k.items)+4), k.items...), false
	}
	for _, e := range log[from:k.events] {
		if e.gone {
			k.items = drop(k.items, e.obj)
		} else {
			k.items = insert(k.items, e.obj)
		}
	}
	return true
}

// Next is when the next event is due; false if none is under way.
func (v *View) Next() (time.Duration, bool) {
	next, any := time.Duration(0), false
	for i := range v.kinds {
		k := &v.kinds[i]
		if k.lost || k.events == len(k.table.log) {
			continue
		}
		if at := k.table.log[k.events].at + v.Lag; !any || at < next {
			next, any = at, true
		}
	}
	return next, any
}

// Wrote lays what a write returned over the view.
func (v *View) Wrote(kind schema.GroupKind, obj plan.Object) {
	rv, _ := strconv.ParseInt(obj.GetResourceVersion(), 10, 64)
	v.cover(kind, shadow{uid: obj.GetUID(), obj: obj, rv: rv})
}

// Gone lays the absence of an object over the view.
func (v *View) Gone(kind schema.GroupKind, uid types.UID) {
	v.cover(kind, shadow{uid: uid, rv: v.c.rv})
}

func (v *View) cover(kind schema.GroupKind, s shadow) {
	k := v.kind(kind)
	if k == nil || s.uid == "" {
		return
	}
	s.at = k.table
	v.own = slices.DeleteFunc(v.own, func(o shadow) bool { return o.uid == s.uid })
	if k.rv < s.rv {
		v.own = append(v.own, s)
	}
}

// Read looks at one object on the server, for a write of unknown outcome or a conflict.
func (v *View) Read(on plan.Ref) {
	obj := v.c.Get(on.Kind, on.Namespace, on.Name)
	if on.UID != "" && (obj == nil || obj.GetUID() != on.UID) {
		v.Gone(on.Kind, on.UID)
	}
	if obj != nil {
		v.Wrote(on.Kind, obj)
	}
}

// tidy drops shadows that the watch has caught up with.
func (v *View) tidy() {
	v.own = slices.DeleteFunc(v.own, func(s shadow) bool { return v.kind(s.at.kind.Kind).rv >= s.rv })
}

// List returns the objects of a kind as the client sees them, by namespace and name. Nobody may change it.
func (v *View) List(kind schema.GroupKind) []plan.Object {
	k := v.kind(kind)
	if k == nil {
		return nil
	}
	items, copied := k.items, false
	for _, s := range v.own {
		if s.at != k.table {
			continue
		}
		if !copied {
			items, copied = append(make([]plan.Object, 0, len(items)+len(v.own)), items...), true
		}
		if i := slices.IndexFunc(items, func(o plan.Object) bool { return o.GetUID() == s.uid }); i >= 0 {
			items = slices.Delete(items, i, i+1)
		}
		if s.obj != nil {
			items = insert(items, s.obj)
		}
	}
	return items
}

// Get returns one object as the client sees it, or nil.
func (v *View) Get(kind schema.GroupKind, namespace, name string) plan.Object {
	items := v.List(kind)
	if i, ok := search(items, namespace, name); ok {
		return items[i]
	}
	return nil
}

// Now is the virtual time.
func (v *View) Now() time.Time { return v.c.Now() }

// Cluster is what the view looks at, for what is not behind a watch.
func (v *View) Cluster() *Cluster { return v.c }
