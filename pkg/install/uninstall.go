package install

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/cli-utils/pkg/object"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
)

// Removal says what an uninstallation does with the kinds and their objects.
type Removal struct {
	Namespace string
	// KeepCRDs takes the definitions back to the form without a webhook and leaves the objects alone.
	KeepCRDs bool
	// DeleteObjects deletes the objects of all kinds and what they own, everywhere.
	DeleteObjects bool
	// Wait is how long each step may take.
	Wait time.Duration
	Now  time.Time
}

// Removed is what an uninstallation did.
type Removed struct {
	// Objects are what was deleted, in that order, as kind/name.
	Objects []string
	// Deleted counts the objects of our kinds that were deleted.
	Deleted int
	Moved   Moved
	// Kept is the reason why the namespace stays; empty when it is gone or was not there.
	Kept string
	// Waiting are the pods, as namespace/name, that have a part of their launch order before them, which nobody gives them
	// any more.
	Waiting []string
}

// InUseError says that there are objects of the kinds that would go.
type InUseError struct {
	// Counts are numbers of objects by plural name.
	Counts map[string]int
}

// Error implements error.
func (e *InUseError) Error() string {
	var parts []string
	for name, n := range e.Counts {
		parts = append(parts, fmt.Sprintf("%d %s", n, name))
	}
	slices.Sort(parts)
	return "there are still " + strings.Join(parts, ", ") + ", whose pods would go with the CRDs"
}

// Uninstall removes the pair. The webhook configurations go first, so that at every moment pods can be created; with
// KeepCRDs the stored objects are taken back to v1alpha1 before that, while the webhook still converts.
func (t *Target) Uninstall(ctx context.Context, r Removal) (*Removed, error) {
	present, err := t.Look(ctx, r.Now)
	if err != nil {
		return nil, err
	}
	if there := present.Namespace(); there != "" && present.Foreign == "" {
		r.Namespace = there
	}
	done := &Removed{}
	if err := t.mayRemove(ctx, present, r); err != nil {
		return nil, err
	}
	if r.KeepCRDs {
		if done.Moved, err = t.back(ctx, present, r.Namespace); err != nil {
			return done, err
		}
	}
	known, err := t.installed(ctx, r.Namespace)
	if err != nil {
		return done, err
	}
	for _, step := range steps(known, present, r) {
		if step.before != nil {
			if done.Deleted, err = step.before(t, ctx); err != nil {
				return done, err
			}
		}
		for _, id := range step.ids {
			if err := t.remove(ctx, id, r.Wait, done); err != nil {
				return done, err
			}
		}
	}
	if r.KeepCRDs { // pods that the manager made meanwhile
		again, err := t.refer(ctx, present.groups(), alpha)
		done.Moved.References += again
		if err != nil {
			return done, err
		}
	}
	if err := t.tidy(ctx, r, done); err != nil {
		return done, err
	}
	done.Waiting, err = t.waiting(ctx)
	return done, err
}

// mayRemove refuses what would take something away that was not named.
func (t *Target) mayRemove(ctx context.Context, p *Present, r Removal) error {
	if p.Foreign != "" {
		return fmt.Errorf("%w (found %s): remove it with what it was installed with", ErrForeign, p.Foreign)
	}
	if r.KeepCRDs || r.DeleteObjects {
		return nil
	}
	counts := map[string]int{}
	for _, crd := range p.CRDs {
		n, err := t.count(ctx, crd)
		if err != nil {
			return err
		}
		if n > 0 {
			counts[crd.Name] = n
		}
	}
	if len(counts) > 0 {
		return &InUseError{counts}
	}
	return nil
}

// installed names everything that may be there: what the inventory lists, and what this program would install, for the case
// that somebody has deleted the namespace with the inventory.
func (t *Target) installed(ctx context.Context, namespace string) (object.ObjMetadataSet, error) {
	listed, err := t.inventoried(ctx, namespace)
	if err != nil {
		return nil, err
	}
	config := Defaults()
	config.Namespace = namespace
	manifests, err := Manifests(config, Complete)
	if err != nil {
		return nil, err
	}
	objects, err := Applied(manifests)
	if err != nil {
		return nil, err
	}
	return listed.Union(object.UnstructuredSetToObjMetadataSet(objects)), nil
}

// stored is the resource in the version that the API server stores, which it can read without anybody's help.
func stored(crd *apiextensionsv1.CustomResourceDefinition) schema.GroupVersionResource {
	resource := schema.GroupVersionResource{Group: crd.Spec.Group, Resource: crd.Spec.Names.Plural}
	for _, version := range crd.Spec.Versions {
		if version.Storage {
			resource.Version = version.Name
		}
	}
	return resource
}

func (t *Target) count(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition) (int, error) {
	list, err := t.metadata.Resource(stored(crd)).List(ctx, metav1.ListOptions{Limit: pageSize})
	if apierrors.IsNotFound(err) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("list %s: %w", crd.Name, err)
	}
	n := len(list.Items)
	if list.RemainingItemCount != nil {
		n += int(*list.RemainingItemCount)
	}
	return n, nil
}

func (p *Present) groups() []string {
	var list []*apiextensionsv1.CustomResourceDefinition
	for _, crd := range p.CRDs {
		list = append(list, crd)
	}
	return groups(list)
}

// step is one part of an uninstallation.
type step struct {
	before func(*Target, context.Context) (int, error)
	ids    []object.ObjMetadata
}

// Kinds in the order in which they go. What is not named goes with the rest.
var (
	webhookKinds = []string{"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"}
	runningKinds = []string{"Deployment", "DaemonSet"}
)

const (
	crdKind       = "CustomResourceDefinition"
	namespaceKind = "Namespace"
)

// steps sorts what there is into the order of its removal: webhook configurations, objects of our kinds, their
// definitions while the webhook still converts, what runs, and the rest. The namespace is not among them.
func steps(known object.ObjMetadataSet, p *Present, r Removal) []step {
	var webhooks, crds, running, rest []object.ObjMetadata
	for _, id := range known {
		switch kind := id.GroupKind.Kind; {
		case slices.Contains(webhookKinds, kind):
			webhooks = append(webhooks, id)
		case kind == crdKind, kind == namespaceKind:
		case slices.Contains(runningKinds, kind):
			running = append(running, id)
		default:
			rest = append(rest, id)
		}
	}
	if !r.KeepCRDs {
		for name := range p.CRDs {
			crds = append(crds, object.ObjMetadata{GroupKind: schema.GroupKind{Group: crdResource.Group, Kind: crdKind}, Name: name})
		}
	}
	all := []step{{ids: webhooks}, {ids: crds}, {ids: running}, {ids: rest}}
	if r.DeleteObjects {
		all[1].before = func(t *Target, ctx context.Context) (int, error) { return t.deleteAll(ctx, p, r.Wait) }
	}
	for _, s := range all {
		slices.SortFunc(s.ids, func(a, b object.ObjMetadata) int { return strings.Compare(a.String(), b.String()) })
	}
	return all
}

// remove deletes one object if it is ours, and waits until it is gone.
func (t *Target) remove(ctx context.Context, id object.ObjMetadata, limit time.Duration, done *Removed) error {
	mapping, err := t.mapper.RESTMapping(id.GroupKind)
	if err != nil {
		return fmt.Errorf("remove %s: %w", words(id), err)
	}
	live, err := t.get(ctx, mapping.Resource, id.Namespace, id.Name)
	if live == nil || err != nil {
		return err
	}
	if !isOurs(live) && !appliedByUs(live) {
		t.Say("%s stays: it does not say that it was installed by kubectl kruise", words(id))
		return nil
	}
	if err := t.gone(ctx, mapping.Resource, live, metav1.DeletePropagationForeground, limit); err != nil {
		return err
	}
	done.Objects = append(done.Objects, words(id))
	return nil
}

// appliedByUs says that our field manager has applied an object, as `install --crds-only` does without further marks.
func appliedByUs(object metav1.Object) bool {
	return slices.ContainsFunc(object.GetManagedFields(), func(f metav1.ManagedFieldsEntry) bool {
		return f.Manager == keys.FieldManager && f.Operation == metav1.ManagedFieldsOperationApply
	})
}

// gone deletes the object of that UID and waits until it is not there any more.
func (t *Target) gone(ctx context.Context, resource schema.GroupVersionResource, live *unstructured.Unstructured, propagation metav1.DeletionPropagation, limit time.Duration) error {
	uid, what := live.GetUID(), strings.ToLower(live.GetKind())+"/"+live.GetName()
	client := t.at(resource, live.GetNamespace())
	err := client.Delete(ctx, live.GetName(), metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}, PropagationPolicy: &propagation})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete %s: %w", what, err)
	}
	err = wait.PollUntilContextTimeout(ctx, settlePoll, limit, true, func(ctx context.Context) (bool, error) {
		object, err := client.Get(ctx, live.GetName(), metav1.GetOptions{})
		if apierrors.IsNotFound(err) || err == nil && object.GetUID() != uid {
			return true, nil
		}
		return false, err
	})
	if err != nil {
		return fmt.Errorf("%s was deleted and is still there: %w", what, err)
	}
	return nil
}

// deleteAll deletes the objects of all kinds, and with them what they own, and waits until they are gone.
func (t *Target) deleteAll(ctx context.Context, p *Present, limit time.Duration) (int, error) {
	total := 0
	for _, crd := range p.CRDs {
		resource, foreground := stored(crd), metav1.DeletePropagationForeground
		n, err := t.count(ctx, crd)
		if err != nil || n == 0 {
			if err != nil {
				return total, err
			}
			continue
		}
		t.Say("deleting %d %s and what they own", n, resource.Resource)
		err = t.each(ctx, resource, func(object *metav1.PartialObjectMetadata) error {
			err := t.at(resource, object.Namespace).Delete(ctx, object.Name, metav1.DeleteOptions{
				Preconditions: &metav1.Preconditions{UID: &object.UID}, PropagationPolicy: &foreground,
			})
			if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
				return nil
			}
			return err
		})
		if err != nil {
			return total, err
		}
		left := n
		err = wait.PollUntilContextTimeout(ctx, settlePoll, limit, true, func(ctx context.Context) (bool, error) {
			var err error
			left, err = t.count(ctx, crd)
			return left == 0, err
		})
		if err != nil {
			return total, fmt.Errorf("%d of %d %s are still there after %s, for example because of a finalizer; the rest of the installation runs on without admission: %w",
				left, n, resource.Resource, limit, err)
		}
		total += n
	}
	return total, nil
}
