package launchorder

import (
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
)

var start = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)

// pod makes a pod named web with the parts that the edits add.
func pod(edits ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "web-uid", CreationTimestamp: metav1.NewTime(start)}}
	p.Spec.RestartPolicy = corev1.RestartPolicyAlways
	for _, edit := range edits {
		edit(p)
	}
	return p
}

func annotation(key, value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { metav1.SetMetaDataAnnotation(&p.ObjectMeta, key, value) }
}

var (
	ordered   = annotation(keys.LaunchPriorityAnnotation, "Ordered")
	completes = annotation(keys.LaunchCompletedAnnotation, "true")
)

func ctr(name string, env ...corev1.EnvVar) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: name, Image: name, Env: env})
	}
}

func variable(name, value string) corev1.EnvVar { return corev1.EnvVar{Name: name, Value: value} }

func priority(value string) corev1.EnvVar { return variable(keys.PriorityEnv, value) }

func barrierOn(configMap, key string) corev1.EnvVar {
	return corev1.EnvVar{Name: keys.BarrierEnv, ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{
		LocalObjectReference: corev1.LocalObjectReference{Name: configMap}, Key: key}}}
}

// at is a container of pod web with a barrier of that priority, not ready unless an edit says so.
func at(name string, n int, edits ...func(*corev1.ContainerStatus)) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		ctr(name, barrierOn("web-barrier", "p_"+strconv.Itoa(n)))(p)
		status(name, edits...)(p)
	}
}

func status(name string, edits ...func(*corev1.ContainerStatus)) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		if len(edits) == 0 {
			return
		}
		s := corev1.ContainerStatus{Name: name}
		for _, edit := range edits {
			edit(&s)
		}
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, s)
	}
}

func ready(s *corev1.ContainerStatus) {
	running(s)
	s.Ready = true
}

func running(s *corev1.ContainerStatus) {
	s.ContainerID = "c://" + s.Name
	s.State.Running = &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(start.Add(time.Minute))}
}

func ended(code int32) func(*corev1.ContainerStatus) {
	return func(s *corev1.ContainerStatus) {
		s.ContainerID = "c://" + s.Name
		s.State.Terminated = &corev1.ContainerStateTerminated{ExitCode: code, FinishedAt: metav1.NewTime(start.Add(2 * time.Minute))}
	}
}

func crashing(s *corev1.ContainerStatus) {
	s.ContainerID = "c://" + s.Name
	s.State.Waiting = &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: "back-off 10s restarting failed container"}
	s.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 1, Message: "bind: address in use", FinishedAt: metav1.NewTime(start.Add(3 * time.Minute))}
}

func waiting(reason, message string) func(*corev1.ContainerStatus) {
	return func(s *corev1.ContainerStatus) {
		s.State.Waiting = &corev1.ContainerStateWaiting{Reason: reason, Message: message}
	}
}

// held is a container of pod web whose key the kubelet has not found.
func held(s *corev1.ContainerStatus) {
	waiting("CreateContainerConfigError", "couldn't find key p_-1 in ConfigMap default/web-barrier")(s)
}

func restarts(policy corev1.RestartPolicy) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.RestartPolicy = policy }
}

func containersReady(p *corev1.Pod) {
	p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.ContainersReady, Status: corev1.ConditionTrue})
}

// configMap is the barrier of pod web, owned by a pod of that name and UID, with the given keys.
func configMap(podUID types.UID, opened ...string) *corev1.ConfigMap {
	c := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web-barrier", UID: "barrier-uid"}}
	if podUID != "" {
		c.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "web", UID: podUID}}
	}
	for _, key := range opened {
		if c.Data == nil {
			c.Data = map[string]string{}
		}
		c.Data[key] = "true"
	}
	return c
}
