package cloneset

import (
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/budget"
)

// SpecError says that a stored value of the spec cannot be understood. Nothing is planned for such a set.
type SpecError struct {
	// Field is the path in the hub version.
	Field string
	Err   error
}

// Error names the field and the fault.
func (e *SpecError) Error() string {
	fault := e.Err
	if inner := errors.Unwrap(fault); inner != nil {
		fault = inner // the budget's own name of the field is shorter than ours
	}
	return e.Field + ": " + fault.Error()
}

// Unwrap gives the fault without the field.
func (e *SpecError) Unwrap() error { return e.Err }

// spec is the set's spec with its defaults, resolved to numbers.
type spec struct {
	limits
	policy   v1beta1.PodUpdatePolicy
	onDelete bool
	paused   bool
	minReady time.Duration
	grace    int32
	history  int
	priority *v1beta1.UpdatePriorityStrategy
	scatter  v1beta1.UpdateScatterStrategy
	// rolling says that there is a rollingUpdate block, stored or by default.
	rolling bool
}

const rollingPath = "spec.updateStrategy.rollingUpdate."

// resolve reads the spec with the defaults of cloneset.md 2 and 13.1 (items 1 and 4), which are never written back.
func resolve(set *v1beta1.CloneSet) (spec, error) {
	s := spec{
		onDelete: set.Spec.UpdateStrategy.Type == v1beta1.OnDeleteCloneSetUpdateStrategyType,
		policy:   v1beta1.ReCreatePodUpdatePolicy,
		minReady: time.Duration(set.Spec.MinReadySeconds) * time.Second,
		history:  int(v1beta1.DefaultRevisionHistoryLimit),
	}
	s.replicas = int(v1beta1.DefaultReplicas)
	if set.Spec.Replicas != nil {
		s.replicas = int(*set.Spec.Replicas)
	}
	if s.replicas < 0 {
		return s, &SpecError{"spec.replicas", fmt.Errorf("%d is negative, want 0 or more", s.replicas)}
	}
	if set.Spec.RevisionHistoryLimit != nil {
		s.history = int(*set.Spec.RevisionHistoryLimit)
	}
	if err := s.resolveScale(&set.Spec.ScaleStrategy); err != nil {
		return s, err
	}
	block := set.Spec.UpdateStrategy.RollingUpdate
	if block == nil && s.onDelete {
		block = &v1beta1.RollingUpdateCloneSetStrategy{}
	} else {
		s.rolling = true
	}
	if block == nil {
		block = &v1beta1.RollingUpdateCloneSetStrategy{}
	}
	return s, s.resolveRolling(block)
}

func (s *spec) resolveScale(scale *v1beta1.CloneSetScaleStrategy) error {
	s.scaleMaxUnavailable = unlimited
	s.excludePreparingDelete = scale.ExcludePreparingDelete
	if scale.MaxUnavailable == nil {
		return nil
	}
	limit, err := budget.ScaleMaxUnavailable(scale.MaxUnavailable, int32(s.replicas))
	if err != nil {
		return &SpecError{"spec.scaleStrategy.maxUnavailable", err}
	}
	if limit != budget.Unlimited {
		s.scaleMaxUnavailable = int(limit)
	}
	return nil
}

func (s *spec) resolveRolling(block *v1beta1.RollingUpdateCloneSetStrategy) error {
	replicas := int32(s.replicas)
	switch block.PodUpdatePolicy {
	case "":
	case v1beta1.ReCreatePodUpdatePolicy, v1beta1.InPlaceIfPossiblePodUpdatePolicy, v1beta1.InPlaceOnlyPodUpdatePolicy:
		s.policy = block.PodUpdatePolicy
	default:
		return &SpecError{rollingPath + "podUpdatePolicy", fmt.Errorf("%q is none of %s, %s, %s", block.PodUpdatePolicy,
			v1beta1.ReCreatePodUpdatePolicy, v1beta1.InPlaceIfPossiblePodUpdatePolicy, v1beta1.InPlaceOnlyPodUpdatePolicy)}
	}
	s.paused, s.priority, s.scatter = block.Paused, block.PriorityStrategy, block.ScatterStrategy
	if block.InPlaceUpdateStrategy != nil {
		s.grace = block.InPlaceUpdateStrategy.GracePeriodSeconds
	}
	partition, err := budget.Partition(block.Partition, replicas)
	if err != nil {
		return &SpecError{rollingPath + "partition", err}
	}
	surge, err := budget.MaxSurge(block.MaxSurge, replicas)
	if err != nil {
		return &SpecError{rollingPath + "maxSurge", err}
	}
	if surge > 0 && s.policy == v1beta1.InPlaceOnlyPodUpdatePolicy && !s.onDelete {
		return &SpecError{rollingPath + "maxSurge", fmt.Errorf("%s with InPlaceOnly, which makes no other pods, want 0", block.MaxSurge)}
	}
	if s.paused {
		surge = 0
	}
	unavailable, err := budget.MaxUnavailable(block.MaxUnavailable, replicas, surge)
	if err != nil {
		return &SpecError{rollingPath + "maxUnavailable", err}
	}
	if zero(block.MaxUnavailable, replicas) && zero(block.MaxSurge, replicas) && block.MaxUnavailable != nil && replicas > 0 {
		return &SpecError{rollingPath + "maxUnavailable", fmt.Errorf("0 with maxSurge 0 lets nothing move, want one of them above 0")}
	}
	s.partition, s.surge, s.maxUnavailable = int(partition), int(surge), int(unavailable)
	return nil
}

// zero says that a limit lets nothing through even when it is rounded up (cloneset.md 13.2).
func zero(v *intstr.IntOrString, replicas int32) bool {
	n, err := budget.MaxSurge(v, replicas)
	return err == nil && n == 0
}
