package install

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/object"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
)

// Try lets the server check what Install would apply, and writes nothing. Objects in a namespace that is not there yet
// cannot be checked; they are returned as they would be sent.
func (t *Target) Try(ctx context.Context, config Config, now time.Time, force bool) ([]*unstructured.Unstructured, error) {
	present, err := t.Look(ctx, now)
	if err != nil {
		return nil, err
	}
	if err := t.mayInstall(ctx, config, present); err != nil {
		return nil, err
	}
	objects, err := present.render(config, Complete, nil)
	if err != nil {
		return nil, err
	}
	options := metav1.ApplyOptions{FieldManager: keys.FieldManager, Force: force, DryRun: []string{metav1.DryRunAll}}
	var failures []error
	for i, o := range objects {
		id := object.UnstructuredToObjMetadata(o)
		mapping, err := t.mapper.RESTMapping(id.GroupKind)
		if err != nil {
			return nil, err
		}
		checked, err := t.at(mapping.Resource, o.GetNamespace()).Apply(ctx, o.GetName(), o, options)
		switch {
		case apierrors.IsNotFound(err) && o.GetNamespace() != "":
		case err != nil:
			failures = append(failures, fmt.Errorf("apply %s: %w", words(id), err))
		default:
			checked.SetManagedFields(nil)
			objects[i] = checked
		}
	}
	return objects, joined(failures)
}
