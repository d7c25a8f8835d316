package install

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
)

// Target is a cluster that something is installed in.
type Target struct {
	getter    genericclioptions.RESTClientGetter
	dynamic   dynamic.Interface
	metadata  metadata.Interface
	discovery discovery.DiscoveryInterface
	mapper    meta.RESTMapper
	// Say tells progress, one line at a time.
	Say func(format string, args ...any)
}

// Connect prepares the clients; it sends nothing.
func Connect(getter genericclioptions.RESTClientGetter, say func(format string, args ...any)) (*Target, error) {
	config, err := getter.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	t := &Target{getter: getter, Say: say}
	if t.dynamic, err = dynamic.NewForConfig(config); err != nil {
		return nil, err
	}
	if t.metadata, err = metadata.NewForConfig(config); err != nil {
		return nil, err
	}
	// Neither a cache nor the aggregated form: what is stored is only told by the plain one.
	if t.discovery, err = discovery.NewDiscoveryClientForConfig(config); err != nil {
		return nil, err
	}
	t.mapper, err = getter.ToRESTMapper()
	return t, err
}

// Refresh lets kubectl, which keeps for minutes what a server serves, know what it serves now.
func (t *Target) Refresh() {
	cached, err := t.getter.ToDiscoveryClient()
	if err != nil {
		return
	}
	cached.Invalidate()
	_, _, _ = cached.ServerGroupsAndResources() // a server that does not answer is found out by the next command
}

// Resources that are read and written by name.
var (
	crdResource        = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	mutatingResource   = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "mutatingwebhookconfigurations"}
	validatingResource = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingwebhookconfigurations"}
	namespaceResource  = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	secretResource     = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	podResource        = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	nodeResource       = schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
	configMapResource  = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	claimResource      = schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumeclaims"}
	deploymentResource = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	daemonSetResource  = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "daemonsets"}
	revisionResource   = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "controllerrevisions"}
	leaseResource      = schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}
)

// at is the client for a resource; an empty namespace is for what has none.
func (t *Target) at(resource schema.GroupVersionResource, namespace string) dynamic.ResourceInterface {
	if namespace == "" {
		return t.dynamic.Resource(resource)
	}
	return t.dynamic.Resource(resource).Namespace(namespace)
}

// get reads an object; nil when it does not exist.
func (t *Target) get(ctx context.Context, resource schema.GroupVersionResource, namespace, name string) (*unstructured.Unstructured, error) {
	object, err := t.at(resource, namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s %s: %w", resource.Resource, name, err)
	}
	return object, nil
}

// into decodes an object that get has read.
func into[T any](object *unstructured.Unstructured) (*T, error) {
	out := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, out); err != nil {
		return nil, fmt.Errorf("read %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	return out, nil
}

// isOurs says of an object that this program has installed it, or its chart: then Helm says that it manages it.
func isOurs(object metav1.Object) bool {
	l := object.GetLabels()
	return l[keys.ManagedByLabel] == keys.FieldManager || l[keys.PartOfLabel] == keys.FieldManager || object.GetAnnotations()[owningInventory] == inventoryID
}

// ErrForeign says that OpenKruise is in the cluster.
var ErrForeign = errors.New("OpenKruise is installed here")
