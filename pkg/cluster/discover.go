package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiversion "k8s.io/apimachinery/pkg/version"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/inplace"
)

// NotServedError says that the API server does not serve a kind: its CRD is not installed, or not established yet.
type NotServedError struct {
	Kind schema.GroupKind
	// Served lists the versions that are served and that this build does not know.
	Served []string
}

// Error implements error.
func (e *NotServedError) Error() string {
	if len(e.Served) > 0 {
		return fmt.Sprintf("the cluster serves %s only as %s, which this version does not know", e.Kind, strings.Join(e.Served, ", "))
	}
	return fmt.Sprintf("the cluster does not know %s", e.Kind)
}

// Served finds the first of the known versions, best first, in which the cluster serves the resource of a kind. It reads
// discovery alone, which every user may, and returns a *NotServedError when there is none.
func (c *Client) Served(ctx context.Context, kind schema.GroupKind, resource string, known ...string) (string, error) {
	missing := &NotServedError{Kind: kind}
	group := &metav1.APIGroup{}
	err := c.raw.Get().AbsPath("/apis", kind.Group).Do(ctx).Into(group)
	if errors.IsNotFound(err) {
		return "", missing
	}
	if err != nil {
		return "", fmt.Errorf("find the versions of %s: %w", kind, Explain(err))
	}
	for _, v := range group.Versions {
		served, err := c.serves(ctx, schema.GroupVersion{Group: kind.Group, Version: v.Version}, resource)
		if err != nil {
			return "", fmt.Errorf("find the versions of %s: %w", kind, Explain(err))
		}
		if served {
			missing.Served = append(missing.Served, v.Version)
		}
	}
	for _, v := range known {
		if slices.Contains(missing.Served, v) {
			return v, nil
		}
	}
	return "", missing
}

// ResizeMode finds out how the server changes the resources of running pods (inplace.md 5.1), from discovery.
func (c *Client) ResizeMode(ctx context.Context) (inplace.ResizeMode, error) {
	core := &metav1.APIResourceList{}
	if err := c.raw.Get().AbsPath("/api/v1").Do(ctx).Into(core); err != nil {
		return inplace.ResizeNever, fmt.Errorf("find out whether pods can be resized: %w", Explain(err))
	}
	if slices.ContainsFunc(core.APIResources, func(r metav1.APIResource) bool { return r.Name == "pods/resize" }) {
		return inplace.ResizeSubresource, nil
	}
	raw, err := c.raw.Get().AbsPath("/version").Do(ctx).Raw()
	var info apiversion.Info
	if err == nil {
		err = json.Unmarshal(raw, &info)
	}
	if err != nil {
		return inplace.ResizeNever, fmt.Errorf("read the version of the server: %w", Explain(err))
	}
	return inplace.ResizeModeOf(info.GitVersion, false), nil
}

func (c *Client) serves(ctx context.Context, in schema.GroupVersion, resource string) (bool, error) {
	list := &metav1.APIResourceList{}
	err := c.raw.Get().AbsPath("/apis", in.Group, in.Version).Do(ctx).Into(list)
	if errors.IsNotFound(err) {
		return false, nil
	}
	return slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == resource }), err
}
