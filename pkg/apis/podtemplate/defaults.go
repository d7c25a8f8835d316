package podtemplate

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// Options chooses between forms of the defaults.
type Options struct {
	// HostPorts gives ports of a host-network template the host port of the
	// same number (gate DefaultHostNetworkHostPortsInPodTemplates).
	HostPorts bool
}

// SetDefaults fills in what OpenKruise's webhook would: the defaults of the
// API server for pod templates, except that a regular container without a pull
// policy gets Always, so that an update in place pulls.
func SetDefaults(template *corev1.PodTemplateSpec, options Options) {
	spec := &template.Spec
	for i := range spec.Containers {
		setIfZero(&spec.Containers[i].ImagePullPolicy, corev1.PullAlways)
	}
	setSpecDefaults(spec)
	if options.HostPorts && spec.HostNetwork {
		setHostPorts(spec)
	}
}

// SetPodDefaults fills in what the API server itself would when a pod with
// this spec is created, before admission plugins add a service account, its
// token and tolerations.
func SetPodDefaults(spec *corev1.PodSpec) {
	setSpecDefaults(spec)
	setIfZero(&spec.ServiceAccountName, spec.DeprecatedServiceAccount)
	spec.DeprecatedServiceAccount = spec.ServiceAccountName
	setIfNil(&spec.EnableServiceLinks, corev1.DefaultEnableServiceLinks)
	if *spec.TerminationGracePeriodSeconds < 0 {
		spec.TerminationGracePeriodSeconds = ptr.To[int64](1)
	}
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			setRequestsFromLimits(&containers[i].Resources)
		}
	}
	if spec.HostNetwork {
		setHostPorts(spec)
	}
}

// SetClaimDefaults fills in what OpenKruise's webhook would. It leaves the spec
// alone, although the API server gives a claim made from it the volume mode
// Filesystem: the hash of the claim templates is over their specs.
func SetClaimDefaults(claim *corev1.PersistentVolumeClaim) {
	setIfZero(&claim.Status.Phase, corev1.ClaimPending)
}

func setSpecDefaults(spec *corev1.PodSpec) {
	setIfZero(&spec.DNSPolicy, corev1.DNSClusterFirst)
	setIfZero(&spec.RestartPolicy, corev1.RestartPolicyAlways)
	setIfNil(&spec.SecurityContext, corev1.PodSecurityContext{})
	setIfNil(&spec.TerminationGracePeriodSeconds, corev1.DefaultTerminationGracePeriodSeconds)
	setIfZero(&spec.SchedulerName, corev1.DefaultSchedulerName)
	for i := range spec.Volumes {
		setVolumeDefaults(&spec.Volumes[i])
	}
	for i := range spec.InitContainers {
		setContainerDefaults(&spec.InitContainers[i])
	}
	for i := range spec.Containers {
		setContainerDefaults(&spec.Containers[i])
	}
	for i := range spec.EphemeralContainers {
		setContainerDefaults((*corev1.Container)(&spec.EphemeralContainers[i].EphemeralContainerCommon))
	}
	roundUp(spec.Overhead)
	if spec.Resources != nil {
		roundUp(spec.Resources.Limits)
		roundUp(spec.Resources.Requests)
	}
}

func setRequestsFromLimits(resources *corev1.ResourceRequirements) {
	if resources.Limits == nil {
		return
	}
	if resources.Requests == nil {
		resources.Requests = corev1.ResourceList{}
	}
	for name, limit := range resources.Limits {
		if _, found := resources.Requests[name]; !found {
			resources.Requests[name] = limit.DeepCopy()
		}
	}
}

func setHostPorts(spec *corev1.PodSpec) {
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			for j := range containers[i].Ports {
				port := &containers[i].Ports[j]
				setIfZero(&port.HostPort, port.ContainerPort)
			}
		}
	}
}

// roundUp rounds to the smallest unit that the API server stores.
func roundUp(list corev1.ResourceList) {
	const milli = -3
	for name, quantity := range list {
		quantity.RoundUp(milli)
		list[name] = quantity
	}
}

// pullPolicy is the API server's choice: a moving tag is always pulled.
func pullPolicy(image string) corev1.PullPolicy {
	name, _, hasDigest := strings.Cut(image, "@")
	_, tag, hasTag := strings.Cut(name[strings.LastIndex(name, "/")+1:], ":")
	if tag == "latest" || (!hasTag && !hasDigest && name != "") {
		return corev1.PullAlways
	}
	return corev1.PullIfNotPresent
}

func setIfZero[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

func setIfNil[T any](field **T, value T) {
	if *field == nil {
		*field = &value
	}
}
