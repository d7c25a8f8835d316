package clustertest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strconv"

	jsonpatch "github.com/evanphx/json-patch/v5"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/cluster"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
)

// keyOf finds the kind of an object by its Go type.
func keyOf(obj plan.Object) key {
	k := key{namespace: obj.GetNamespace(), name: obj.GetName()}
	switch obj.(type) {
	case *corev1.Pod:
		k.kind = plan.PodKind
	case *corev1.Node:
		k.kind = cluster.NodeKind
	case *corev1.PersistentVolumeClaim:
		k.kind = plan.ClaimKind
	case *corev1.ConfigMap:
		k.kind = plan.ConfigMapKind
	case *corev1.Event:
		k.kind = schema.GroupKind{Kind: "Event"}
	case *appsv1.ControllerRevision:
		k.kind = plan.ControllerRevisionKind
	case *coordinationv1.Lease:
		k.kind = cluster.LeaseKind
	case *v1beta1.CloneSet:
		k.kind = plan.CloneSetKind
	}
	return k
}

// Create implements cluster.Writer.
func (s *Server) Create(_ context.Context, _ schema.GroupKind, obj plan.Object, dry bool) (plan.Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	obj = clone(obj)
	if obj.GetName() == "" && obj.GetGenerateName() != "" {
		obj.SetName(obj.GetGenerateName() + strconv.FormatUint(rand.Uint64N(1<<32), 36))
	}
	k := keyOf(obj)
	if s.objects[k] != nil {
		return nil, errors.NewAlreadyExists(resource(k.kind), k.name)
	}
	if obj.GetResourceVersion() != "" {
		return nil, errors.NewBadRequest("resourceVersion should not be set on objects to be created")
	}
	if dry {
		return obj, nil
	}
	s.writes++
	return clone(s.insert(k, obj)), nil
}

// Patch implements cluster.Writer. A patch of the status subresource changes status and, for pods, labels and
// annotations; a patch of the object itself leaves the status alone.
func (s *Server) Patch(_ context.Context, ref plan.Ref, subresource string, as types.PatchType, body []byte, dry bool) (plan.Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := key{ref.Kind, ref.Namespace, ref.Name}
	old := s.objects[k]
	if old == nil {
		return nil, errors.NewNotFound(resource(ref.Kind), ref.Name)
	}
	obj, err := patched(old, as, body)
	if err != nil {
		return nil, err
	}
	if obj.GetUID() != old.GetUID() {
		return nil, errors.NewInvalid(ref.Kind, ref.Name, field.ErrorList{
			field.Invalid(field.NewPath("metadata", "uid"), obj.GetUID(), "field is immutable"),
		})
	}
	if obj.GetResourceVersion() != old.GetResourceVersion() {
		return nil, errors.NewConflict(resource(ref.Kind), ref.Name, fmt.Errorf("precondition failed"))
	}
	if err := keepRest(old, obj, subresource); err != nil {
		return nil, err
	}
	if dry {
		return obj, nil
	}
	s.writes++
	if reflect.DeepEqual(old, obj) {
		return clone(old), nil
	}
	if !reflect.DeepEqual(part(old, "Spec"), part(obj, "Spec")) {
		obj.SetGeneration(old.GetGeneration() + 1)
	}
	return clone(s.store(k, obj)), nil
}

// keepRest undoes what a patch of this subresource does not reach.
func keepRest(old, obj plan.Object, subresource string) error {
	before := clone(old)
	switch subresource {
	case plan.StatusSubresource:
		copyField(before, obj, "Spec")
		if _, ok := obj.(*corev1.Pod); !ok {
			copyField(before, obj, "ObjectMeta")
		}
	case "", plan.ResizeSubresource:
		copyField(before, obj, "Status")
	default:
		return errors.NewNotFound(schema.GroupResource{Resource: subresource}, obj.GetName())
	}
	return nil
}

func part(obj plan.Object, name string) any {
	if f := reflect.ValueOf(obj).Elem().FieldByName(name); f.IsValid() {
		return f.Interface()
	}
	return nil
}

func copyField(from, to plan.Object, name string) {
	if f := reflect.ValueOf(from).Elem().FieldByName(name); f.IsValid() {
		reflect.ValueOf(to).Elem().FieldByName(name).Set(f)
	}
}

func patched(old plan.Object, as types.PatchType, body []byte) (plan.Object, error) {
	raw, err := json.Marshal(old)
	if err != nil {
		return nil, err
	}
	invalid := func(err error) error {
		return errors.NewGenericServerResponse(422, "patch", schema.GroupResource{}, old.GetName(), err.Error(), 0, false)
	}
	switch as {
	case types.MergePatchType:
		raw, err = jsonpatch.MergePatch(raw, body)
	case types.StrategicMergePatchType:
		raw, err = strategicpatch.StrategicMergePatch(raw, body, old)
	case types.JSONPatchType:
		var operations jsonpatch.Patch
		if operations, err = jsonpatch.DecodePatch(body); err == nil {
			raw, err = operations.Apply(raw)
		}
	default:
		return nil, errors.NewBadRequest("patch type " + string(as))
	}
	if err != nil {
		return nil, invalid(err)
	}
	obj := reflect.New(reflect.TypeOf(old).Elem()).Interface().(plan.Object)
	decoder := json.NewDecoder(bytes.NewReader(raw))
	if err := decoder.Decode(obj); err != nil {
		return nil, invalid(err)
	}
	return obj, nil
}

// Delete implements cluster.Writer.
func (s *Server) Delete(_ context.Context, ref plan.Ref, resourceVersion string, dry bool) (plan.Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := key{ref.Kind, ref.Namespace, ref.Name}
	old := s.objects[k]
	if old == nil {
		return nil, errors.NewNotFound(resource(ref.Kind), ref.Name)
	}
	if old.GetUID() != ref.UID || resourceVersion != "" && old.GetResourceVersion() != resourceVersion {
		return nil, errors.NewConflict(resource(ref.Kind), ref.Name, fmt.Errorf("precondition failed"))
	}
	if dry {
		return nil, nil
	}
	s.writes++
	if _, pod := old.(*corev1.Pod); !pod || !s.Graceful {
		s.drop(k)
		return nil, nil
	}
	if old.GetDeletionTimestamp() != nil {
		return clone(old), nil
	}
	obj, now := clone(old), metav1.NewTime(s.now())
	obj.SetDeletionTimestamp(&now)
	return clone(s.store(k, obj)), nil
}

// Evict implements cluster.Writer; no budget ever refuses.
func (s *Server) Evict(ctx context.Context, ref plan.Ref, dry bool) error {
	_, err := s.Delete(ctx, ref, "", dry)
	return err
}
