package v1beta1

import "math"

// CloneSetUpdateStrategyType says who decides when a pod is updated.
type CloneSetUpdateStrategyType string

// The update strategies.
const (
	RollingUpdateCloneSetUpdateStrategyType CloneSetUpdateStrategyType = "RollingUpdate"
	OnDeleteCloneSetUpdateStrategyType      CloneSetUpdateStrategyType = "OnDelete"
)

// PodUpdatePolicy says how one pod gets from one revision to another.
type PodUpdatePolicy string

// The pod update policies.
const (
	// ReCreatePodUpdatePolicy deletes the pod and creates another.
	ReCreatePodUpdatePolicy PodUpdatePolicy = "ReCreate"
	// InPlaceIfPossiblePodUpdatePolicy keeps the pod where the change allows.
	InPlaceIfPossiblePodUpdatePolicy PodUpdatePolicy = "InPlaceIfPossible"
	// InPlaceOnlyPodUpdatePolicy keeps the pod and refuses other changes.
	InPlaceOnlyPodUpdatePolicy PodUpdatePolicy = "InPlaceOnly"
)

// CloneSetConditionType names an observation.
type CloneSetConditionType string

// The condition types.
const (
	CloneSetConditionFailedScale  CloneSetConditionType = "FailedScale"
	CloneSetConditionFailedUpdate CloneSetConditionType = "FailedUpdate"
	CloneSetConditionProgressing  CloneSetConditionType = "Progressing"
)

// The reasons of the Progressing condition (cloneset.md 11.2).
const (
	CloneSetAvailable                  = "CloneSetAvailable"
	CloneSetProgressPaused             = "CloneSetPaused"
	CloneSetProgressPartitionAvailable = "ProgressPartitionAvailable"
	CloneSetProgressDeadlineExceeded   = "ProgressDeadlineExceeded"
	CloneSetProgressUpdated            = "CloneSetUpdated"
)

// The values that stand for an unset field (cloneset.md 2).
const (
	DefaultReplicas                       int32 = 1
	DefaultRevisionHistoryLimit           int32 = 10
	DefaultPartition                      int32 = 0
	DefaultMaxSurge                       int32 = 0
	DefaultMaxUnavailable                       = "20%"
	DefaultImagePreDownloadParallelism    int32 = 1
	DefaultImagePreDownloadTimeoutSeconds int32 = 300
)

// NoProgressDeadline is the progressDeadlineSeconds that means no deadline.
const NoProgressDeadline int32 = math.MaxInt32
