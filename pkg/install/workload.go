package install

import (
	"strings"
	"unicode"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
)

var (
	serviceType    = metav1.TypeMeta{APIVersion: corev1.SchemeGroupVersion.String(), Kind: "Service"}
	deploymentType = metav1.TypeMeta{APIVersion: appsv1.SchemeGroupVersion.String(), Kind: "Deployment"}
	daemonSetType  = metav1.TypeMeta{APIVersion: appsv1.SchemeGroupVersion.String(), Kind: "DaemonSet"}
	budgetType     = metav1.TypeMeta{APIVersion: policyv1.SchemeGroupVersion.String(), Kind: "PodDisruptionBudget"}
)

const (
	managerPlane = "controller-manager"
	daemonPlane  = "daemon"

	daemonHealthPort int32 = 10221
)

func plane(value string) map[string]string { return map[string]string{componentLabel: value} }

func service(config Config) *corev1.Service {
	return &corev1.Service{
		TypeMeta: serviceType, ObjectMeta: metav1.ObjectMeta{Name: keys.WebhookService, Namespace: config.Namespace, Labels: labels()},
		Spec: corev1.ServiceSpec{
			Selector: plane(managerPlane),
			Ports:    []corev1.ServicePort{{Name: "webhook", Port: keys.WebhookServicePort, TargetPort: intstr.FromInt32(keys.WebhookPort), Protocol: corev1.ProtocolTCP}},
		},
	}
}

// budget keeps one manager when nodes are drained.
func budget(config Config) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		TypeMeta: budgetType, ObjectMeta: metav1.ObjectMeta{Name: managerName, Namespace: config.Namespace, Labels: labels()},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MaxUnavailable: ptr.To(intstr.FromInt32(1)),
			Selector:       &metav1.LabelSelector{MatchLabels: plane(managerPlane)},
		},
	}
}

func deployment(config Config) *appsv1.Deployment {
	meta := metav1.ObjectMeta{Name: managerName, Namespace: config.Namespace, Labels: withVersion(config)}
	return &appsv1.Deployment{
		TypeMeta: deploymentType, ObjectMeta: meta,
		Spec: appsv1.DeploymentSpec{
			Replicas:        ptr.To(config.Replicas),
			MinReadySeconds: 3,
			Selector:        &metav1.LabelSelector{MatchLabels: plane(managerPlane)},
			Strategy: appsv1.DeploymentStrategy{
				Type: appsv1.RollingUpdateDeploymentStrategyType,
				RollingUpdate: &appsv1.RollingUpdateDeployment{
					MaxSurge: ptr.To(intstr.FromString("100%")), MaxUnavailable: ptr.To(intstr.FromInt32(0)),
				},
			},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: plane(managerPlane)},
				Spec:       managerPod(config),
			},
		},
	}
}

func withVersion(config Config) map[string]string {
	all := labels()
	if config.Version != "" {
		all[versionLabel] = labelValue(config.Version)
	}
	return all
}

// labelValue makes a text fit into a label.
func labelValue(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < 0x80 && (r == '.' || r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r)) {
			return r
		}
		return '-'
	}, text)
	return strings.Trim(text[:min(len(text), 63)], "-._")
}

func managerPod(config Config) corev1.PodSpec {
	return corev1.PodSpec{
		ServiceAccountName:            managerAccount,
		PriorityClassName:             "system-cluster-critical",
		TerminationGracePeriodSeconds: ptr.To[int64](30),
		SecurityContext:               podSecurity(),
		Affinity: &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{
				Weight: 100,
				PodAffinityTerm: corev1.PodAffinityTerm{
					TopologyKey:   corev1.LabelHostname,
					LabelSelector: &metav1.LabelSelector{MatchLabels: plane(managerPlane)},
				},
			}},
		}},
		Containers: []corev1.Container{{
			Name: "manager", Image: config.Image,
			Args: []string{"manager", "--feature-gates=" + config.FeatureGates, "--pod-failure-policy=" + string(config.PodFailurePolicy)},
			Env:  environment(),
			Ports: []corev1.ContainerPort{
				{Name: "webhook", ContainerPort: keys.WebhookPort, Protocol: corev1.ProtocolTCP},
				{Name: "health", ContainerPort: keys.HealthPort, Protocol: corev1.ProtocolTCP},
				{Name: "metrics", ContainerPort: keys.MetricsPort, Protocol: corev1.ProtocolTCP},
			},
			ReadinessProbe:  probe("/readyz", keys.HealthPort, 2),
			LivenessProbe:   probe("/healthz", keys.HealthPort, 10),
			Resources:       resources("50m", "64Mi", "512Mi"),
			SecurityContext: containerSecurity(),
		}},
	}
}

// daemonSet runs on every node, whatever its taints.
func daemonSet(config Config) *appsv1.DaemonSet {
	return &appsv1.DaemonSet{
		TypeMeta: daemonSetType, ObjectMeta: metav1.ObjectMeta{Name: daemonName, Namespace: config.Namespace, Labels: withVersion(config)},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: plane(daemonPlane)},
			UpdateStrategy: appsv1.DaemonSetUpdateStrategy{
				Type:          appsv1.RollingUpdateDaemonSetStrategyType,
				RollingUpdate: &appsv1.RollingUpdateDaemonSet{MaxUnavailable: ptr.To(intstr.FromString("10%"))},
			},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: plane(daemonPlane)},
				Spec: corev1.PodSpec{
					ServiceAccountName:           daemonAccount,
					AutomountServiceAccountToken: ptr.To(false), // it asks the API server for nothing
					PriorityClassName:            "system-node-critical",
					SecurityContext:              podSecurity(),
					Tolerations:                  []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
					Containers: []corev1.Container{{
						Name: "daemon", Image: config.Image,
						Args:            []string{"daemon", "--feature-gates=" + config.FeatureGates},
						Env:             append(environment(), fieldEnv("NODE_NAME", "spec.nodeName")),
						Ports:           []corev1.ContainerPort{{Name: "health", ContainerPort: daemonHealthPort, Protocol: corev1.ProtocolTCP}},
						ReadinessProbe:  probe("/readyz", daemonHealthPort, 2),
						LivenessProbe:   probe("/healthz", daemonHealthPort, 10),
						Resources:       resources("10m", "24Mi", "128Mi"),
						SecurityContext: containerSecurity(),
					}},
				},
			},
		},
	}
}

func environment() []corev1.EnvVar {
	return []corev1.EnvVar{fieldEnv("POD_NAMESPACE", "metadata.namespace"), fieldEnv("POD_NAME", "metadata.name")}
}

func fieldEnv(name, path string) corev1.EnvVar {
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}}
}

func probe(path string, port, period int32) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromInt32(port)}},
		PeriodSeconds: period, FailureThreshold: 3,
	}
}

func resources(cpu, memory, limit string) corev1.ResourceRequirements {
	return corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)},
		Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(limit)},
	}
}

// nobody is the user that the image runs as.
const nobody int64 = 65532

func podSecurity() *corev1.PodSecurityContext {
	return &corev1.PodSecurityContext{
		RunAsNonRoot: ptr.To(true), RunAsUser: ptr.To(nobody), RunAsGroup: ptr.To(nobody), FSGroup: ptr.To(nobody),
		SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
}

func containerSecurity() *corev1.SecurityContext {
	return &corev1.SecurityContext{
		AllowPrivilegeEscalation: ptr.To(false), ReadOnlyRootFilesystem: ptr.To(true),
		Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
}
