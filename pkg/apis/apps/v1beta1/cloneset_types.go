package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// CloneSet keeps a number of interchangeable pods and moves them from one
// revision of their template to the next, in place where that is possible.
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:resource:shortName=clone
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.labelSelector
// +kubebuilder:printcolumn:name="DESIRED",type="integer",JSONPath=".spec.replicas",description="The number of pods that are wanted."
// +kubebuilder:printcolumn:name="UPDATED",type="integer",JSONPath=".status.updatedReplicas",description="The number of pods at the update revision."
// +kubebuilder:printcolumn:name="UPDATED_READY",type="integer",JSONPath=".status.updatedReadyReplicas",description="The number of pods at the update revision that are ready."
// +kubebuilder:printcolumn:name="UPDATED_AVAILABLE",type="integer",JSONPath=".status.updatedAvailableReplicas",description="The number of pods at the update revision that are available."
// +kubebuilder:printcolumn:name="READY",type="integer",JSONPath=".status.readyReplicas",description="The number of pods that are ready."
// +kubebuilder:printcolumn:name="TOTAL",type="integer",JSONPath=".status.replicas",description="The number of pods that exist."
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp",description="The time since the object was created."
// +kubebuilder:printcolumn:name="CONTAINERS",type="string",priority=1,JSONPath=".spec.template.spec.containers[*].name",description="The containers of the template."
// +kubebuilder:printcolumn:name="IMAGES",type="string",priority=1,JSONPath=".spec.template.spec.containers[*].image",description="The images of the template."
// +kubebuilder:printcolumn:name="SELECTOR",type="string",priority=1,JSONPath=".status.labelSelector",description="The selector of the pods."
type CloneSet struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   CloneSetSpec   `json:"spec,omitempty"`
	Status CloneSetStatus `json:"status,omitempty"`
}

// CloneSetList is a list of CloneSets.
//
// +kubebuilder:object:root=true
type CloneSetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []CloneSet `json:"items"`
}

// CloneSetSpec is what the user wants.
type CloneSetSpec struct {
	// Replicas is the number of active pods that are wanted. Defaults to 1.
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`

	// Selector says which pods stay owned. It is not empty, matches the labels
	// of the template and never changes.
	// +structType=atomic
	Selector *metav1.LabelSelector `json:"selector"`

	// Template is the template of the pods.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	Template corev1.PodTemplateSpec `json:"template"`

	// VolumeClaimTemplates gives each pod one claim per entry. A change
	// affects only claims that are created later.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	// +optional
	VolumeClaimTemplates []corev1.PersistentVolumeClaim `json:"volumeClaimTemplates,omitempty"`

	// ScaleStrategy limits and steers creation and deletion.
	// +optional
	ScaleStrategy CloneSetScaleStrategy `json:"scaleStrategy,omitempty"`

	// UpdateStrategy limits and steers the way to a new revision.
	// +optional
	UpdateStrategy CloneSetUpdateStrategy `json:"updateStrategy,omitempty"`

	// RevisionHistoryLimit is the number of unused revisions to keep. Defaults
	// to 10; 0 keeps none.
	// +optional
	RevisionHistoryLimit *int32 `json:"revisionHistoryLimit,omitempty"`

	// MinReadySeconds is how long a pod is ready before it counts as
	// available. Defaults to 0.
	// +optional
	MinReadySeconds int32 `json:"minReadySeconds,omitempty"`

	// Lifecycle lets others take part before a pod is deleted, updated in
	// place, or called normal.
	// +optional
	Lifecycle *Lifecycle `json:"lifecycle,omitempty"`

	// ProgressDeadlineSeconds is the time without progress after which the
	// Progressing condition turns False. Unset and 2147483647 mean never.
	// +optional
	ProgressDeadlineSeconds *int32 `json:"progressDeadlineSeconds,omitempty"`
}

// CloneSetScaleStrategy limits and steers creation and deletion.
type CloneSetScaleStrategy struct {
	// PodsToDelete names pods to delete first. Names of pods that are gone are
	// taken off the list.
	// +optional
	PodsToDelete []string `json:"podsToDelete,omitempty"`

	// MaxUnavailable caps the number of unavailable pods while pods are added:
	// a number, or a percentage of replicas rounded up. Unset means no limit.
	// +optional
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`

	// EnablePVCReuse lets a new pod take over the instance id and the claims
	// of a pod that was deleted from outside.
	// +kubebuilder:default=false
	// +optional
	EnablePVCReuse bool `json:"enablePVCReuse,omitempty"`

	// ExcludePreparingDelete leaves pods that wait for their preDelete hook
	// out of the number of pods that exist.
	// +optional
	ExcludePreparingDelete bool `json:"excludePreparingDelete,omitempty"`
}

// CloneSetUpdateStrategy limits and steers the way to a new revision.
type CloneSetUpdateStrategy struct {
	// Type is RollingUpdate or OnDelete. Defaults to RollingUpdate.
	// +optional
	Type CloneSetUpdateStrategyType `json:"type,omitempty"`

	// RollingUpdate holds the limits of a rolling update.
	// +optional
	RollingUpdate *RollingUpdateCloneSetStrategy `json:"rollingUpdate,omitempty"`
}

// RollingUpdateCloneSetStrategy holds the limits of a rolling update.
type RollingUpdateCloneSetStrategy struct {
	// PodUpdatePolicy is ReCreate, InPlaceIfPossible or InPlaceOnly. Defaults
	// to ReCreate.
	// +optional
	PodUpdatePolicy PodUpdatePolicy `json:"podUpdatePolicy,omitempty"`

	// Partition is the number of pods to keep at another than the update
	// revision: a number, or a percentage of replicas rounded up. Defaults to 0.
	// +optional
	Partition *intstr.IntOrString `json:"partition,omitempty"`

	// MaxUnavailable caps the number of unavailable pods while pods are
	// updated or deleted: a number, or a percentage of replicas that is
	// rounded up without a surge and down with one. Defaults to "20%".
	// +optional
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`

	// MaxSurge is the number of pods that may exist above replicas: a number,
	// or a percentage of replicas rounded up. Defaults to 0.
	// +optional
	MaxSurge *intstr.IntOrString `json:"maxSurge,omitempty"`

	// Paused stops updates of pods; scaling goes on.
	// +optional
	Paused bool `json:"paused,omitempty"`

	// PriorityStrategy says which pods are updated first.
	// +optional
	PriorityStrategy *UpdatePriorityStrategy `json:"priorityStrategy,omitempty"`

	// ScatterStrategy spreads pods with a given label over the rollout.
	// +optional
	ScatterStrategy UpdateScatterStrategy `json:"scatterStrategy,omitempty"`

	// InPlaceUpdateStrategy steers updates in place.
	// +optional
	InPlaceUpdateStrategy *InPlaceUpdateStrategy `json:"inPlaceUpdateStrategy,omitempty"`
}

// CloneSetStatus is what was observed.
type CloneSetStatus struct {
	// ObservedGeneration is the generation that the status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Replicas is the number of active pods.
	Replicas int32 `json:"replicas"`

	// ReadyReplicas is the number of pods that are ready.
	ReadyReplicas int32 `json:"readyReplicas"`

	// AvailableReplicas is the number of pods that are available.
	AvailableReplicas int32 `json:"availableReplicas"`

	// UpdatedReplicas is the number of pods at the update revision.
	UpdatedReplicas int32 `json:"updatedReplicas"`

	// UpdatedReadyReplicas is the number of pods at the update revision that
	// are ready.
	UpdatedReadyReplicas int32 `json:"updatedReadyReplicas"`

	// UpdatedAvailableReplicas is the number of pods at the update revision
	// that are available. It is optional because older releases lack it; a 0
	// is written out, or its column would be empty.
	// +optional
	UpdatedAvailableReplicas int32 `json:"updatedAvailableReplicas"`

	// ExpectedUpdatedReplicas is the number of pods that the partition allows
	// at the update revision.
	// +optional
	ExpectedUpdatedReplicas int32 `json:"expectedUpdatedReplicas,omitempty"`

	// UpdateRevision is the name of the revision of the present template.
	// +optional
	UpdateRevision string `json:"updateRevision,omitempty"`

	// CurrentRevision is the name of the revision that the last complete
	// update reached.
	// +optional
	CurrentRevision string `json:"currentRevision,omitempty"`

	// CollisionCount makes the hash of a revision unique.
	// +optional
	CollisionCount *int32 `json:"collisionCount,omitempty"`

	// LabelSelector is the selector as a string, for the scale subresource.
	// +optional
	LabelSelector string `json:"labelSelector,omitempty"`

	// Conditions are the latest observations.
	// +optional
	Conditions []CloneSetCondition `json:"conditions,omitempty"`
}

// CloneSetCondition is one observation about a CloneSet.
type CloneSetCondition struct {
	// Type is the type of the condition.
	Type CloneSetConditionType `json:"type"`

	// Status is True, False or Unknown.
	Status corev1.ConditionStatus `json:"status"`

	// LastUpdateTime is when the condition was last set.
	// +optional
	LastUpdateTime metav1.Time `json:"lastUpdateTime,omitzero"`

	// LastTransitionTime is when the status last changed.
	// +optional
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitzero"`

	// Reason is one word for the last change.
	// +optional
	Reason string `json:"reason,omitempty"`

	// Message is a sentence for people.
	// +optional
	Message string `json:"message,omitempty"`
}
