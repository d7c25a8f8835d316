package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
)

// Client speaks to one API server. Objects that it returns are in the version that planners see.
type Client struct {
	kinds   map[schema.GroupKind]Kind
	clients map[schema.GroupVersion]rest.Interface
	params  runtime.ParameterCodec
	raw     rest.Interface
}

// Connect prepares a client for the built-in kinds and the given ones; it sends nothing. Unless the configuration limits
// the rate of requests there is no limit on this side.
func Connect(config *rest.Config, kinds ...Kind) (*Client, error) {
	config = rest.CopyConfig(config)
	if config.QPS == 0 {
		config.QPS = -1
	}
	if config.WarningHandler == nil && config.WarningHandlerWithContext == nil {
		config.WarningHandler = rest.NoWarnings{}
	}
	transport, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("client configuration: %w", err)
	}
	c := &Client{kinds: map[schema.GroupKind]Kind{}, clients: map[schema.GroupVersion]rest.Interface{}}
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	for _, kind := range append(builtinKinds(), kinds...) {
		if err := kind.AddToScheme(scheme); err != nil {
			return nil, fmt.Errorf("types of %s: %w", kind.GroupKind, err)
		}
		c.kinds[kind.GroupKind] = kind
	}
	c.params = runtime.NewParameterCodec(scheme)
	codecs := serializer.NewCodecFactory(scheme)
	for _, kind := range c.kinds {
		version := schema.GroupVersion{Group: kind.Group, Version: kind.Version}
		if c.clients[version] == nil {
			if c.clients[version], err = restClient(config, transport, codecs, version, !kind.custom()); err != nil {
				return nil, err
			}
		}
	}
	c.raw = c.clients[schema.GroupVersion{Version: "v1"}]
	return c, nil
}

// restClient talks protobuf where the server has it, that is for all kinds but custom ones. Those arrive without a type,
// so that each object can be decoded on its own (see Kind.decode).
func restClient(config *rest.Config, transport *http.Client, codecs serializer.CodecFactory, version schema.GroupVersion, builtin bool) (rest.Interface, error) {
	config = rest.CopyConfig(config)
	if !builtin {
		config = dynamic.ConfigFor(config)
	}
	config.GroupVersion = &version
	config.APIPath = "/apis"
	if version.Group == "" {
		config.APIPath = "/api"
	}
	if builtin {
		config.NegotiatedSerializer = codecs.WithoutConversion()
		config.ContentType = runtime.ContentTypeProtobuf
		config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	}
	client, err := rest.RESTClientForConfigAndClient(config, transport)
	if err != nil {
		return nil, fmt.Errorf("client for %s: %w", version, err)
	}
	return client, nil
}

// Kind is what the client knows about a kind; false when it was not connected for it.
func (c *Client) Kind(of schema.GroupKind) (Kind, bool) {
	kind, ok := c.kinds[of]
	return kind, ok
}

func (c *Client) find(of schema.GroupKind) (Kind, rest.Interface, error) {
	kind, ok := c.kinds[of]
	if !ok {
		return Kind{}, nil, fmt.Errorf("kind %s is not known on this cluster", of)
	}
	return kind, c.clients[schema.GroupVersion{Group: kind.Group, Version: kind.Version}], nil
}

// Get reads one object from the server itself.
func (c *Client) Get(ctx context.Context, of schema.GroupKind, namespace, name string) (plan.Object, error) {
	kind, client, err := c.find(of)
	if err != nil {
		return nil, err
	}
	return kind.answer(client.Get().NamespaceIfScoped(namespace, namespace != "").Resource(kind.Resource).Name(name).Do(ctx))
}

// Raw reads one object as the server sends it, in JSON and in the version on the wire.
func (c *Client) Raw(ctx context.Context, of schema.GroupKind, namespace, name string) ([]byte, error) {
	kind, client, err := c.find(of)
	if err != nil {
		return nil, err
	}
	result := client.Get().NamespaceIfScoped(namespace, namespace != "").Resource(kind.Resource).Name(name).
		SetHeader("Accept", runtime.ContentTypeJSON).Do(ctx)
	if err := result.Error(); err != nil { // unlike Raw's own it has the server's words
		return nil, err
	}
	return result.Raw()
}

// Metadata lists all objects of a namespace without their spec and status.
func (c *Client) Metadata(ctx context.Context, of schema.GroupKind, namespace string) ([]plan.Object, error) {
	kind, client, err := c.find(of)
	if err != nil {
		return nil, err
	}
	var all []plan.Object
	options := metav1.ListOptions{Limit: pageSize}
	for {
		raw, err := client.Get().NamespaceIfScoped(namespace, namespace != "").Resource(kind.Resource).
			VersionedParams(&options, c.params).SetHeader("Accept", metadataList).Do(ctx).Raw()
		if err != nil {
			return nil, err
		}
		var list metav1.PartialObjectMetadataList
		if err := json.Unmarshal(raw, &list); err != nil {
			return nil, fmt.Errorf("metadata of %s: %w", kind.Resource, err)
		}
		for i := range list.Items {
			all = append(all, &list.Items[i])
		}
		if options.Continue = list.Continue; options.Continue == "" {
			return all, nil
		}
	}
}

const metadataList = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"

// Scope limits a list or a watch on the server's side. Empty fields do not limit.
type Scope struct {
	Namespace, Labels, Fields string
}

const pageSize = 500

// List reads all objects in scope, consistently, and the resourceVersion from which a watch goes on.
func (c *Client) List(ctx context.Context, of schema.GroupKind, scope Scope) ([]plan.Object, string, error) {
	kind, client, err := c.find(of)
	if err != nil {
		return nil, "", err
	}
	var all []plan.Object
	options := metav1.ListOptions{LabelSelector: scope.Labels, FieldSelector: scope.Fields, Limit: pageSize}
	for {
		result := client.Get().NamespaceIfScoped(scope.Namespace, scope.Namespace != "").Resource(kind.Resource).
			VersionedParams(&options, c.params).Do(ctx)
		items, page, err := kind.items(result)
		if err != nil {
			return nil, "", err
		}
		all = append(all, items...)
		if options.Continue = page.GetContinue(); options.Continue == "" {
			return all, page.GetResourceVersion(), nil
		}
	}
}

// Watch streams what happens in scope after resourceVersion, with bookmarks. Objects arrive in their wire version; the
// reader passes them through Hub.
func (c *Client) Watch(ctx context.Context, of schema.GroupKind, scope Scope, resourceVersion string) (watch.Interface, error) {
	kind, client, err := c.find(of)
	if err != nil {
		return nil, err
	}
	options := metav1.ListOptions{
		LabelSelector: scope.Labels, FieldSelector: scope.Fields, ResourceVersion: resourceVersion,
		Watch: true, AllowWatchBookmarks: true,
	}
	return client.Get().NamespaceIfScoped(scope.Namespace, scope.Namespace != "").Resource(kind.Resource).
		VersionedParams(&options, c.params).Watch(ctx)
}

// Hub turns an object of the wire into the version that planners see and drops what nobody reads.
func (c *Client) Hub(of schema.GroupKind, obj plan.Object) (plan.Object, error) {
	kind, _, err := c.find(of)
	if err != nil {
		return nil, err
	}
	return kind.hub(obj)
}

func dryRun(on bool) []string {
	if on {
		return []string{metav1.DryRunAll}
	}
	return nil
}

// Create sends a new object in its wire version and returns what the server stored.
func (c *Client) Create(ctx context.Context, of schema.GroupKind, obj plan.Object, dry bool) (plan.Object, error) {
	kind, client, err := c.find(of)
	if err != nil {
		return nil, err
	}
	options := metav1.CreateOptions{DryRun: dryRun(dry), FieldManager: keys.FieldManager}
	return kind.answer(client.Post().NamespaceIfScoped(obj.GetNamespace(), obj.GetNamespace() != "").Resource(kind.Resource).
		VersionedParams(&options, c.params).Body(obj).Do(ctx))
}

// Patch sends a patch as it is, to the object or one of its subresources, and returns what the server stored.
func (c *Client) Patch(ctx context.Context, ref plan.Ref, subresource string, as types.PatchType, body []byte, dry bool) (plan.Object, error) {
	kind, client, err := c.find(ref.Kind)
	if err != nil {
		return nil, err
	}
	options := metav1.PatchOptions{DryRun: dryRun(dry), FieldManager: keys.FieldManager}
	request := client.Patch(as).NamespaceIfScoped(ref.Namespace, ref.Namespace != "").Resource(kind.Resource).Name(ref.Name)
	if subresource != "" {
		request = request.SubResource(subresource)
	}
	return kind.answer(request.VersionedParams(&options, c.params).Body(body).Do(ctx))
}

// Evict asks for the deletion of a pod of that UID within its disruption budgets.
func (c *Client) Evict(ctx context.Context, ref plan.Ref, dry bool) error {
	kind, client, err := c.find(ref.Kind)
	if err != nil {
		return err
	}
	body, err := json.Marshal(policyv1.Eviction{
		TypeMeta:   metav1.TypeMeta{APIVersion: policyv1.SchemeGroupVersion.String(), Kind: "Eviction"},
		ObjectMeta: metav1.ObjectMeta{Namespace: ref.Namespace, Name: ref.Name},
		DeleteOptions: &metav1.DeleteOptions{
			Preconditions: &metav1.Preconditions{UID: &ref.UID}, DryRun: dryRun(dry),
		},
	})
	if err != nil {
		return err
	}
	return client.Post().NamespaceIfScoped(ref.Namespace, ref.Namespace != "").Resource(kind.Resource).Name(ref.Name).
		SubResource("eviction").SetHeader("Content-Type", runtime.ContentTypeJSON).Body(body).Do(ctx).Error()
}

// Delete deletes the object of that UID and, when it is given, that resourceVersion. It returns the object where the
// server keeps it for now, with its deletion timestamp, and nil where it is gone.
func (c *Client) Delete(ctx context.Context, ref plan.Ref, resourceVersion string, dry bool) (plan.Object, error) {
	kind, client, err := c.find(ref.Kind)
	if err != nil {
		return nil, err
	}
	background := metav1.DeletePropagationBackground
	options := metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &ref.UID}, DryRun: dryRun(dry), PropagationPolicy: &background,
	}
	if resourceVersion != "" {
		options.Preconditions.ResourceVersion = &resourceVersion
	}
	answer, err := client.Delete().NamespaceIfScoped(ref.Namespace, ref.Namespace != "").Resource(kind.Resource).Name(ref.Name).
		Body(&options).Do(ctx).Get()
	if err != nil {
		return nil, err
	}
	left, ok := answer.(plan.Object)
	if !ok || !stays(left) {
		return nil, nil
	}
	return kind.hub(left)
}

// stays says of what a delete returned that the server still has it. Some kinds are returned after they are gone too.
func stays(obj plan.Object) bool {
	grace := obj.GetDeletionGracePeriodSeconds()
	return obj.GetDeletionTimestamp() != nil && (grace == nil || *grace > 0 || len(obj.GetFinalizers()) > 0)
}
