package podtemplate

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/features"
)

// SetAdmissionDefaults fills in what admission writes into the template and
// the claim templates of a workload. With the gate TemplateNoDefaults it
// writes nothing.
func SetAdmissionDefaults(template *corev1.PodTemplateSpec, claims []corev1.PersistentVolumeClaim, gates features.Gates) {
	if gates.Enabled(features.TemplateNoDefaults) {
		return
	}
	SetDefaults(template, Options{HostPorts: gates.Enabled(features.DefaultHostNetworkHostPortsInPodTemplates)})
	for i := range claims {
		SetClaimDefaults(&claims[i])
	}
}
