package sim

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
)

// table holds the objects of one kind, sorted by namespace and name, and everything that ever happened to them.
type table struct {
	kind  Kind
	items []plan.Object
	// shared says that somebody holds items, so the next change must make a copy.
	shared bool
	log    []event
}

// event is one change as a watch delivers it.
type event struct {
	at time.Duration
	// obj is the object after the change, or its last state if it is gone.
	obj  plan.Object
	gone bool
	rv   int64
}

func search(items []plan.Object, namespace, name string) (int, bool) {
	return slices.BinarySearchFunc(items, name, func(o plan.Object, name string) int {
		return cmp.Or(strings.Compare(o.GetNamespace(), namespace), strings.Compare(o.GetName(), name))
	})
}

func (t *table) get(namespace, name string) plan.Object {
	if i, ok := search(t.items, namespace, name); ok {
		return t.items[i]
	}
	return nil
}

// share gives out the present list; nobody may change it.
func (t *table) share() []plan.Object {
	t.shared = true
	return t.items
}

func (t *table) unshare() {
	if t.shared {
		t.items, t.shared = append(make([]plan.Object, 0, len(t.items)+1), t.items...), false
	}
}

// put stores a new or changed object.
func (t *table) put(obj plan.Object, at time.Duration, rv int64) {
	t.unshare()
	t.items = insert(t.items, obj)
	t.log = append(t.log, event{at: at, obj: obj, rv: rv})
}

// remove drops an object.
func (t *table) remove(obj plan.Object, at time.Duration, rv int64) {
	t.unshare()
	t.items = drop(t.items, obj)
	t.log = append(t.log, event{at: at, obj: obj, gone: true, rv: rv})
}

// insert puts obj in its place, over an object of the same name.
func insert(items []plan.Object, obj plan.Object) []plan.Object {
	i, found := search(items, obj.GetNamespace(), obj.GetName())
	if found {
		items[i] = obj
		return items
	}
	return slices.Insert(items, i, obj)
}

// drop removes the object of obj's name.
func drop(items []plan.Object, obj plan.Object) []plan.Object {
	if i, found := search(items, obj.GetNamespace(), obj.GetName()); found {
		return slices.Delete(items, i, i+1)
	}
	return items
}
