package podtemplate

import corev1 "k8s.io/api/core/v1"

func setContainerDefaults(container *corev1.Container) {
	setIfZero(&container.ImagePullPolicy, pullPolicy(container.Image))
	setIfZero(&container.TerminationMessagePath, corev1.TerminationMessagePathDefault)
	setIfZero(&container.TerminationMessagePolicy, corev1.TerminationMessageReadFile)
	for i := range container.Ports {
		setIfZero(&container.Ports[i].Protocol, corev1.ProtocolTCP)
	}
	for i := range container.Env {
		setEnvDefaults(container.Env[i].ValueFrom)
	}
	roundUp(container.Resources.Limits)
	roundUp(container.Resources.Requests)
	setProbeDefaults(container.LivenessProbe)
	setProbeDefaults(container.ReadinessProbe)
	setProbeDefaults(container.StartupProbe)
	if container.Lifecycle != nil {
		setHandlerDefaults(container.Lifecycle.PostStart)
		setHandlerDefaults(container.Lifecycle.PreStop)
	}
}

func setEnvDefaults(source *corev1.EnvVarSource) {
	if source == nil {
		return
	}
	setFieldRefDefaults(source.FieldRef)
	if source.FileKeyRef != nil {
		setIfNil(&source.FileKeyRef.Optional, false)
	}
}

func setFieldRefDefaults(ref *corev1.ObjectFieldSelector) {
	if ref != nil {
		setIfZero(&ref.APIVersion, "v1")
	}
}

func setProbeDefaults(probe *corev1.Probe) {
	if probe == nil {
		return
	}
	setIfZero(&probe.TimeoutSeconds, 1)
	setIfZero(&probe.PeriodSeconds, 10)
	setIfZero(&probe.SuccessThreshold, 1)
	setIfZero(&probe.FailureThreshold, 3)
	setHTTPGetDefaults(probe.HTTPGet)
	if probe.GRPC != nil {
		setIfNil(&probe.GRPC.Service, "")
	}
}

func setHandlerDefaults(handler *corev1.LifecycleHandler) {
	if handler != nil {
		setHTTPGetDefaults(handler.HTTPGet)
	}
}

func setHTTPGetDefaults(action *corev1.HTTPGetAction) {
	if action == nil {
		return
	}
	setIfZero(&action.Path, "/")
	setIfZero(&action.Scheme, corev1.URISchemeHTTP)
}
