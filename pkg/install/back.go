package install

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
)

// back takes the kinds to the form without a webhook: first both versions stay served and v1alpha1 is stored, so that the
// webhook can convert every object once; then v1alpha1 alone is served and nothing converts any more.
func (t *Target) back(ctx context.Context, p *Present, namespace string) (Moved, error) {
	var moved Moved
	between, err := t.taken(p, namespace, true)
	if err != nil {
		return moved, err
	}
	for _, crd := range between {
		if err := t.converting(ctx, p.CRDs[crd.GetName()]); err != nil {
			return moved, fmt.Errorf("the webhook has to answer so that objects can be taken back to %s: %w; "+
				"next: kubectl kruise check, or kubectl kruise install again", alpha, err)
		}
		if err := t.define(ctx, crd); err != nil {
			return moved, err
		}
	}
	if moved, err = t.move(ctx, alpha); err != nil {
		return moved, err
	}
	last, err := t.taken(p, namespace, false)
	if err != nil {
		return moved, err
	}
	for _, crd := range last {
		if err := t.disown(ctx, crd.GetName()); err != nil {
			return moved, err
		}
		if err := t.define(ctx, crd); err != nil {
			return moved, err
		}
	}
	if len(last) > 0 {
		t.Say("%s alone is served and stored: %d objects and %d owner references were rewritten", alpha, moved.Objects, moved.References)
	}
	return moved, nil
}

// taken are the definitions on their way back: with both versions and the conversion, or in the form that they end in.
// Marks of the installation are left out of the latter, and thereby taken off.
func (t *Target) taken(p *Present, namespace string, both bool) ([]*unstructured.Unstructured, error) {
	rendering := CRDsOnly
	if both {
		rendering = Full
	}
	crds, err := CRDsIn(namespace, rendering)
	if err != nil {
		return nil, err
	}
	crds = slices.DeleteFunc(crds, func(crd *apiextensionsv1.CustomResourceDefinition) bool {
		there := p.CRDs[crd.Name]
		return there == nil || both && !converts(there)
	})
	if both {
		for _, crd := range crds {
			store(crd, alpha)
			crd.Labels = labels()
			crd.Annotations = withInventory(crd.Annotations)
		}
	}
	objects, err := Objects(crds)
	for _, o := range objects {
		p.trust(o, nil, false)
	}
	return objects, err
}

func withInventory(annotations map[string]string) map[string]string {
	all := map[string]string{owningInventory: inventoryID}
	for k, v := range annotations {
		all[k] = v
	}
	return all
}

// define applies one definition. Its fields are ours, whoever else has written the CA.
func (t *Target) define(ctx context.Context, crd *unstructured.Unstructured) error {
	_, err := t.at(crdResource, "").Apply(ctx, crd.GetName(), crd, metav1.ApplyOptions{FieldManager: keys.FieldManager, Force: true})
	if err != nil {
		return fmt.Errorf("apply %s: %w", crd.GetName(), err)
	}
	return nil
}

// disown takes all fields of a definition's spec from others than us, who share the CA with the manager. Otherwise an apply
// would leave the CA in it, and a definition that does not convert must not have one. To take versions and conversion away
// one by one is no way: while both versions are served and nothing converts, the API server prunes.
func (t *Target) disown(ctx context.Context, name string) error {
	for {
		live, err := t.get(ctx, crdResource, "", name)
		if err != nil || live == nil {
			return err
		}
		live.SetManagedFields(slices.DeleteFunc(live.GetManagedFields(), func(f metav1.ManagedFieldsEntry) bool {
			return f.Subresource == "" && (f.Manager != keys.FieldManager || f.Operation != metav1.ManagedFieldsOperationApply)
		}))
		_, err = t.at(crdResource, "").Update(ctx, live, metav1.UpdateOptions{FieldManager: keys.FieldManager})
		if apierrors.IsConflict(err) && ctx.Err() == nil {
			continue
		}
		if err != nil {
			return fmt.Errorf("take %s back to %s: %w", name, alpha, err)
		}
		return nil
	}
}

// tidy removes what the running pair has made besides, and the namespaces unless others have something in them.
func (t *Target) tidy(ctx context.Context, r Removal, done *Removed) error {
	for _, ns := range slices.Compact([]string{r.Namespace, keys.InstallNamespace}) {
		if err := t.clear(ctx, ns, r, done); err != nil {
			return err
		}
	}
	if r.KeepCRDs {
		return nil
	}
	// Leases of verbs and loops, wherever they have run. A live one belongs to somebody who is about to notice.
	return t.each(ctx, leaseResource, func(object *metav1.PartialObjectMetadata) error {
		if !strings.HasPrefix(object.Name, keys.SubjectLeasePrefix) {
			return nil
		}
		return ignoreGone(t.at(leaseResource, object.Namespace).Delete(ctx, object.Name, deleteThis(object.UID)))
	})
}
