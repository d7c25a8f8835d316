package reconcile

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/cluster"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
)

// sight is what a loop sees: the subjects of one kind and their parts.
type sight struct {
	api      API
	kind     *Kind
	subjects *cluster.Mirror
	parts    map[schema.GroupKind]*cluster.Mirror
	mirrors  cluster.Mirrors
	nodes    nodes
	// watched are the mirrors that are run.
	watched cluster.Mirrors
	// also hears of each change of a kind of parts, with its mirror locked. It is set before the mirrors run.
	also map[schema.GroupKind]func(old, now plan.Object)
	// narrow says that the mirrors show one subject and what its selector matches.
	narrow bool
	// found is closed when parts outside the selector have been looked for.
	found chan struct{}
}

// sightOf sees one subject, object, and what its selector matches.
func (s *Session) sightOf(t Target, object plan.Object, changed func(types.UID), trouble func(error)) (*sight, error) {
	v := &sight{api: s.API, kind: t.Kind, parts: map[schema.GroupKind]*cluster.Mirror{}, narrow: true, found: make(chan struct{})}
	uid := object.GetUID()
	all := func(plan.Object, plan.Object) { changed(uid) }
	err := v.add(&v.subjects, cluster.MirrorOptions{
		Kind: t.GroupKind, Changed: all, Trouble: trouble,
		Scope: cluster.Scope{Namespace: t.Namespace, Fields: "metadata.name=" + t.Name},
	})
	if err != nil {
		return nil, err
	}
	for _, part := range t.Parts {
		if part.Needed != nil && !part.Needed(object) {
			continue
		}
		if part.Unwatched {
			if err := v.shelve(part.GroupKind, t.Namespace); err != nil {
				return nil, err
			}
			continue
		}
		selector, err := part.Selector(object)
		if err != nil {
			return nil, err
		}
		var m *cluster.Mirror
		err = v.add(&m, cluster.MirrorOptions{
			Kind: part.GroupKind, Changed: func(old, now plan.Object) { all(old, now); v.hear(part.GroupKind, old, now) }, Trouble: trouble,
			Scope: cluster.Scope{Namespace: t.Namespace, Labels: selector},
			Keep:  func(obj plan.Object) bool { return slices.Contains(ownerOf(nil, obj), uid) },
		})
		if err != nil {
			return nil, err
		}
		v.parts[part.GroupKind] = m
	}
	return v, nil
}

// pool shares the mirrors of a loop for all: two kinds may look at the same objects, as parts of the one and as the other.
type pool map[schema.GroupKind]*shared

// shared is a mirror with everybody who hears of its changes.
type shared struct {
	mirror *cluster.Mirror
	hear   []func(old, now plan.Object)
}

// mirror gives the mirror of all objects of a kind in a namespace, which the sight runs if it is new. Nothing may run before
// all sights have theirs.
func (p pool) mirror(v *sight, kind schema.GroupKind, namespace string, changed func(old, now plan.Object), trouble func(error)) (*cluster.Mirror, error) {
	if there := p[kind]; there != nil {
		there.hear = append(there.hear, changed)
		v.mirrors = append(v.mirrors, there.mirror)
		return there.mirror, nil
	}
	s := &shared{hear: []func(old, now plan.Object){changed}}
	p[kind] = s
	err := v.add(&s.mirror, cluster.MirrorOptions{Kind: kind, Scope: cluster.Scope{Namespace: namespace}, Trouble: trouble, Changed: func(old, now plan.Object) {
		for _, hear := range s.hear {
			hear(old, now)
		}
	}})
	return s.mirror, err
}

// sightOfAll sees all subjects of a kind in a namespace, or everywhere when it is empty, with mirrors of the pool.
func (s *Session) sightOfAll(kind *Kind, namespace string, mirrors pool, changed func(types.UID), trouble func(error)) (*sight, error) {
	v := &sight{api: s.API, kind: kind, parts: map[schema.GroupKind]*cluster.Mirror{}}
	var err error
	v.subjects, err = mirrors.mirror(v, kind.GroupKind, namespace, func(old, now plan.Object) {
		gone := now == nil
		if gone {
			now = old
		}
		if kind.Concerns != nil && !kind.Concerns(now) {
			return
		}
		changed(now.GetUID())
		if gone {
			v.forget(now.GetUID())
		}
	}, trouble)
	for _, part := range kind.Parts {
		if err != nil {
			return nil, err
		}
		if part.Unwatched {
			if err = v.shelve(part.GroupKind, namespace); err != nil {
				return nil, err
			}
			continue
		}
		v.parts[part.GroupKind], err = mirrors.mirror(v, part.GroupKind, namespace, func(old, now plan.Object) {
			for _, owner := range ownerOf(old, now) {
				changed(owner)
			}
		}, trouble)
	}
	return v, err
}

func (v *sight) add(to **cluster.Mirror, options cluster.MirrorOptions) error {
	m, err := cluster.NewMirror(v.api, options)
	if err != nil {
		return err
	}
	*to = m
	v.mirrors, v.watched = append(v.mirrors, m), append(v.watched, m)
	return nil
}

func (v *sight) hear(kind schema.GroupKind, old, now plan.Object) {
	if also := v.also[kind]; also != nil {
		also(old, now)
	}
}

// shelve makes a place for objects that are not watched.
func (v *sight) shelve(kind schema.GroupKind, namespace string) error {
	m, err := cluster.NewMirror(v.api, cluster.MirrorOptions{Kind: kind, Scope: cluster.Scope{Namespace: namespace}})
	if err != nil {
		return err
	}
	v.parts[kind], v.mirrors = m, append(v.mirrors, m)
	return nil
}

// forget drops the parts of a subject that is gone which no watch would drop.
func (v *sight) forget(uid types.UID) {
	for _, part := range v.kind.Parts {
		if !part.Unwatched {
			continue
		}
		for _, obj := range v.parts[part.GroupKind].Owned(uid) {
			v.parts[part.GroupKind].Forget(obj.GetUID())
		}
	}
}

// run keeps the mirrors up to date until the context ends or one of them cannot be read.
func (v *sight) run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	var first error
	var once sync.Once
	for _, m := range v.watched {
		wg.Go(func() {
			if err := m.Run(ctx); err != nil {
				once.Do(func() { first = err })
				cancel(err)
			}
		})
	}
	if v.narrow {
		wg.Go(func() { v.find(ctx) })
	}
	wg.Wait()
	return first
}

// findAgain is the time between two looks for parts outside the selector, as long as the server does not answer.
const findAgain = time.Second

// find looks for parts that left the selector before our time.
func (v *sight) find(ctx context.Context) {
	var wg sync.WaitGroup
	for _, m := range v.parts {
		wg.Go(func() {
			for m.Find(ctx, v.api.Metadata) != nil && cluster.Pause(ctx, findAgain) {
			}
		})
	}
	wg.Wait()
	close(v.found)
}

// settled waits until what is seen is complete; false when the context ended before. Pods outside the selector matter only
// to their claims, which would be taken for nobody's: without claims they may turn up later.
func (v *sight) settled(ctx context.Context) bool {
	if v.narrow && v.parts[plan.ClaimKind] != nil {
		select {
		case <-v.found:
		case <-ctx.Done():
			return false
		}
	}
	return !slices.ContainsFunc(v.mirrors, func(m *cluster.Mirror) bool { return !m.Settled(ctx) })
}

// catchUp reads a subject's parts from the server itself, because a Lease that its holder lets go of may be seen before the
// last of the holder's writes. It returns what has to be read singly too: the subject, and parts that are seen but were
// not listed.
func (v *sight) catchUp(ctx context.Context, uid types.UID) ([]plan.Ref, error) {
	subject := v.subjects.Get(uid)
	if subject == nil {
		return nil, nil
	}
	refOf := func(kind schema.GroupKind, obj plan.Object) plan.Ref {
		return plan.Ref{Kind: kind, Namespace: obj.GetNamespace(), Name: obj.GetName(), UID: obj.GetUID()}
	}
	doubts := []plan.Ref{refOf(v.kind.GroupKind, subject)}
	for _, part := range v.kind.Parts {
		m := v.parts[part.GroupKind]
		if m == nil || part.Unwatched || part.Needed != nil && !part.Needed(subject) {
			continue
		}
		selector, err := part.Selector(subject)
		if err != nil {
			return nil, nil // the planner finds the words for it
		}
		seen, listed := m.Owned(uid), map[types.UID]bool{}
		list, _, err := v.api.List(ctx, part.GroupKind, cluster.Scope{Namespace: subject.GetNamespace(), Labels: selector})
		if err != nil {
			return nil, err
		}
		for _, obj := range list {
			listed[obj.GetUID()] = true
			v.mirrors.Wrote(part.GroupKind, obj)
		}
		for _, obj := range seen {
			if !listed[obj.GetUID()] {
				doubts = append(doubts, refOf(part.GroupKind, obj))
			}
		}
	}
	return doubts, nil
}

// synced waits until everything has been listed; false when the context ended before.
func (v *sight) synced(ctx context.Context) bool {
	for _, m := range v.watched {
		select {
		case <-m.Synced():
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// of lists the parts of a subject by name.
func (v *sight) of(subject plan.Object) (map[schema.GroupKind][]plan.Object, error) {
	parts := map[schema.GroupKind][]plan.Object{}
	for _, part := range v.kind.Parts {
		m := v.parts[part.GroupKind]
		if m == nil {
			continue
		}
		list := m.Owned(subject.GetUID())
		if part.Name != nil {
			list = nil
			if obj := m.Named(subject.GetNamespace(), part.Name(subject)); obj != nil {
				list = []plan.Object{obj}
			}
		}
		if part.Ownerless {
			more, err := v.ownerless(part, subject)
			if err != nil {
				return nil, err
			}
			list = append(list, more...)
		}
		slices.SortFunc(list, func(a, b plan.Object) int { return strings.Compare(a.GetName(), b.GetName()) })
		parts[part.GroupKind] = list
	}
	return parts, nil
}

func (v *sight) ownerless(part Part, subject plan.Object) ([]plan.Object, error) {
	list := v.parts[part.GroupKind].Owned("")
	if len(list) == 0 {
		return nil, nil
	}
	text, err := part.Selector(subject)
	if err != nil {
		return nil, err
	}
	selector, err := labels.Parse(text)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(list, func(obj plan.Object) bool {
		return obj.GetNamespace() != subject.GetNamespace() || !selector.Matches(labels.Set(obj.GetLabels()))
	}), nil
}
