package install

import (
	"context"
	"fmt"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/cli-utils/pkg/common"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
)

// Present is what of an installation is in the cluster.
type Present struct {
	// CRDs are the definitions of the kinds that this program knows, by name.
	CRDs map[string]*apiextensionsv1.CustomResourceDefinition
	// Mutating and Validating are our webhook configurations; nil when they are not there.
	Mutating   *admissionv1.MutatingWebhookConfiguration
	Validating *admissionv1.ValidatingWebhookConfiguration
	// Foreign says by what OpenKruise was recognised; empty where it is not.
	Foreign string
	// inventory is the namespace of our inventory: an installation that was interrupted has that before its webhooks.
	inventory string
}

// Look reads what is there.
func (t *Target) Look(ctx context.Context, now time.Time) (*Present, error) {
	p := &Present{CRDs: map[string]*apiextensionsv1.CustomResourceDefinition{}}
	known, err := CRDs(Full)
	if err != nil {
		return nil, err
	}
	for _, crd := range known {
		if p.CRDs[crd.Name], err = look[apiextensionsv1.CustomResourceDefinition](ctx, t, crdResource, crd.Name); err != nil {
			return nil, err
		}
		if p.CRDs[crd.Name] == nil {
			delete(p.CRDs, crd.Name)
		}
	}
	if p.Mutating, err = look[admissionv1.MutatingWebhookConfiguration](ctx, t, mutatingResource, keys.MutatingConfiguration); err != nil {
		return nil, err
	}
	if p.Validating, err = look[admissionv1.ValidatingWebhookConfiguration](ctx, t, validatingResource, keys.ValidatingConfiguration); err != nil {
		return nil, err
	}
	if p.inventory, err = t.inventoryNamespace(ctx); err != nil {
		return nil, err
	}
	p.Foreign, err = t.foreign(ctx, p, now)
	return p, err
}

// inventoryNamespace finds our inventory. Who may not look into all namespaces does not find it.
func (t *Target) inventoryNamespace(ctx context.Context) (string, error) {
	list, err := t.metadata.Resource(configMapResource).List(ctx, metav1.ListOptions{LabelSelector: common.InventoryLabel + "=" + inventoryID, Limit: 1})
	switch {
	case apierrors.IsForbidden(err):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("look for the inventory: %w", err)
	case len(list.Items) == 0:
		return "", nil
	}
	return list.Items[0].Namespace, nil
}

func look[T any](ctx context.Context, t *Target, resource schema.GroupVersionResource, name string) (*T, error) {
	object, err := t.get(ctx, resource, "", name)
	if object == nil || err != nil {
		return nil, err
	}
	return into[T](object)
}

// foreign finds OpenKruise: by its webhook configurations, its Deployment, or the holder of the manager's Lease.
func (t *Target) foreign(ctx context.Context, p *Present, now time.Time) (string, error) {
	if p.Mutating != nil && !isOurs(p.Mutating) {
		return "the webhook configuration " + p.Mutating.Name, nil
	}
	if p.Validating != nil && !isOurs(p.Validating) {
		return "the webhook configuration " + p.Validating.Name, nil
	}
	manager, err := t.get(ctx, deploymentResource, keys.InstallNamespace, managerName)
	if err != nil {
		return "", err
	}
	if manager != nil && !isOurs(manager) {
		return fmt.Sprintf("the Deployment %s/%s", keys.InstallNamespace, managerName), nil
	}
	lease, err := t.leader(ctx)
	if err != nil || lease == nil {
		return "", err
	}
	if holder, live := holding(lease, now); live && !strings.HasPrefix(holder, keys.HolderPrefix) {
		return fmt.Sprintf("the Lease %s/%s, which %s holds", keys.InstallNamespace, keys.ManagerLease, holder), nil
	}
	return "", nil
}

// leader reads the manager's Lease; nil when there is none.
func (t *Target) leader(ctx context.Context) (*coordinationv1.Lease, error) {
	object, err := t.get(ctx, leaseResource, keys.InstallNamespace, keys.ManagerLease)
	if object == nil || err != nil {
		return nil, err
	}
	return into[coordinationv1.Lease](object)
}

// holding says who holds a Lease, and whether it was renewed within its duration.
func holding(lease *coordinationv1.Lease, now time.Time) (string, bool) {
	spec := lease.Spec
	if spec.HolderIdentity == nil || *spec.HolderIdentity == "" || spec.RenewTime == nil || spec.LeaseDurationSeconds == nil {
		return "", false
	}
	return *spec.HolderIdentity, now.Before(spec.RenewTime.Add(time.Duration(*spec.LeaseDurationSeconds) * time.Second))
}

// Namespace is where the webhook's Service is, or where an installation was begun; empty when there is nothing of ours.
func (p *Present) Namespace() string {
	if p.Mutating == nil || len(p.Mutating.Webhooks) == 0 || p.Mutating.Webhooks[0].ClientConfig.Service == nil {
		return p.inventory
	}
	return p.Mutating.Webhooks[0].ClientConfig.Service.Namespace
}

// converts says of a definition that a webhook converts between its versions.
func converts(crd *apiextensionsv1.CustomResourceDefinition) bool {
	return crd != nil && crd.Spec.Conversion != nil && crd.Spec.Conversion.Strategy == apiextensionsv1.WebhookConverter
}

// Complete says that both webhook configurations and all definitions are there in their final form.
func (p *Present) Complete() bool {
	known, err := CRDs(Full)
	if err != nil || p.Mutating == nil || p.Validating == nil {
		return false
	}
	for _, crd := range known {
		if !converts(p.CRDs[crd.Name]) {
			return false
		}
	}
	return true
}
