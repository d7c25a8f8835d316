package cluster

import (
	"maps"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
)

// version reads a resourceVersion. They are compared as unsigned integers (cloneset.md 15); what is not one counts as 0,
// which is older than everything.
func version(text string) uint64 {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func versionOf(obj metav1.Object) uint64 { return version(obj.GetResourceVersion()) }

// store is what is known of the objects of one watch. It joins three sources, each keyed by UID:
//
//	seen    what the list and the watch delivered;
//	own     what our writes returned and the watch has not passed yet: an object, or nil for one that is gone;
//	strays  objects outside the labels of the watch that concern the subject all the same.
//
// own wins over seen until the watch has caught up. Every method leaves the view, the join of the three, up to date.
// A store has no lock and does no I/O.
type store struct {
	// selector says which objects the watch delivers.
	selector labels.Selector
	// at is how far the watch has come: every event up to it has been applied.
	at     uint64
	seen   map[types.UID]plan.Object
	own    map[types.UID]write
	strays map[types.UID]plan.Object
	view   map[types.UID]plan.Object
	owned  map[types.UID]map[types.UID]bool
	// named finds an object of the view by namespace and name.
	named map[types.NamespacedName]types.UID
	// changed hears of every change of the view; one of the two is nil for objects that come and go.
	changed func(old, new plan.Object)
}

// write is the trace of one of our writes.
type write struct {
	// obj is what the write returned; nil when the object is gone.
	obj plan.Object
	// at is the version of obj; for an object that is gone the newest version that we knew of it.
	at uint64
}

func newStore(selector labels.Selector, changed func(old, new plan.Object)) *store {
	return &store{
		selector: selector, changed: changed,
		seen: map[types.UID]plan.Object{}, own: map[types.UID]write{}, strays: map[types.UID]plan.Object{},
		view: map[types.UID]plan.Object{}, owned: map[types.UID]map[types.UID]bool{},
		named: map[types.NamespacedName]types.UID{},
	}
}

// replace takes a complete list as of the given version. It returns the objects that the watch had delivered and that
// are no longer in the list. A list older than what is known is ignored: the watch that follows it repeats itself.
func (s *store) replace(list []plan.Object, at uint64) []plan.Object {
	if at < s.at {
		return nil
	}
	old := s.seen
	s.at, s.seen = at, make(map[types.UID]plan.Object, len(list))
	for _, obj := range list {
		s.seen[obj.GetUID()] = obj
	}
	for uid, w := range s.own {
		if w.at <= at && (w.obj != nil || s.seen[uid] == nil) {
			delete(s.own, uid)
		}
	}
	var vanished []plan.Object
	for uid, obj := range old {
		if s.seen[uid] == nil {
			vanished = append(vanished, obj)
			s.settle(uid)
		}
	}
	for uid := range s.seen {
		delete(s.strays, uid)
		s.settle(uid)
	}
	for uid := range maps.Clone(s.view) {
		s.settle(uid)
	}
	return vanished
}

// update takes an added or modified object from the watch.
func (s *store) update(obj plan.Object) {
	uid, at := obj.GetUID(), versionOf(obj)
	if at <= s.at {
		return
	}
	s.at = at
	s.seen[uid] = obj
	delete(s.strays, uid)
	if w, ok := s.own[uid]; ok && w.obj != nil && w.at <= at {
		delete(s.own, uid)
	}
	s.settle(uid)
}

// remove takes an object that the watch calls deleted, with the version of its deletion. It says whether the watch had
// delivered the object before.
func (s *store) remove(obj plan.Object) bool {
	uid, at := obj.GetUID(), versionOf(obj)
	if at <= s.at {
		return false
	}
	s.at = at
	_, known := s.seen[uid]
	delete(s.seen, uid)
	if w, ok := s.own[uid]; ok && (w.obj == nil || w.at <= at) {
		delete(s.own, uid)
	}
	s.settle(uid)
	return known
}

// bookmark says that the watch has come as far as the given version.
func (s *store) bookmark(at uint64) {
	if at <= s.at {
		return
	}
	s.at = at
	for uid, w := range s.own {
		if w.at <= at && (w.obj != nil || s.seen[uid] == nil) {
			delete(s.own, uid)
			s.settle(uid)
		}
	}
}

// wrote takes an object that a write returned, or that was read from the server itself.
func (s *store) wrote(obj plan.Object) {
	uid, at := obj.GetUID(), versionOf(obj)
	if w, ok := s.own[uid]; ok && (w.obj == nil || w.at >= at) {
		return
	}
	stray := s.strays[uid]
	if s.seen[uid] == nil && (stray != nil || !s.selector.Matches(labels.Set(obj.GetLabels()))) {
		if stray == nil || versionOf(stray) < at {
			s.strays[uid] = obj
			s.settle(uid)
		}
		return
	}
	if at <= s.at {
		return
	}
	s.own[uid] = write{obj: obj, at: at}
	s.settle(uid)
}

// gone takes an object that a delete removed at once, or that a read did not find.
func (s *store) gone(uid types.UID) {
	delete(s.strays, uid)
	var at uint64
	if seen := s.seen[uid]; seen != nil {
		at = versionOf(seen)
	}
	at = max(at, s.own[uid].at)
	if s.seen[uid] == nil && at <= s.at {
		delete(s.own, uid)
	} else {
		s.own[uid] = write{at: at}
	}
	s.settle(uid)
}

// forget drops what is known of an object that no watch delivers.
func (s *store) forget(uid types.UID) {
	delete(s.own, uid)
	delete(s.strays, uid)
	s.settle(uid)
}

// settle brings the view of one object up to date and tells of the change.
func (s *store) settle(uid types.UID) {
	old, now := s.view[uid], s.join(uid)
	if old == now {
		return
	}
	if old != nil {
		s.index(old, false)
	}
	if now == nil {
		delete(s.view, uid)
	} else {
		s.view[uid] = now
		s.index(now, true)
	}
	if s.changed != nil {
		s.changed(old, now)
	}
}

func (s *store) join(uid types.UID) plan.Object {
	if w, ok := s.own[uid]; ok {
		return w.obj
	}
	if seen := s.seen[uid]; seen != nil {
		return seen
	}
	return s.strays[uid]
}

// index files an object under its name and its owners; one without any owner under the empty UID.
func (s *store) index(obj plan.Object, add bool) {
	name := types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}
	if add {
		s.named[name] = obj.GetUID()
	} else if s.named[name] == obj.GetUID() {
		delete(s.named, name)
	}
	owners := obj.GetOwnerReferences()
	if len(owners) == 0 {
		owners = []metav1.OwnerReference{{}}
	}
	for _, owner := range owners {
		set := s.owned[owner.UID]
		switch {
		case !add:
			delete(set, obj.GetUID())
			if len(set) == 0 {
				delete(s.owned, owner.UID)
			}
		case set == nil:
			s.owned[owner.UID] = map[types.UID]bool{obj.GetUID(): true}
		default:
			set[obj.GetUID()] = true
		}
	}
}
