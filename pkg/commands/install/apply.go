package install

import (
	"context"
	"fmt"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/cluster"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/commands/cli"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/install"
)

// How long the server may take to serve a new kind, and how often it is asked. It takes it well below a second.
const (
	establishTimeout = 30 * time.Second
	establishPoll    = 50 * time.Millisecond
)

// target is the cluster that definitions go to.
type target struct {
	crds      dynamic.ResourceInterface
	discovery *discovery.DiscoveryClient
}

func connect(deps *cli.Deps) (*target, error) {
	config, err := deps.Config.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	served, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	resource := apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions")
	return &target{crds: client.Resource(resource), discovery: served}, nil
}

// refusals says of which definitions in the cluster this rendering would take a version away.
func (t *target) refusals(ctx context.Context, crds []*apiextensionsv1.CustomResourceDefinition) ([]string, error) {
	var list []string
	for _, crd := range crds {
		object, err := t.crds.Get(ctx, crd.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		present := &apiextensionsv1.CustomResourceDefinition{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, present); err != nil {
			return nil, fmt.Errorf("read definition %s: %w", crd.Name, err)
		}
		if why := install.CRDsOnlyRefused(present); why != "" {
			list = append(list, why)
		}
	}
	return list, nil
}

// apply sends the definitions and goes on after one that fails. Fields that somebody else manages are not taken: that is
// an error which names them.
func (t *target) apply(ctx context.Context, objects []*unstructured.Unstructured, dryRun cluster.DryRun) ([]outcome, error) {
	options := metav1.ApplyOptions{FieldManager: keys.FieldManager}
	if dryRun == cluster.DryRunServer {
		options.DryRun = []string{metav1.DryRunAll}
	}
	var list []outcome
	var failures []error
	for _, object := range objects {
		before, err := t.crds.Get(ctx, object.GetName(), metav1.GetOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			failures = append(failures, err)
			continue
		}
		after, err := t.crds.Apply(ctx, object.GetName(), object, options)
		if err != nil {
			failures = append(failures, fmt.Errorf("apply %s: %w", object.GetName(), err))
			continue
		}
		did := "created"
		switch {
		case before != nil && before.GetResourceVersion() == after.GetResourceVersion():
			did = "unchanged"
		case before != nil:
			did = "configured"
		}
		after.SetManagedFields(nil)
		list = append(list, outcome{object: after, did: did})
	}
	return list, cli.Join(failures)
}

// established waits until the server serves what was applied, so that the next command finds it.
func (t *target) established(ctx context.Context, crds []*apiextensionsv1.CustomResourceDefinition) error {
	for _, crd := range crds {
		version := crd.Spec.Group + "/" + crd.Spec.Versions[0].Name
		err := wait.PollUntilContextTimeout(ctx, establishPoll, establishTimeout, true, func(ctx context.Context) (bool, error) {
			list, err := t.discovery.ServerResourcesForGroupVersionWithContext(ctx, version)
			if err != nil {
				return false, ignoreNotFound(err)
			}
			for _, r := range list.APIResources {
				if r.Name == crd.Spec.Names.Plural {
					return true, nil
				}
			}
			return false, nil
		})
		if err != nil {
			return fmt.Errorf("%s is applied but the server does not serve it: %w; next: kubectl describe crd %s", crd.Name, err, crd.Name)
		}
	}
	return nil
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
