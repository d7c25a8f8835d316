package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
)

// Source is where a Mirror reads from.
type Source interface {
	Get(ctx context.Context, kind schema.GroupKind, namespace, name string) (plan.Object, error)
	List(ctx context.Context, kind schema.GroupKind, scope Scope) ([]plan.Object, string, error)
	Watch(ctx context.Context, kind schema.GroupKind, scope Scope, resourceVersion string) (watch.Interface, error)
	Hub(kind schema.GroupKind, obj plan.Object) (plan.Object, error)
}

// MirrorOptions say what a Mirror shows and whom it tells.
type MirrorOptions struct {
	Kind  schema.GroupKind
	Scope Scope
	// Keep decides about an object that the watch dropped although it may still exist, because its labels left
	// Scope.Labels. It is asked with what the server has now; objects that it keeps stay visible. Nil keeps none.
	Keep func(plan.Object) bool
	// Changed hears of every change with the old and the new object; one of them is nil for objects that come and go. It
	// is called with the mirror locked, so it must be quick and must not call the mirror.
	Changed func(old, new plan.Object)
	// Trouble hears when the watch is interrupted, with the reason, and with nil when it is back. It may be nil.
	Trouble func(error)
}

// Mirror shows the objects of one kind in one scope as the server has them, never older than our own writes.
type Mirror struct {
	source  Source
	options MirrorOptions
	synced  chan struct{}

	mu      sync.RWMutex
	store   *store
	trouble bool
	reads   sync.WaitGroup
	// asking counts the reads that Settled waits for; settled is closed when there are none left.
	asking  int
	settled chan struct{}
}

// NewMirror makes a mirror that is empty until Run has listed the scope.
func NewMirror(source Source, options MirrorOptions) (*Mirror, error) {
	selector, err := labels.Parse(options.Scope.Labels)
	if err != nil {
		return nil, fmt.Errorf("selector %q: %w", options.Scope.Labels, err)
	}
	settled := make(chan struct{})
	close(settled)
	return &Mirror{source: source, options: options, synced: make(chan struct{}), settled: settled, store: newStore(selector, options.Changed)}, nil
}

// Synced is closed when the first list has arrived.
func (m *Mirror) Synced() <-chan struct{} { return m.synced }

// Run keeps the mirror up to date until the context ends, and then returns nil. It returns an error only when the scope
// cannot be read at all: no permission, or no such kind. Later interruptions are retried for ever.
func (m *Mirror) Run(ctx context.Context) error {
	defer m.reads.Wait()
	delay := backoff{}
	for {
		started := time.Now()
		err := m.follow(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if !m.isSynced() && hopeless(err) {
			return fmt.Errorf("read %s%s: %w", m.options.Kind.Kind, inNamespace(m.options.Scope.Namespace), Explain(err))
		}
		if time.Since(started) > maxDelay {
			delay = backoff{}
		}
		if !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
			m.tell(err)
		}
		if !Pause(ctx, delay.next()) {
			return nil
		}
	}
}

// hopeless says that asking again cannot help.
func hopeless(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) || apierrors.IsNotFound(err) || apierrors.IsBadRequest(err)
}

// follow lists and then watches until the watch cannot go on from where it is.
func (m *Mirror) follow(ctx context.Context) error {
	list, at, err := m.source.List(ctx, m.options.Kind, m.options.Scope)
	if err != nil {
		return err
	}
	m.mu.Lock()
	vanished := m.store.replace(list, version(at))
	m.ask(ctx, vanished)
	m.mu.Unlock()
	m.tell(nil)
	if !m.isSynced() {
		close(m.synced)
	}
	for {
		last, err := m.watch(ctx, at)
		if ctx.Err() != nil || err != nil {
			return err
		}
		at = last
	}
}

func (m *Mirror) isSynced() bool {
	select {
	case <-m.synced:
		return true
	default:
		return false
	}
}

// watch applies events until the stream ends, and returns the version to go on from. The end of a stream is no fault;
// servers end them every few minutes.
func (m *Mirror) watch(ctx context.Context, at string) (string, error) {
	stream, err := m.source.Watch(ctx, m.options.Kind, m.options.Scope, at)
	if err != nil {
		return at, err
	}
	defer stream.Stop()
	started, events := time.Now(), 0
	for {
		select {
		case <-ctx.Done():
			return at, ctx.Err()
		case event, open := <-stream.ResultChan():
			if !open {
				if events == 0 && time.Since(started) < time.Second {
					return at, errors.New("the watch ended at once")
				}
				return at, nil
			}
			events++
			if event.Type == watch.Error {
				return at, apierrors.FromObject(event.Object)
			}
			obj, ok := event.Object.(plan.Object)
			if !ok {
				return at, fmt.Errorf("the watch sent %T", event.Object)
			}
			if err := m.apply(ctx, event.Type, obj); err != nil {
				return at, err
			}
			at = obj.GetResourceVersion()
		}
	}
}

func (m *Mirror) apply(ctx context.Context, what watch.EventType, wire plan.Object) error {
	if what == watch.Bookmark {
		m.mu.Lock()
		m.store.bookmark(versionOf(wire))
		strays := make([]plan.Object, 0, len(m.store.strays))
		for _, obj := range m.store.strays {
			strays = append(strays, obj)
		}
		m.mu.Unlock()
		m.reads.Go(func() { m.recheck(ctx, strays) })
		return nil
	}
	obj, err := m.source.Hub(m.options.Kind, wire)
	if err != nil {
		return err
	}
	m.mu.Lock()
	if what != watch.Deleted {
		m.store.update(obj)
		m.mu.Unlock()
		return nil
	}
	if m.store.remove(obj) {
		m.ask(ctx, []plan.Object{obj})
	}
	m.mu.Unlock()
	return nil
}

// ask begins to find out about objects that left the watch. The mirror is locked.
func (m *Mirror) ask(ctx context.Context, list []plan.Object) {
	if len(list) == 0 || m.options.Keep == nil || m.options.Scope.Labels == "" {
		return
	}
	if m.asking++; m.asking == 1 {
		m.settled = make(chan struct{})
	}
	m.reads.Go(func() {
		m.recheck(ctx, list)
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.asking--; m.asking == 0 {
			close(m.settled)
		}
	})
}

// Settled waits until it is known of every object that left the watch whether it still concerns the subject: until then
// such an object is not shown, though it may exist. It returns false when the context ended before.
func (m *Mirror) Settled(ctx context.Context) bool {
	m.mu.RLock()
	settled := m.settled
	m.mu.RUnlock()
	select {
	case <-settled:
		return true
	case <-ctx.Done():
		return false
	}
}

// recheck reads objects that left the watch, and keeps those that still exist and concern the subject. Objects that were
// on their way out are taken as gone. It asks until there is an answer or the context ends.
func (m *Mirror) recheck(ctx context.Context, list []plan.Object) {
	if m.options.Keep == nil || m.options.Scope.Labels == "" {
		return
	}
	for _, obj := range list {
		if obj.GetDeletionTimestamp() != nil {
			m.Gone(obj.GetUID())
			continue
		}
		for delay := (backoff{}); !m.reread(ctx, obj) && Pause(ctx, delay.next()); {
		}
	}
}

// reread says whether the server told what became of an object, or never will.
func (m *Mirror) reread(ctx context.Context, obj plan.Object) bool {
	now, err := m.source.Get(ctx, m.options.Kind, obj.GetNamespace(), obj.GetName())
	switch {
	case err == nil && now.GetUID() == obj.GetUID() && m.options.Keep(now):
		m.Wrote(now)
	case err == nil || apierrors.IsNotFound(err):
		m.Gone(obj.GetUID())
	default:
		return hopeless(err)
	}
	return true
}

// Find looks for objects outside the labels of the watch that concern the subject all the same, such as pods whose labels
// left the selector while nobody was watching. It lists metadata of the whole namespace once.
func (m *Mirror) Find(ctx context.Context, all func(context.Context, schema.GroupKind, string) ([]plan.Object, error)) error {
	if m.options.Keep == nil || m.options.Scope.Labels == "" {
		return nil
	}
	list, err := all(ctx, m.options.Kind, m.options.Scope.Namespace)
	if err != nil {
		return err
	}
	for _, obj := range list {
		if m.options.Keep(obj) && !m.store.selector.Matches(labels.Set(obj.GetLabels())) {
			m.recheck(ctx, []plan.Object{obj})
		}
	}
	return nil
}

// Wrote lays an object that a write returned, or that was read from the server itself, over what the watch delivered.
func (m *Mirror) Wrote(obj plan.Object) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.store.wrote(obj)
}

// Gone lays the absence of an object over what the watch delivered.
func (m *Mirror) Gone(uid types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.store.gone(uid)
}

// Forget drops all that is known of an object, for a mirror that is not Run: there nothing else ends the memory of it.
func (m *Mirror) Forget(uid types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.store.forget(uid)
}

// Shows says whether an object belongs to the kind and the namespace of this mirror.
func (m *Mirror) Shows(kind schema.GroupKind, namespace string) bool {
	return kind == m.options.Kind && (m.options.Scope.Namespace == "" || m.options.Scope.Namespace == namespace)
}

// All lists what the mirror shows, in no order. Nobody may change the objects.
func (m *Mirror) All() []plan.Object {
	m.mu.RLock()
	defer m.mu.RUnlock()
	list := make([]plan.Object, 0, len(m.store.view))
	for _, obj := range m.store.view {
		list = append(list, obj)
	}
	return list
}

// Owned lists the objects with an owner reference to that UID, in no order. The empty UID asks for those without owner.
func (m *Mirror) Owned(owner types.UID) []plan.Object {
	m.mu.RLock()
	defer m.mu.RUnlock()
	list := make([]plan.Object, 0, len(m.store.owned[owner]))
	for uid := range m.store.owned[owner] {
		list = append(list, m.store.view[uid])
	}
	return list
}

// Named finds an object by its name; nil when it is not there.
func (m *Mirror) Named(namespace, name string) plan.Object {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.store.view[m.store.named[types.NamespacedName{Namespace: namespace, Name: name}]]
}

// Get finds an object by its UID; nil when it is not there.
func (m *Mirror) Get(uid types.UID) plan.Object {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.store.view[uid]
}

func (m *Mirror) tell(err error) {
	m.mu.Lock()
	say := (err != nil) != m.trouble
	m.trouble = err != nil
	m.mu.Unlock()
	if say && m.options.Trouble != nil {
		m.options.Trouble(err)
	}
}

func inNamespace(namespace string) string {
	if namespace == "" {
		return " of all namespaces"
	}
	return " of namespace " + namespace
}
