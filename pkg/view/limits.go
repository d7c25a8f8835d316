package view

import (
	"strconv"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
)

// LimitsOf reads the limits of a workload's spec, with the defaults of absent fields (cloneset.md 13.1).
func LimitsOf(object plan.Object) Limits {
	set, ok := object.(*v1beta1.CloneSet)
	if !ok {
		return Limits{}
	}
	onDelete := set.Spec.UpdateStrategy.Type == v1beta1.OnDeleteCloneSetUpdateStrategyType
	copied := &v1beta1.CloneSet{Spec: v1beta1.CloneSetSpec{UpdateStrategy: *set.Spec.UpdateStrategy.DeepCopy()}}
	copied.Spec.UpdateStrategy.Type = v1beta1.RollingUpdateCloneSetUpdateStrategyType
	v1beta1.SetCloneSetDefaults(copied)
	u := copied.Spec.UpdateStrategy.RollingUpdate
	limits := Limits{Type: string(u.PodUpdatePolicy), Partition: u.Partition.String(), MaxUnavailable: u.MaxUnavailable.String(),
		MaxSurge: u.MaxSurge.String(), Paused: u.Paused, MinReady: set.Spec.MinReadySeconds}
	if onDelete {
		limits.Type = string(v1beta1.OnDeleteCloneSetUpdateStrategyType)
	}
	return limits
}

// Field is the limit that an intent calls by that name; empty for any other field.
func (l Limits) Field(name string) string {
	switch name {
	case "type":
		return l.Type
	case "partition":
		return l.Partition
	case "maxUnavailable":
		return l.MaxUnavailable
	case "maxSurge":
		return l.MaxSurge
	case "paused":
		return strconv.FormatBool(l.Paused)
	}
	return ""
}
