package clustertest

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/cluster"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
)

// API is what both Server and Faulty offer: everything that package cluster needs of a client.
type API interface {
	cluster.Source
	cluster.Writer
	Metadata(ctx context.Context, kind schema.GroupKind, namespace string) ([]plan.Object, error)
}

// Server is an API server in memory. Its methods may be called from several goroutines.
type Server struct {
	// Graceful keeps deleted pods with a deletion timestamp until Remove.
	Graceful bool
	// Now dates creations and deletions; nil means time.Now.
	Now func() time.Time

	mu      sync.Mutex
	version uint64
	objects map[key]plan.Object
	watches []*stream
	log     []change
	writes  int
	watched map[schema.GroupKind]int
}

type key struct {
	kind            schema.GroupKind
	namespace, name string
}

// change is one step in the history that watches replay.
type change struct {
	key      key
	version  uint64
	old, new plan.Object
}

// New makes a server with these objects.
func New(objects ...plan.Object) *Server {
	s := &Server{objects: map[key]plan.Object{}, version: 1, watched: map[schema.GroupKind]int{}}
	for _, obj := range objects {
		s.Put(obj)
	}
	return s
}

// Put stores an object as somebody else would: a new one, or over the one of its name, whose UID it keeps. It returns
// what is stored.
func (s *Server) Put(obj plan.Object) plan.Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	obj = clone(obj)
	k := keyOf(obj)
	if old := s.objects[k]; old != nil {
		obj.SetUID(old.GetUID())
		return clone(s.store(k, obj))
	}
	return clone(s.insert(k, obj))
}

// Edit changes a stored object as somebody else would. It says whether the object was there.
func (s *Server) Edit(kind schema.GroupKind, namespace, name string, edit func(plan.Object)) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := key{kind, namespace, name}
	old := s.objects[k]
	if old == nil {
		return false
	}
	obj := clone(old)
	if edit(obj); !reflect.DeepEqual(old, obj) {
		s.store(k, obj)
	}
	return true
}

// Remove takes an object away at once, as the end of its grace period does. It says whether the object was there.
func (s *Server) Remove(kind schema.GroupKind, namespace, name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := key{kind, namespace, name}
	if s.objects[k] == nil {
		return false
	}
	s.drop(k)
	return true
}

// Objects lists copies of what is stored of a kind, by name.
func (s *Server) Objects(kind schema.GroupKind) []plan.Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.list(kind, cluster.Scope{})
}

// Writes counts the writes that clients sent and that were carried out.
func (s *Server) Writes() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.writes
}

func clone(obj plan.Object) plan.Object { return obj.DeepCopyObject().(plan.Object) }

func (s *Server) now() time.Time {
	if s.Now != nil {
		return s.Now()
	}
	return time.Now()
}

func (s *Server) insert(k key, obj plan.Object) plan.Object {
	obj.SetUID(types.UID(fmt.Sprintf("uid-%d", s.version+1)))
	if created := obj.GetCreationTimestamp(); created.IsZero() {
		obj.SetCreationTimestamp(metav1.NewTime(s.now()))
	}
	return s.store(k, obj)
}

func (s *Server) store(k key, obj plan.Object) plan.Object {
	s.version++
	obj.SetResourceVersion(strconv.FormatUint(s.version, 10))
	old := s.objects[k]
	s.objects[k] = obj
	s.emit(change{key: k, version: s.version, old: old, new: obj})
	return obj
}

func (s *Server) drop(k key) {
	s.version++
	old := s.objects[k]
	delete(s.objects, k)
	s.emit(change{key: k, version: s.version, old: old})
}

func (s *Server) emit(c change) {
	s.log = append(s.log, c)
	for _, w := range s.watches {
		w.send(c)
	}
}

func (s *Server) list(kind schema.GroupKind, scope cluster.Scope) []plan.Object {
	in := filter(kind, scope)
	var list []plan.Object
	for k, obj := range s.objects {
		if in(k, obj) {
			list = append(list, clone(obj))
		}
	}
	slices.SortFunc(list, func(a, b plan.Object) int {
		if a.GetName() < b.GetName() {
			return -1
		}
		return 1
	})
	return list
}

// filter is the server's side of a scope. Of field selectors it knows metadata.name.
func filter(kind schema.GroupKind, scope cluster.Scope) func(key, plan.Object) bool {
	byLabel, err := labels.Parse(scope.Labels)
	if err != nil {
		byLabel = labels.Nothing()
	}
	byField, err := fields.ParseSelector(scope.Fields)
	if err != nil {
		byField = fields.Nothing()
	}
	return func(k key, obj plan.Object) bool {
		return obj != nil && k.kind == kind && (scope.Namespace == "" || scope.Namespace == k.namespace) &&
			byLabel.Matches(labels.Set(obj.GetLabels())) && byField.Matches(fields.Set{"metadata.name": k.name})
	}
}

// Get implements cluster.Source.
func (s *Server) Get(_ context.Context, kind schema.GroupKind, namespace, name string) (plan.Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if obj := s.objects[key{kind, namespace, name}]; obj != nil {
		return clone(obj), nil
	}
	return nil, errors.NewNotFound(resource(kind), name)
}

// List implements cluster.Source.
func (s *Server) List(_ context.Context, kind schema.GroupKind, scope cluster.Scope) ([]plan.Object, string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.list(kind, scope), strconv.FormatUint(s.version, 10), nil
}

// Metadata lists all objects of a namespace; it does not leave out the rest as a real server does.
func (s *Server) Metadata(ctx context.Context, kind schema.GroupKind, namespace string) ([]plan.Object, error) {
	list, _, err := s.List(ctx, kind, cluster.Scope{Namespace: namespace})
	return list, err
}

// Watch implements cluster.Source.
func (s *Server) Watch(ctx context.Context, kind schema.GroupKind, scope cluster.Scope, from string) (watch.Interface, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	since, err := strconv.ParseUint(from, 10, 64)
	if err != nil {
		return nil, errors.NewBadRequest("resourceVersion " + from)
	}
	w := newStream(filter(kind, scope))
	for _, c := range s.log {
		if c.version > since {
			w.send(c)
		}
	}
	s.watches = append(s.watches, w)
	s.watched[kind]++
	context.AfterFunc(ctx, w.Stop)
	return w, nil
}

// Watched is how many watches of a kind were asked for.
func (s *Server) Watched(kind schema.GroupKind) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.watched[kind]
}

// Hub implements cluster.Source: objects are stored in the planners' version.
func (s *Server) Hub(_ schema.GroupKind, obj plan.Object) (plan.Object, error) { return obj, nil }

// Bookmark tells all watches how far they are.
func (s *Server) Bookmark() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.watches {
		w.mark(s.version)
	}
}

// EndWatches closes all watches, as a server does now and then. With expired, clients that go on from an old version are
// told to list again.
func (s *Server) EndWatches(expired bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.watches {
		if expired {
			w.fail(errors.NewResourceExpired("too old"))
		}
		w.end()
	}
	s.watches = nil
}

func resource(kind schema.GroupKind) schema.GroupResource {
	return schema.GroupResource{Group: kind.Group, Resource: kind.Kind}
}
