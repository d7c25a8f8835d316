package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
)

// CloneSet keeps a number of interchangeable pods and moves them from one
// revision of their template to the next, in place where that is possible.
//
// +kubebuilder:object:root=true
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

	Spec   CloneSetSpec           `json:"spec,omitempty"`
	Status v1beta1.CloneSetStatus `json:"status,omitempty"`
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
	Lifecycle *v1beta1.Lifecycle `json:"lifecycle,omitempty"`

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

	// DisablePVCReuse keeps a new pod from taking over the instance id and the
	// claims of a pod that was deleted from outside.
	// +optional
	DisablePVCReuse bool `json:"disablePVCReuse,omitempty"`
}

// CloneSetUpdateStrategyType says how pods get from one revision to another.
type CloneSetUpdateStrategyType string

// The update strategies.
const (
	// ReCreateCloneSetUpdateStrategyType deletes a pod and creates another.
	ReCreateCloneSetUpdateStrategyType CloneSetUpdateStrategyType = "ReCreate"
	// InPlaceIfPossibleCloneSetUpdateStrategyType keeps a pod where the change
	// allows.
	InPlaceIfPossibleCloneSetUpdateStrategyType CloneSetUpdateStrategyType = "InPlaceIfPossible"
	// InPlaceOnlyCloneSetUpdateStrategyType keeps a pod and refuses other
	// changes.
	InPlaceOnlyCloneSetUpdateStrategyType CloneSetUpdateStrategyType = "InPlaceOnly"
	// OnDeleteCloneSetUpdateStrategyType waits until somebody deletes the pod.
	OnDeleteCloneSetUpdateStrategyType CloneSetUpdateStrategyType = "OnDelete"
)

// CloneSetUpdateStrategy limits and steers the way to a new revision.
type CloneSetUpdateStrategy struct {
	// Type is ReCreate, InPlaceIfPossible, InPlaceOnly or OnDelete. Defaults
	// to ReCreate.
	// +optional
	Type CloneSetUpdateStrategyType `json:"type,omitempty"`

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
	PriorityStrategy *v1beta1.UpdatePriorityStrategy `json:"priorityStrategy,omitempty"`

	// ScatterStrategy spreads pods with a given label over the rollout.
	// +optional
	ScatterStrategy v1beta1.UpdateScatterStrategy `json:"scatterStrategy,omitempty"`

	// InPlaceUpdateStrategy steers updates in place. Annotations of the object
	// win over its imagePreDownload fields.
	// +optional
	InPlaceUpdateStrategy *v1beta1.InPlaceUpdateStrategy `json:"inPlaceUpdateStrategy,omitempty"`
}
