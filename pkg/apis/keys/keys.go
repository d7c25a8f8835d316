package keys

import corev1 "k8s.io/api/core/v1"

// Labels and annotations of pods and claims (cloneset.md 5).
const (
	// InstanceIDLabel ties a pod to its claims: five characters.
	InstanceIDLabel = "apps.kruise.io/cloneset-instance-id"
	// ControllerRevisionHashLabel holds the full revision name of a pod, or
	// its hash alone with the gate CloneSetShortHash.
	ControllerRevisionHashLabel = "controller-revision-hash"
	// PodTemplateHashLabel always holds the hash alone.
	PodTemplateHashLabel = "pod-template-hash"
	// SpecifiedDeleteLabel asks for the deletion of the pod that carries it,
	// whatever its value.
	SpecifiedDeleteLabel = "apps.kruise.io/specified-delete"
	// PodDeletionCostAnnotation holds an int32; pods that cost less go first.
	PodDeletionCostAnnotation = "controller.kubernetes.io/pod-deletion-cost"
)

// Lifecycle of a pod (cloneset.md 8).
const (
	LifecycleStateLabel          = "lifecycle.apps.kruise.io/state"
	LifecycleTimestampAnnotation = "lifecycle.apps.kruise.io/timestamp"

	StatePreparingNormal = "PreparingNormal"
	StateNormal          = "Normal"
	StatePreparingUpdate = "PreparingUpdate"
	StateUpdating        = "Updating"
	StateUpdated         = "Updated"
	StatePreparingDelete = "PreparingDelete"
)

// In-place update (inplace.md 1). The Old keys are those of releases before
// 0.8: read when the new key is absent, removed when it is written.
const (
	InPlaceUpdateStateAnnotation    = "apps.kruise.io/inplace-update-state"
	InPlaceUpdateGraceAnnotation    = "apps.kruise.io/inplace-update-grace"
	InPlaceUpdateStateOldAnnotation = "inplace-update-state"
	InPlaceUpdateGraceOldAnnotation = "inplace-update-grace"
	RuntimeContainersMetaAnnotation = "apps.kruise.io/runtime-containers-meta"
)

// Readiness gates of pods, which are conditions too.
const (
	// InPlaceUpdateReady is False while an in-place update runs.
	InPlaceUpdateReady corev1.PodConditionType = "InPlaceUpdateReady"
	// KruisePodReady can be held False by several writers at once.
	KruisePodReady corev1.PodConditionType = "KruisePodReady"
)

// Reasons of the gate conditions (inplace.md 3.3).
const (
	ReasonStartInPlaceUpdate      = "StartInPlaceUpdate"
	ReasonReadinessGatesNotReady  = "ReadinessGatesNotReady"
	NotReadyUserLifecycle         = "Lifecycle"
	NotReadyUserContainerRecreate = "ContainerRecreateRequest"
	NotReadyKeyPreDelete          = "preDeleteHook"
	NotReadyKeyPreUpdate          = "preUpdateHook"
)

// Labels and annotations of revisions and pull jobs.
const (
	// RevisionHashLabel holds the hash of a revision.
	RevisionHashLabel = "controller.kubernetes.io/hash"
	// ClaimTemplateHashAnnotation holds the decimal hash of the claim
	// templates, empty when there are none.
	ClaimTemplateHashAnnotation = "kruise.io/cloneset-volumeclaimtemplate-hash"
	// PreDownloadCreatedLabel says that pull jobs were made. The doubled "pre"
	// is in the real key.
	PreDownloadCreatedLabel = "apps.kruise.io/pre-predownload-created"
	// PreDownloadIgnoredLabel says that pull jobs were decided against.
	PreDownloadIgnoredLabel = "apps.kruise.io/image-predownload-ignored"
)

// Labels and annotations of a CloneSet.
const (
	// ExcludePreparingDeleteLabel set to "true" is the v1alpha1 form of
	// scaleStrategy.excludePreparingDelete.
	ExcludePreparingDeleteLabel = "apps.kruise.io/cloneset-scaling-exclude-preparing-delete"

	// The v1alpha1 forms of the fields of the same name in
	// inPlaceUpdateStrategy.
	ImagePreDownloadParallelismAnnotation         = "apps.kruise.io/image-predownload-parallelism"
	ImagePreDownloadTimeoutSecondsAnnotation      = "apps.kruise.io/image-predownload-timeout-seconds"
	ImagePreDownloadMinUpdatedReadyPodsAnnotation = "apps.kruise.io/image-predownload-min-updated-ready-pods"

	// DeletionProtectionLabel refuses deletions, see the values.
	DeletionProtectionLabel = "policy.kruise.io/delete-protection"
	// DeletionProtectionAlways refuses every deletion.
	DeletionProtectionAlways = "Always"
	// DeletionProtectionCascading refuses while the object has pods.
	DeletionProtectionCascading = "Cascading"
)

// Container launch priority (launchorder.md 1.1).
const (
	// LaunchPriorityAnnotation set to LaunchPriorityOrdered starts the
	// containers of a pod in the order of the list.
	LaunchPriorityAnnotation = "apps.kruise.io/container-launch-priority"
	LaunchPriorityOrdered    = "Ordered"
	// LaunchCompletedAnnotation set to "true" says that all levels are open.
	LaunchCompletedAnnotation = "apps.kruise.io/container-launch-priority-completed"
)

// Environment variables of containers (inplace.md 1, launchorder.md 1.1).
const (
	// PriorityEnv is the priority that the user asks for.
	PriorityEnv = "KRUISE_CONTAINER_PRIORITY"
	// BarrierEnv is injected: a key of the pod's barrier config map.
	BarrierEnv = "KRUISE_CONTAINER_BARRIER"
	// BarrierKeyPrefix comes before the priority in the key of BarrierEnv.
	BarrierKeyPrefix = "p_"
	// BarrierConfigMapSuffix comes after the pod's name in the config map's.
	BarrierConfigMapSuffix = "-barrier"
	// SidecarSetVersionEnv and SidecarSetVersionAltEnv refer to annotations
	// and are never a reason to restart a container.
	SidecarSetVersionEnv    = "SIDECARSET_VERSION"
	SidecarSetVersionAltEnv = "SIDECARSET_VERSION_ALT"
)
