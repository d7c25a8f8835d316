package install

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
)

// clear removes what the manager made in a namespace and the inventory, and then the namespace if it is ours and empty.
func (t *Target) clear(ctx context.Context, namespace string, r Removal, done *Removed) error {
	live, err := t.get(ctx, namespaceResource, "", namespace)
	if live == nil || err != nil {
		return err
	}
	for _, made := range []struct {
		resource schema.GroupVersionResource
		name     string
	}{{secretResource, keys.WebhookSecret}, {leaseResource, keys.ManagerLease}, {configMapResource, inventoryName}} {
		object, err := t.get(ctx, made.resource, namespace, made.name)
		if err != nil {
			return err
		}
		if object == nil || made.resource != leaseResource && !isOurs(object) {
			continue
		}
		if err := ignoreGone(t.at(made.resource, namespace).Delete(ctx, made.name, deleteThis(object.GetUID()))); err != nil {
			return fmt.Errorf("delete %s %s/%s: %w", made.resource.Resource, namespace, made.name, err)
		}
		done.Objects = append(done.Objects, fmt.Sprintf("%s/%s in %s", strings.ToLower(object.GetKind()), made.name, namespace))
	}
	if !isOurs(live) {
		done.Kept = "namespace " + namespace + " stays: it was there before"
		return nil
	}
	others, err := t.inhabitants(ctx, namespace)
	if err != nil {
		return err
	}
	if len(others) > 0 {
		done.Kept = fmt.Sprintf("namespace %s stays: it has %s", namespace, strings.Join(others, ", "))
		patch := fmt.Sprintf(`{"metadata":{"labels":{%q:null,%q:null},"annotations":{%q:null}}}`, keys.ManagedByLabel, keys.PartOfLabel, owningInventory)
		_, err := t.at(namespaceResource, "").Patch(ctx, namespace, types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: keys.FieldManager})
		return err
	}
	if err := t.gone(ctx, namespaceResource, live, metav1.DeletePropagationBackground, r.Wait); err != nil {
		return err
	}
	done.Objects = append(done.Objects, "namespace/"+namespace)
	return nil
}

// transient are kinds that come and go with others, or that every namespace has.
var transient = []string{"events", "endpoints", "endpointslices", "pods", "replicasets", "controllerrevisions", "localsubjectaccessreviews", "bindings"}

// inhabitants are the objects in a namespace that neither came with the pair nor come by themselves.
func (t *Target) inhabitants(ctx context.Context, namespace string) ([]string, error) {
	lists, err := discovery.ServerPreferredNamespacedResources(t.discovery)
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		return nil, err
	}
	var found []string
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, r := range list.APIResources {
			if slices.Contains(transient, r.Name) || !slices.Contains(r.Verbs, "list") {
				continue
			}
			objects, err := t.metadata.Resource(gv.WithResource(r.Name)).Namespace(namespace).List(ctx, metav1.ListOptions{})
			if apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) {
				continue
			}
			if err != nil {
				return nil, fmt.Errorf("list %s in %s: %w", r.Name, namespace, err)
			}
			for _, object := range objects.Items {
				if !comesByItself(r.Name, object.Name) && len(object.OwnerReferences) == 0 && object.DeletionTimestamp == nil {
					found = append(found, strings.ToLower(r.Kind)+"/"+object.Name)
				}
			}
		}
	}
	slices.Sort(found)
	return found, nil
}

func comesByItself(resource, name string) bool {
	switch resource {
	case "serviceaccounts":
		return name == "default"
	case "configmaps":
		return name == "kube-root-ca.crt"
	case "leases":
		return strings.HasPrefix(name, keys.SubjectLeasePrefix)
	}
	return false
}

func deleteThis(uid types.UID) metav1.DeleteOptions {
	return metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}}
}

func ignoreGone(err error) error {
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}
