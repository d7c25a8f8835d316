package cluster

import (
	"context"
	"fmt"
)

// nodeCPUs is how many processors each real node claims, so that pods are not kept waiting by requests that they
// never use.
const nodeCPUs = 16

type object struct{ path, yaml string }

// objects are what every sandbox has from the beginning.
func objects() []object {
	const admission = "/apis/admissionregistration.k8s.io/v1/"
	return []object{
		{"/apis/storage.k8s.io/v1/storageclasses", `apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata:
  name: standard
  annotations: {storageclass.kubernetes.io/is-default-class: "true"}
provisioner: kubernetes.io/host-path
allowVolumeExpansion: true
`},
		{admission + "mutatingadmissionpolicies", fmt.Sprintf(`apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: sandbox-node-cpus}
spec:
  failurePolicy: Ignore
  reinvocationPolicy: Never
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [nodes, nodes/status]}
  matchConditions:
  - name: real
    expression: >-
      object.metadata.name.startsWith("node") && has(object.status.allocatable) && "cpu" in object.status.allocatable
  mutations:
  - patchType: JSONPatch
    jsonPatch:
      expression: >-
        [JSONPatch{op: "replace", path: "/status/allocatable/cpu", value: "%[1]d"},
        JSONPatch{op: "replace", path: "/status/capacity/cpu", value: "%[1]d"}]
`, nodeCPUs)},
		{admission + "mutatingadmissionpolicybindings", `apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: sandbox-node-cpus}
spec: {policyName: sandbox-node-cpus}
`},
	}
}

func createObjects(ctx context.Context, client *api) error {
	for _, o := range objects() {
		if err := client.create(ctx, o.path, o.yaml); err != nil {
			return err
		}
	}
	return nil
}
