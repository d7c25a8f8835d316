package clonesetsim

import (
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/features"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/sim"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/sim/estimate"
)

// Case is the rollout of a CloneSet to be played: the set as it will be, and the objects that belong to it. Pace and Goals
// are left to the caller; without goals the set's own partition holds.
func Case(set *v1beta1.CloneSet, parts []plan.Object, gates features.Gates) estimate.Case {
	replicas := v1beta1.DefaultReplicas
	if set.Spec.Replicas != nil {
		replicas = *set.Spec.Replicas
	}
	planner := &Planner{Namespace: set.Namespace, Name: set.Name, Gates: gates}
	return estimate.Case{Kind: Kind(), Subject: set, Parts: parts, Replicas: replicas,
		Driver: func(v *sim.View) *sim.Driver { return NewDriver("kubectl-kruise", planner, v) }}
}

// KeepBack is the estimate.Case.Limit of CloneSets: it sets the partition.
func KeepBack(subject plan.Object, partition int32) {
	set, ok := subject.(*v1beta1.CloneSet)
	if !ok {
		return
	}
	block := v1beta1.RollingUpdateCloneSetStrategy{}
	if old := set.Spec.UpdateStrategy.RollingUpdate; old != nil {
		block = *old
	}
	value := intstr.FromInt32(partition)
	block.Partition = &value
	set.Spec.UpdateStrategy.RollingUpdate = &block
}
