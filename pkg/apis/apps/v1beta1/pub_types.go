package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Lifecycle lets others take part in what happens to a pod.
type Lifecycle struct {
	// PreDelete is asked before a pod is deleted.
	// +optional
	PreDelete *LifecycleHook `json:"preDelete,omitempty"`

	// InPlaceUpdate is asked before and after a pod is updated in place.
	// +optional
	InPlaceUpdate *LifecycleHook `json:"inPlaceUpdate,omitempty"`

	// PreNormal is asked before a new pod counts as normal.
	// +optional
	PreNormal *LifecycleHook `json:"preNormal,omitempty"`
}

// LifecycleHook holds a pod while a label or finalizer is on it.
type LifecycleHook struct {
	// LabelsHandler are the labels that hold the pod.
	// +optional
	LabelsHandler map[string]string `json:"labelsHandler,omitempty"`

	// FinalizersHandler are the finalizers that hold the pod.
	// +optional
	FinalizersHandler []string `json:"finalizersHandler,omitempty"`

	// MarkPodNotReady takes the pod out of service while it is held. Ignored
	// for preNormal.
	// +optional
	MarkPodNotReady bool `json:"markPodNotReady,omitempty"`
}

// InPlaceUpdateStrategy steers updates in place.
type InPlaceUpdateStrategy struct {
	// GracePeriodSeconds is the time between the pod turning not ready and the
	// change of its containers.
	// +optional
	GracePeriodSeconds int32 `json:"gracePeriodSeconds,omitempty"`

	// ImagePreDownloadParallelism is the number of nodes that pull a new image
	// ahead of the update at the same time. Defaults to 1.
	// +optional
	ImagePreDownloadParallelism *intstr.IntOrString `json:"imagePreDownloadParallelism,omitempty"`

	// ImagePreDownloadTimeoutSeconds is the time for one pull. Defaults to 300.
	// +optional
	ImagePreDownloadTimeoutSeconds *int32 `json:"imagePreDownloadTimeoutSeconds,omitempty"`

	// ImagePreDownloadMinUpdatedReadyPods is the number of pods that are at
	// the update revision and ready before images are pulled ahead.
	// +optional
	ImagePreDownloadMinUpdatedReadyPods *int32 `json:"imagePreDownloadMinUpdatedReadyPods,omitempty"`
}

// UpdatePriorityStrategy says which pods are updated first.
// It has one of the two forms.
type UpdatePriorityStrategy struct {
	// OrderPriority orders pods by the labels they have.
	// +optional
	OrderPriority []UpdatePriorityOrderTerm `json:"orderPriority,omitempty"`

	// WeightPriority orders pods by the sum of the weights they match.
	// +optional
	WeightPriority []UpdatePriorityWeightTerm `json:"weightPriority,omitempty"`
}

// UpdatePriorityOrderTerm orders pods by the number at the end of a label's
// value.
type UpdatePriorityOrderTerm struct {
	// OrderedKey is the key of the label.
	OrderedKey string `json:"orderedKey"`
}

// UpdatePriorityWeightTerm gives weight to the pods it selects.
type UpdatePriorityWeightTerm struct {
	// Weight is from 0 to 100.
	Weight int32 `json:"weight"`

	// MatchSelector selects pods.
	MatchSelector metav1.LabelSelector `json:"matchSelector"`
}

// UpdateScatterStrategy spreads pods with given labels over the rollout.
type UpdateScatterStrategy []UpdateScatterTerm

// UpdateScatterTerm is one label to spread.
type UpdateScatterTerm struct {
	// Key is the key of the label.
	Key string `json:"key"`

	// Value is the value of the label.
	Value string `json:"value"`
}
