package budget

import (
	"fmt"
	"math"

	"k8s.io/apimachinery/pkg/util/intstr"
)

// Unlimited is what ScaleMaxUnavailable returns for an absent value.
const Unlimited = math.MaxInt32

// defaultMaxUnavailable stands for an absent maxUnavailable (cloneset.md 2.1).
var defaultMaxUnavailable = intstr.FromString("20%")

// Partition is the number of pods that stay at a revision that is not the update revision (cloneset.md 2.1). A
// percentage is rounded up; one that is not written "100%" still lets one pod through if there is more than one. The
// result lies in [0, replicas]. Absent means 0.
//
// OpenKruise takes a partition that it cannot parse as 0, so as "update everything"; here the number beside the error is
// replicas, which holds all updates.
func Partition(v *intstr.IntOrString, replicas int32) (int32, error) {
	if v == nil {
		return 0, nil
	}
	value, err := Parse(*v)
	if err != nil {
		return max(replicas, 0), fmt.Errorf("partition: %w", err)
	}
	n := value.Up(replicas)
	if value.percent && replicas > 1 && n == replicas && value.literal != "100%" {
		n = replicas - 1
	}
	return min(max(n, 0), max(replicas, 0)), nil
}

// MaxSurge is how many pods above replicas an update may create (cloneset.md 2.1); a percentage is rounded up. Absent
// means 0. The caller sets the surge to 0 while updates are paused, before anything else uses it.
func MaxSurge(v *intstr.IntOrString, replicas int32) (int32, error) {
	if v == nil {
		return 0, nil
	}
	value, err := Parse(*v)
	if err != nil {
		return 0, fmt.Errorf("maxSurge: %w", err)
	}
	return max(value.Up(replicas), 0), nil
}

// MaxUnavailable is how many pods may be unavailable for updates and deletions (cloneset.md 2.1). A percentage is
// rounded up when surge, the effective one, is 0 and down otherwise. Absent means "20%".
//
// For OnDelete without a rollingUpdate block OpenKruise rounds that "20%" down, which forbids a specified delete for ever
// below 5 replicas; a caller that passes nil and surge 0 gets it rounded up.
func MaxUnavailable(v *intstr.IntOrString, replicas, surge int32) (int32, error) {
	if v == nil {
		v = &defaultMaxUnavailable
	}
	value, err := Parse(*v)
	if err != nil {
		return 0, fmt.Errorf("maxUnavailable: %w", err)
	}
	if surge > 0 {
		return max(value.Down(replicas), 0), nil
	}
	return max(value.Up(replicas), 0), nil
}

// ScaleMaxUnavailable is scaleStrategy.maxUnavailable: how many pods may be unavailable while pods are created
// (cloneset.md 2.1); a percentage is rounded up. Absent means Unlimited.
func ScaleMaxUnavailable(v *intstr.IntOrString, replicas int32) (int32, error) {
	if v == nil {
		return Unlimited, nil
	}
	value, err := Parse(*v)
	if err != nil {
		return 0, fmt.Errorf("scaleStrategy.maxUnavailable: %w", err)
	}
	return max(value.Up(replicas), 0), nil
}
