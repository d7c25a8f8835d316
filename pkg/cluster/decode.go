package cluster

import (
	"encoding/json"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	strict "sigs.k8s.io/json"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
)

// Unreadable stands for an object that the server has and that cannot be decoded, such as a CloneSet whose template,
// which has no schema, holds a text where a number belongs. It takes the place of the object, so that one bad object
// neither hides the others nor looks like a deleted one.
type Unreadable struct {
	metav1.PartialObjectMetadata
	// Err says what is wrong with it.
	Err error
}

// DeepCopyObject implements runtime.Object.
func (u *Unreadable) DeepCopyObject() runtime.Object {
	return &Unreadable{PartialObjectMetadata: *u.PartialObjectMetadata.DeepCopy(), Err: u.Err}
}

// custom says that the kind is none of Kubernetes' own.
func (k Kind) custom() bool { return k.Hub != nil }

// hub strips what nobody reads and converts to the planners' version. An object without a type is decoded first.
func (k Kind) hub(obj plan.Object) (plan.Object, error) {
	if wire, ok := obj.(*unstructured.Unstructured); ok {
		raw, err := wire.MarshalJSON()
		if err != nil {
			return nil, fmt.Errorf("decode %s %s: %w", k.Kind, wire.GetName(), err)
		}
		return k.decode(raw)
	}
	obj.SetManagedFields(nil)
	if k.Hub == nil {
		return obj, nil
	}
	hub, err := k.Hub(obj)
	if err != nil {
		return nil, fmt.Errorf("convert %s %s/%s from %s: %w", k.Kind, obj.GetNamespace(), obj.GetName(), k.Version, err)
	}
	return hub, nil
}

// decode reads one object of a custom kind. One whose spec or status does not fit the type becomes an Unreadable.
func (k Kind) decode(raw []byte) (plan.Object, error) {
	obj := k.New()
	fault := strict.UnmarshalCaseSensitivePreserveInts(raw, obj)
	if fault == nil {
		return k.hub(obj)
	}
	bad := &Unreadable{Err: fmt.Errorf("it cannot be read: %w", fault)}
	if err := json.Unmarshal(raw, &bad.PartialObjectMetadata); err != nil {
		return nil, fmt.Errorf("decode %s: %w", k.Kind, err)
	}
	bad.SetManagedFields(nil)
	return bad, nil
}

// answer is the object that the server returned. One that cannot be read is an error here: somebody asked for it.
func (k Kind) answer(result rest.Result) (plan.Object, error) {
	if !k.custom() {
		obj := k.New()
		if err := result.Into(obj); err != nil {
			return nil, err
		}
		return k.hub(obj)
	}
	if err := result.Error(); err != nil { // unlike Raw's own it has the server's words
		return nil, err
	}
	raw, err := result.Raw()
	if err != nil {
		return nil, err
	}
	obj, err := k.decode(raw)
	if err != nil {
		return nil, err
	}
	if bad, ok := obj.(*Unreadable); ok {
		return nil, fmt.Errorf("%s %s: %w", k.Kind, bad.Name, bad.Err)
	}
	return obj, nil
}

// items are the objects of one page of a list.
func (k Kind) items(result rest.Result) ([]plan.Object, metav1.ListInterface, error) {
	if !k.custom() {
		return k.typedItems(result)
	}
	if err := result.Error(); err != nil {
		return nil, nil, err
	}
	raw, err := result.Raw()
	if err != nil {
		return nil, nil, err
	}
	var page struct {
		metav1.ListMeta `json:"metadata"`
		Items           []json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(raw, &page); err != nil {
		return nil, nil, fmt.Errorf("list of %s: %w", k.Kind, err)
	}
	list := make([]plan.Object, 0, len(page.Items))
	for _, item := range page.Items {
		obj, err := k.decode(item)
		if err != nil {
			return nil, nil, err
		}
		list = append(list, obj)
	}
	return list, &page.ListMeta, nil
}

func (k Kind) typedItems(result rest.Result) ([]plan.Object, metav1.ListInterface, error) {
	list := k.NewList()
	if err := result.Into(list); err != nil {
		return nil, nil, err
	}
	var items []plan.Object
	err := meta.EachListItem(list, func(item runtime.Object) error {
		obj, ok := item.(plan.Object)
		if !ok {
			return errors.New("an item has no metadata")
		}
		obj, err := k.hub(obj)
		items = append(items, obj)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	page, err := meta.ListAccessor(list)
	return items, page, err
}
