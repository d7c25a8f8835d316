package inplace

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// qosClass is the class that the server would give to a pod of that spec. Where a container names a limit and no
// request, the request is the limit, as the server has it.
func qosClass(spec *corev1.PodSpec) corev1.PodQOSClass {
	if spec.Resources != nil && len(spec.Resources.Limits)+len(spec.Resources.Requests) > 0 {
		return classOf([]corev1.ResourceRequirements{*spec.Resources})
	}
	var all []corev1.ResourceRequirements
	for _, list := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range list {
			all = append(all, list[i].Resources)
		}
	}
	return classOf(all)
}

func classOf(all []corev1.ResourceRequirements) corev1.PodQOSClass {
	none, guaranteed := true, true
	for _, r := range all {
		for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
			limit, limited := positive(r.Limits, name)
			request, requested := positive(r.Requests, name)
			if _, named := r.Requests[name]; !named {
				request, requested = limit, limited
			}
			if limited || requested {
				none = false
			}
			if !limited || !requested || limit.Cmp(request) != 0 {
				guaranteed = false
			}
		}
	}
	switch {
	case none:
		return corev1.PodQOSBestEffort
	case guaranteed:
		return corev1.PodQOSGuaranteed
	}
	return corev1.PodQOSBurstable
}

func positive(list corev1.ResourceList, name corev1.ResourceName) (resource.Quantity, bool) {
	q, ok := list[name]
	return q, ok && q.Sign() > 0
}
