package install

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
)

// Moved counts what a change of the stored version has written anew.
type Moved struct {
	// Objects are of our kinds, References are owner references to them.
	Objects, References int
}

// How long the API server may take to do what a definition says. It takes it well below a second.
const (
	settleTimeout = 30 * time.Second
	settlePoll    = 100 * time.Millisecond
	pageSize      = 500
	parallel      = 8
)

// move makes a version the one that every stored object is in: it writes the objects anew, strikes the other version from
// the definitions' lists, and lets owner references name this version. The definitions store it already. Doing it again
// is harmless.
func (t *Target) move(ctx context.Context, version string) (Moved, error) {
	var moved Moved
	crds, err := CRDs(Full)
	if err != nil {
		return moved, err
	}
	for _, crd := range crds {
		n, err := t.rewrite(ctx, crd, version)
		moved.Objects += n
		if err != nil {
			return moved, err
		}
	}
	moved.References, err = t.refer(ctx, groups(crds), version)
	return moved, err
}

func groups(crds []*apiextensionsv1.CustomResourceDefinition) []string {
	var list []string
	for _, crd := range crds {
		list = append(list, crd.Spec.Group)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// rewrite stores the objects of a kind in a version, unless the definition says that none is in another one.
func (t *Target) rewrite(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, version string) (int, error) {
	live, err := look[apiextensionsv1.CustomResourceDefinition](ctx, t, crdResource, crd.Name)
	if err != nil || live == nil {
		return 0, err
	}
	if slices.Equal(live.Status.StoredVersions, []string{version}) {
		return 0, nil
	}
	if err := t.stores(ctx, live, version); err != nil {
		return 0, err
	}
	resource := schema.GroupVersionResource{Group: crd.Spec.Group, Version: version, Resource: crd.Spec.Names.Plural}
	n, err := t.touch(ctx, resource)
	if err != nil {
		return n, fmt.Errorf("store the %s as %s: %w", crd.Spec.Names.Plural, version, err)
	}
	return n, t.strike(ctx, crd.Name, version)
}

// strike leaves one version in the list of those that may be stored, if it is the one that is stored now.
func (t *Target) strike(ctx context.Context, name, version string) error {
	live, err := look[apiextensionsv1.CustomResourceDefinition](ctx, t, crdResource, name)
	if err != nil || live == nil {
		return err
	}
	for _, v := range live.Spec.Versions {
		if v.Storage && v.Name != version {
			return fmt.Errorf("%s was changed by somebody else meanwhile: it stores %s", name, v.Name)
		}
	}
	// The condition on the resourceVersion keeps a change of the definition meanwhile from being overlooked.
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": live.ResourceVersion},
		"status":   map[string]any{"storedVersions": []string{version}},
	})
	if err != nil {
		return err
	}
	_, err = t.at(crdResource, "").Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: keys.FieldManager}, "status")
	return err
}

// stores waits until the API server that answers stores a version, which its discovery tells by a hash, and converts.
func (t *Target) stores(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, version string) error {
	want := storageHash(crd.Spec.Group, version, crd.Spec.Names.Kind)
	var last error
	err := wait.PollUntilContextTimeout(ctx, settlePoll, settleTimeout, true, func(ctx context.Context) (bool, error) {
		list, err := t.discovery.ServerResourcesForGroupVersion(crd.Spec.Group + "/" + version)
		if err != nil {
			last = err
			return false, ctx.Err()
		}
		for _, r := range list.APIResources {
			if r.Name == crd.Spec.Names.Plural && r.StorageVersionHash == want {
				last = t.converting(ctx, crd)
				return last == nil, ctx.Err()
			}
		}
		last = errors.New("another version is stored")
		return false, nil
	})
	if err != nil {
		return fmt.Errorf("%s does not store %s: %w (%v)", crd.Name, version, err, last)
	}
	return nil
}

// storageHash is what an API server's discovery says of the version that it stores.
func storageHash(group, version, kind string) string {
	sum := sha256.Sum256([]byte(group + "/" + version + "/" + kind))
	return base64.StdEncoding.EncodeToString(sum[:8])
}

// converting reads a kind in all its versions.
func (t *Target) converting(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition) error {
	for _, version := range crd.Spec.Versions {
		if !version.Served {
			continue
		}
		resource := schema.GroupVersionResource{Group: crd.Spec.Group, Version: version.Name, Resource: crd.Spec.Names.Plural}
		if _, err := t.at(resource, "").List(ctx, metav1.ListOptions{Limit: 1}); err != nil {
			return fmt.Errorf("read %s as %s: %w", crd.Spec.Names.Plural, version.Name, err)
		}
	}
	return nil
}

// touch writes every object of a resource without changing it, by way of its status: so admission, which looks at specs,
// has no say in what is there already. Who has written an object since it was read has stored it anew as well.
func (t *Target) touch(ctx context.Context, resource schema.GroupVersionResource) (int, error) {
	var n atomic.Int64
	err := t.each(ctx, resource, func(object *metav1.PartialObjectMetadata) error {
		patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": object.UID, "resourceVersion": object.ResourceVersion}})
		if err != nil {
			return err
		}
		_, err = t.at(resource, object.Namespace).Patch(ctx, object.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: keys.FieldManager}, "status")
		if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
			return nil
		}
		if err == nil {
			n.Add(1)
		}
		return err
	})
	return int(n.Load()), err
}

// each visits the metadata of all objects of a resource, page by page, some at a time.
func (t *Target) each(ctx context.Context, resource schema.GroupVersionResource, visit func(*metav1.PartialObjectMetadata) error) error {
	options := metav1.ListOptions{Limit: pageSize}
	for {
		list, err := t.metadata.Resource(resource).List(ctx, options)
		if err != nil {
			return fmt.Errorf("list %s: %w", resource.Resource, err)
		}
		var page errgroup.Group
		page.SetLimit(parallel)
		for i := range list.Items {
			page.Go(func() error {
				if err := visit(&list.Items[i]); err != nil {
					return fmt.Errorf("%s %s/%s: %w", resource.Resource, list.Items[i].Namespace, list.Items[i].Name, err)
				}
				return ctx.Err()
			})
		}
		if err := page.Wait(); err != nil {
			return err
		}
		if options.Continue = list.Continue; options.Continue == "" {
			return nil
		}
	}
}

// refer lets owner references to our kinds name a version, so that garbage collection finds the owners.
func (t *Target) refer(ctx context.Context, groups []string, version string) (int, error) {
	var n atomic.Int64
	for _, resource := range []schema.GroupVersionResource{podResource, claimResource, revisionResource} {
		err := t.each(ctx, resource, func(object *metav1.PartialObjectMetadata) error {
			patch := references(object, groups, version)
			if patch == nil {
				return nil
			}
			_, err := t.at(resource, object.Namespace).Patch(ctx, object.Name, types.JSONPatchType, patch, metav1.PatchOptions{FieldManager: keys.FieldManager})
			switch {
			case apierrors.IsNotFound(err):
				return nil
			case apierrors.IsInvalid(err) || apierrors.IsConflict(err):
				return nil // its owners have changed since; a change is written by somebody who knows the version
			case err == nil:
				n.Add(1)
			}
			return err
		})
		if err != nil {
			return int(n.Load()), err
		}
	}
	return int(n.Load()), nil
}

// operation is one step of a JSON patch.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// references is the patch that lets the owner references of an object to kinds of the groups name a version; nil when they
// do. It fails where the owners have changed.
func references(object *metav1.PartialObjectMetadata, groups []string, version string) []byte {
	var patch []operation
	for i, owner := range object.OwnerReferences {
		gv, err := schema.ParseGroupVersion(owner.APIVersion)
		if err != nil || gv.Version == version || !slices.Contains(groups, gv.Group) {
			continue
		}
		at := fmt.Sprintf("/metadata/ownerReferences/%d/", i)
		patch = append(patch, operation{"test", at + "uid", owner.UID}, operation{"replace", at + "apiVersion", gv.Group + "/" + version})
	}
	if len(patch) == 0 {
		return nil
	}
	raw, err := json.Marshal(patch)
	if err != nil {
		return nil // strings always encode
	}
	return raw
}
