package podready

import "github.com/kubectl-kruise/kubectl-kruise/pkg/apis/features"

// Concerns is the CEL expression over a new pod, object, that says whether Inject may change it. A webhook need not be asked
// about other pods. It is empty when all pods are concerned.
func Concerns(gates features.Gates) string {
	if gates.Enabled(features.KruisePodReadinessGate) {
		return ""
	}
	return "has(object.metadata.ownerReferences) && " +
		"object.metadata.ownerReferences.exists(o, has(o.controller) && o.controller && o.apiVersion.startsWith('apps.kruise.io/'))"
}
