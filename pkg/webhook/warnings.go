package webhook

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/features"
)

// cloneSetWarnings are about what is allowed but does not do what one may think.
func cloneSetWarnings(set *v1beta1.CloneSet, gates features.Gates) []string {
	var said []string
	strategy := set.Spec.UpdateStrategy
	rolling := strategy.RollingUpdate
	if strategy.Type == v1beta1.OnDeleteCloneSetUpdateStrategyType || rolling == nil {
		return nil
	}
	replicas := ptr.Deref(set.Spec.Replicas, v1beta1.DefaultReplicas)
	if p := rolling.Partition; p != nil && p.Type == intstr.Int && p.IntVal > replicas && replicas > 0 {
		said = append(said, fmt.Sprintf("partition %d is more than the %d replicas: no pod will be updated", p.IntVal, replicas))
	}
	if m := rolling.MaxUnavailable; m != nil && replicas > 1 {
		if n, err := intstr.GetScaledValueFromIntOrPercent(m, int(replicas), true); err == nil && n >= int(replicas) {
			said = append(said, fmt.Sprintf("maxUnavailable %s lets all %d pods be unavailable at once", m, replicas))
		}
	}
	if in := rolling.InPlaceUpdateStrategy; in != nil && !gates.Enabled(features.PreDownloadImageForInPlaceUpdate) &&
		(in.ImagePreDownloadParallelism != nil || in.ImagePreDownloadTimeoutSeconds != nil || in.ImagePreDownloadMinUpdatedReadyPods != nil) {
		said = append(said, fmt.Sprintf("the imagePreDownload settings have no effect: the feature gate %s is off", features.PreDownloadImageForInPlaceUpdate))
	}
	return said
}
