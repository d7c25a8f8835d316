package validation

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/features"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
)

// deletion is an error, which admission answers as 403, when the label of the
// object refuses its deletion. The text before the semicolon is upstream's.
func deletion(meta *metav1.ObjectMeta, replicas int32, gates features.Gates) error {
	if !gates.Enabled(features.ResourcesDeletionProtection) || meta.DeletionTimestamp != nil {
		return nil
	}
	const lift = "; to allow it, remove the label " + keys.DeletionProtectionLabel
	value := meta.Labels[keys.DeletionProtectionLabel]
	switch {
	case value == keys.DeletionProtectionAlways:
		return fmt.Errorf("forbidden by ResourcesProtectionDeletion for %s=%s%s", keys.DeletionProtectionLabel, value, lift)
	case value == keys.DeletionProtectionCascading && replicas > 0:
		return fmt.Errorf("forbidden by ResourcesProtectionDeletion for %s=%s and replicas %d>0%s",
			keys.DeletionProtectionLabel, value, replicas, lift)
	default:
		return nil
	}
}
