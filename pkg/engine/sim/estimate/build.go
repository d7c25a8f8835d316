package estimate

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/sim"
)

// spare is the node of pods that have none yet.
const spare = "node"

// build makes a cluster in which the objects are as they are in the real one. UIDs are new, so owner references follow.
func build(c *Case) (*sim.Cluster, error) {
	world := sim.New(sim.Config{Kinds: []sim.Kind{c.Kind}, Stages: sim.PodStages(c.Pace), Nodes: nodesOf(c.Parts)})
	subject, err := world.Create(player, c.Kind.Kind, c.Kind.Shallow(c.Subject))
	if err != nil {
		return nil, err
	}
	if c.Kind.CopyStatus != nil {
		err := world.Change(player, c.Kind.Kind, subject.GetNamespace(), subject.GetName(), func(obj plan.Object) { c.Kind.CopyStatus(obj, c.Subject) })
		if err != nil {
			return nil, err
		}
	}
	owner := owners{from: c.Subject.GetUID(), to: subject.GetUID()}
	for _, part := range c.Parts {
		kind, ok := kindOf(part)
		if !ok {
			return nil, fmt.Errorf("%T cannot be played", part)
		}
		if pod, ok := part.(*corev1.Pod); ok {
			err = addPod(world, pod, owner)
		} else {
			copied, _ := part.DeepCopyObject().(plan.Object)
			owner.follow(copied)
			_, err = world.Create(player, kind, copied)
		}
		if err != nil {
			return nil, err
		}
	}
	return world, nil
}

func kindOf(obj plan.Object) (schema.GroupKind, bool) {
	switch obj.(type) {
	case *corev1.Pod:
		return plan.PodKind, true
	case *corev1.PersistentVolumeClaim:
		return plan.ClaimKind, true
	case *appsv1.ControllerRevision:
		return plan.ControllerRevisionKind, true
	}
	return schema.GroupKind{}, false
}

// owners replaces the UID of the subject in owner references.
type owners struct{ from, to types.UID }

func (o owners) follow(obj metav1.Object) {
	list := slices.Clone(obj.GetOwnerReferences())
	for i := range list {
		if list[i].UID == o.from {
			list[i].UID = o.to
		}
	}
	obj.SetOwnerReferences(list)
}

// addPod stores a pod with its status. Pods that are going or gone are left out: they are not waited for by an estimate.
func addPod(world *sim.Cluster, pod *corev1.Pod, owner owners) error {
	if pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded {
		return nil
	}
	copied := pod.DeepCopy()
	owner.follow(copied)
	created := copied.CreationTimestamp
	if _, err := world.Create(player, plan.PodKind, copied); err != nil {
		return err
	}
	return world.Change(player, plan.PodKind, pod.Namespace, pod.Name, func(obj plan.Object) {
		p, ok := obj.(*corev1.Pod)
		if !ok {
			return
		}
		p.CreationTimestamp = created
		p.Status = *pod.Status.DeepCopy()
		p.Status.ObservedGeneration = p.Generation
		runAsAsked(p)
	})
}

// runAsAsked lets running containers have the image of the spec: registries and digests are told in other words there.
func runAsAsked(p *corev1.Pod) {
	list := make([]corev1.ContainerStatus, 0, len(p.Spec.Containers))
	for _, c := range p.Spec.Containers {
		i := slices.IndexFunc(p.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool { return s.Name == c.Name })
		if i < 0 {
			p.Status.ContainerStatuses = nil // it has not started yet
			return
		}
		s := p.Status.ContainerStatuses[i]
		if s.State.Running != nil {
			s.Image = c.Image
		}
		list = append(list, s)
	}
	p.Status.ContainerStatuses = list
}

// nodesOf are the nodes that the pods know, and one for pods without.
func nodesOf(parts []plan.Object) []sim.Node {
	names := []string{spare}
	for _, part := range parts {
		if pod, ok := part.(*corev1.Pod); ok && pod.Spec.NodeName != "" {
			note(&names, pod.Spec.NodeName)
		}
	}
	nodes := make([]sim.Node, len(names))
	for i, name := range names {
		nodes[i].Name = name
	}
	return nodes
}
