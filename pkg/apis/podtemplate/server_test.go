package podtemplate_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-kruise/kubectl-kruise/internal/apiserver"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/podtemplate"
)

// specs touch every part of a pod that has defaults.
var specs = map[string]string{
	"plain": `
containers: [{name: a, image: "nginx:1.27"}, {name: b, image: nginx}, {name: c, image: "nginx:latest"}]`,
	"ports and probes": `
hostNetwork: true
containers:
- name: a
  image: a:1
  ports: [{containerPort: 80}, {containerPort: 53, protocol: UDP}]
  livenessProbe: {httpGet: {port: 80}}
  readinessProbe: {tcpSocket: {port: 80}, periodSeconds: 3}
  startupProbe: {grpc: {port: 80}}
  lifecycle: {preStop: {httpGet: {port: 80}}}`,
	"env and resources": `
initContainers:
- {name: i, image: i, resources: {limits: {cpu: 1}}}
- {name: native, image: i, restartPolicy: Always}
containers:
- name: a
  image: a
  resources: {limits: {memory: 1Gi, cpu: 500m}, requests: {cpu: 100m}}
  resizePolicy: [{resourceName: cpu, restartPolicy: NotRequired}]
  env:
  - {name: NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
  - {name: CPU, valueFrom: {resourceFieldRef: {resource: limits.cpu}}}
  - {name: KEY, valueFrom: {secretKeyRef: {name: s, key: k}}}
  securityContext: {privileged: true}`,
	"volumes": `
containers: [{name: a, image: a}]
volumes:
- {name: empty}
- {name: secret, secret: {secretName: s}}
- {name: config, configMap: {name: c}}
- {name: host, hostPath: {path: /tmp}}
- {name: down, downwardAPI: {items: [{path: p, fieldRef: {fieldPath: metadata.labels}}]}}
- name: projected
  projected: {sources: [{serviceAccountToken: {path: t}}, {downwardAPI: {items: [{path: p, fieldRef: {fieldPath: metadata.name}}]}}]}
- {name: iscsi, iscsi: {targetPortal: "1.2.3.4:3260", iqn: "iqn.2001-04.com.example:storage", lun: 0}}
- {name: rbd, rbd: {monitors: ["1.2.3.4"], image: x}}
- {name: scale, scaleIO: {gateway: g, system: s, volumeName: v, secretRef: {name: s}}}
- {name: azure, azureDisk: {diskName: d, diskURI: "https://blob/d"}}
- name: own
  ephemeral: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}}`,
	"scheduling": `
terminationGracePeriodSeconds: 5
topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {a: b}}}]
affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: zone, labelSelector: {matchLabels: {a: b}}}]}}
containers: [{name: a, image: a, terminationMessagePolicy: FallbackToLogsOnError}]`,
}

// The table of defaults is our own; the API server is what it has to agree with.
func TestDefaultsAgreeWithTheServer(t *testing.T) {
	t.Parallel()
	server := apiserver.New(t)
	for name, text := range specs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "defaults"}}
			if err := yaml.UnmarshalStrict([]byte(text), &pod.Spec); err != nil {
				t.Fatal(err)
			}
			pod.Spec.AutomountServiceAccountToken = ptr.To(false)
			pod.Spec.ServiceAccountName = "default"
			got, err := server.Kube.CoreV1().Pods(server.Namespace).Create(t.Context(), pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			if err != nil {
				t.Fatal(err)
			}
			want := pod.Spec.DeepCopy()
			podtemplate.SetPodDefaults(want)
			// What admission plugins add is no default.
			want.Priority, want.PreemptionPolicy, want.Tolerations = got.Spec.Priority, got.Spec.PreemptionPolicy, got.Spec.Tolerations
			if diff := cmp.Diff(got.Spec, *want); diff != "" {
				t.Errorf("defaults (-server +ours):\n%s", diff)
			}
		})
	}
}
