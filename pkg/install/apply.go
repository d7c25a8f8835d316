package install

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
	"sigs.k8s.io/cli-utils/pkg/apply"
	"sigs.k8s.io/cli-utils/pkg/apply/event"
	"sigs.k8s.io/cli-utils/pkg/common"
	"sigs.k8s.io/cli-utils/pkg/inventory"
	"sigs.k8s.io/cli-utils/pkg/object"
	"sigs.k8s.io/cli-utils/pkg/object/validation"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
)

// The inventory: a ConfigMap in the install namespace lists what was installed, and every object names it.
const (
	inventoryName   = "kubectl-kruise-inventory"
	inventoryID     = "kubectl-kruise"
	owningInventory = inventory.OwningInventoryKey
)

func inventoryObject(namespace string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetAPIVersion(corev1.SchemeGroupVersion.String())
	object.SetKind("ConfigMap")
	object.SetNamespace(namespace)
	object.SetName(inventoryName)
	all := labels()
	all[common.InventoryLabel] = inventoryID
	object.SetLabels(all)
	return object
}

// applying is how a set of objects is applied.
type applying struct {
	namespace string
	// wait is how long the objects have to become current.
	wait  time.Duration
	force bool
}

// NotReadyError says which objects did not become current in time. Everything was applied.
type NotReadyError struct{ objects []string }

func (e *NotReadyError) Error() string { return "not ready in time: " + strings.Join(e.objects, ", ") }

// apply sends the objects by server-side apply, deletes what an earlier run has applied and this set has no longer, and
// waits until what was applied is current. The inventory is written before the objects and after them, so that a run
// that is interrupted leaves nothing unknown behind.
func (t *Target) apply(ctx context.Context, objects []*unstructured.Unstructured, how applying) error {
	factory := cmdutil.NewFactory(t.getter)
	invClient, err := inventory.ClusterClientFactory{StatusPolicy: inventory.StatusPolicyNone}.NewClient(factory)
	if err != nil {
		return err
	}
	applier, err := apply.NewApplierBuilder().WithFactory(factory).WithInventoryClient(invClient).Build()
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	events := applier.Run(ctx, inventory.WrapInventoryInfoObj(inventoryObject(how.namespace)), copies(objects), apply.ApplierOptions{
		ServerSideOptions: common.ServerSideOptions{ServerSideApply: true, ForceConflicts: how.force, FieldManager: keys.FieldManager},
		ReconcileTimeout:  how.wait,
		PruneTimeout:      how.wait,
		InventoryPolicy:   inventory.PolicyAdoptIfNoInventory,
		ValidationPolicy:  validation.ExitEarly,
		// Nothing else in the cluster hangs on what is pruned.
		PrunePropagationPolicy: metav1.DeletePropagationBackground,
	})
	return t.follow(ctx, events)
}

func copies(objects []*unstructured.Unstructured) object.UnstructuredSet {
	set := make(object.UnstructuredSet, len(objects))
	for i, o := range objects {
		set[i] = o.DeepCopy()
	}
	return set
}

// follow reads the events to their end and makes one error of what went wrong.
func (t *Target) follow(ctx context.Context, events <-chan event.Event) error {
	var failures []error
	var late []string
	for e := range events {
		switch e.Type {
		case event.ErrorType:
			failures = append(failures, e.ErrorEvent.Err)
		case event.ValidationType:
			failures = append(failures, e.ValidationEvent.Error)
		case event.ApplyType:
			if e.ApplyEvent.Error != nil {
				failures = append(failures, fmt.Errorf("apply %s: %s", words(e.ApplyEvent.Identifier), plain(e.ApplyEvent.Error)))
			}
		case event.PruneType:
			if e.PruneEvent.Error != nil {
				failures = append(failures, fmt.Errorf("remove %s: %w", words(e.PruneEvent.Identifier), e.PruneEvent.Error))
			} else if e.PruneEvent.Status == event.PruneSuccessful {
				t.Say("removed %s, which is no part of it any more", words(e.PruneEvent.Identifier))
			}
		case event.WaitType:
			if s := e.WaitEvent.Status; s == event.ReconcileTimeout || s == event.ReconcileFailed {
				late = append(late, words(e.WaitEvent.Identifier))
			}
		}
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case len(failures) > 0:
		return joined(failures)
	case len(late) > 0:
		slices.Sort(late)
		return &NotReadyError{slices.Compact(late)}
	}
	return nil
}

// plain is what an apply failed of, in one line, with our own way out of a conflict instead of kubectl's.
func plain(err error) string {
	text, advice, conflict := strings.Cut(err.Error(), "\nPlease review the fields above")
	text = strings.Join(strings.Fields(text), " ")
	if conflict && advice != "" {
		text += "; take these fields with --force-conflicts"
	}
	return text
}

// joined makes one error of several, in one line; nil when there is none.
func joined(list []error) error {
	switch len(list) {
	case 0:
		return nil
	case 1:
		return list[0]
	}
	return fmt.Errorf("%w; %w", list[0], joined(list[1:]))
}

func words(id object.ObjMetadata) string {
	name := strings.ToLower(id.GroupKind.Kind) + "/" + id.Name
	if id.Namespace != "" {
		return name + " in " + id.Namespace
	}
	return name
}

// inventoried lists what was applied with an inventory; nil when there is none.
func (t *Target) inventoried(ctx context.Context, namespace string) (object.ObjMetadataSet, error) {
	found, err := t.get(ctx, configMapResource, namespace, inventoryName)
	if found == nil || err != nil {
		return nil, err
	}
	set, err := inventory.WrapInventoryObj(found).Load()
	if err != nil {
		return nil, fmt.Errorf("inventory %s/%s: %w", namespace, inventoryName, err)
	}
	return set, nil
}
