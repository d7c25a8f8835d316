package inplace

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/revision"
)

// Repair makes an update for a pod whose annotations cannot be used (inplace.md 4.1): nobody knows any more what is left
// to do, so it sets the images of the target revision wherever the pod has others. Start replaces the annotations.
func Repair(pod *corev1.Pod, target *appsv1.ControllerRevision, o Options) (*Spec, error) {
	template, err := revision.Template(target)
	if err != nil {
		return nil, err
	}
	spec := &Spec{Revision: o.Revision}
	if spec.Revision == "" {
		spec.Revision = target.Name
	}
	for i := range template.Spec.Containers {
		c := &template.Spec.Containers[i]
		image := specImage(pod, c.Name)
		if image == "" || sameImage(c.Image, image, "") {
			continue
		}
		if spec.Images == nil {
			spec.Images = map[string]string{}
		}
		spec.Images[c.Name] = c.Image
	}
	return spec, nil
}
