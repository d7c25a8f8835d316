package inplace

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
)

// State is the record of the last in-place update of a pod, kept in an annotation of it (inplace.md 1.1). Its JSON is
// OpenKruise's.
type State struct {
	// Revision is the target, in the workload's form.
	Revision string `json:"revision"`
	// UpdateTimestamp is the start of the whole update, to the second.
	UpdateTimestamp metav1.Time `json:"updateTimestamp"`
	// LastContainerStatuses is what ran in the containers whose image was changed so far.
	LastContainerStatuses    map[string]LastStatus                  `json:"lastContainerStatuses"`
	UpdateEnvFromMetadata    bool                                   `json:"updateEnvFromMetadata,omitempty"`
	UpdateResources          bool                                   `json:"updateResources,omitempty"`
	UpdateImages             bool                                   `json:"updateImages,omitempty"`
	NextContainerImages      map[string]string                      `json:"nextContainerImages,omitempty"`
	NextContainerRefMetadata map[string]RefMetadata                 `json:"nextContainerRefMetadata,omitempty"`
	NextContainerResources   map[string]corev1.ResourceRequirements `json:"nextContainerResources,omitempty"`
	PreCheckBeforeNext       *PreCheck                              `json:"preCheckBeforeNext,omitempty"`
	ContainerBatchesRecord   []BatchRecord                          `json:"containerBatchesRecord,omitempty"`
}

// LastStatus is what ran in a container before its image was changed. OpenKruise knows the image id alone; the other
// fields are ours (inplace.md 6.2), and a state that OpenKruise wrote has them empty.
type LastStatus struct {
	ImageID string `json:"imageID"`
	// ContainerID is that of the old container.
	ContainerID string `json:"containerID,omitempty"`
	// Image is the image in the spec that the old container was made from.
	Image string `json:"image,omitempty"`
	// Generation is that of the pod before the change.
	Generation int64 `json:"generation,omitempty"`
}

// PreCheck is what must hold before the next batch.
type PreCheck struct {
	ContainersRequiredReady []string `json:"containersRequiredReady,omitempty"`
}

// BatchRecord is one batch of containers that was changed; the names are sorted.
type BatchRecord struct {
	Timestamp  metav1.Time `json:"timestamp"`
	Containers []string    `json:"containers"`
}

// next is the work that is left for later batches.
func (s *State) next() Work {
	return Work{Images: s.NextContainerImages, RefMetadata: s.NextContainerRefMetadata, Resources: s.NextContainerResources}
}

func (s *State) setNext(w Work) {
	s.NextContainerImages, s.NextContainerRefMetadata, s.NextContainerResources = w.Images, w.RefMetadata, w.Resources
}

// Grace is an update that waits for the end of its grace period, kept in an annotation (inplace.md 1.2).
type Grace struct {
	Revision             string                                 `json:"revision"`
	ContainerImages      map[string]string                      `json:"containerImages,omitempty"`
	ContainerRefMetadata map[string]RefMetadata                 `json:"containerRefMetadata,omitempty"`
	ContainerResources   map[string]corev1.ResourceRequirements `json:"containerResources,omitempty"`
	// MetaDataPatch is a strategic merge patch.
	MetaDataPatch         []byte `json:"metaDataPatch,omitempty"`
	UpdateEnvFromMetadata bool   `json:"updateEnvFromMetadata,omitempty"`
	GraceSeconds          int32  `json:"graceSeconds,omitempty"`
}

func (s *Spec) grace() (Grace, error) {
	patch, err := metaPatch(&s.Meta, s.FinalizerOrder)
	if err != nil {
		return Grace{}, fmt.Errorf("encode metadata patch: %w", err)
	}
	return Grace{
		Revision: s.Revision, ContainerImages: s.Images, ContainerRefMetadata: s.RefMetadata, ContainerResources: s.Resources,
		MetaDataPatch: patch, UpdateEnvFromMetadata: s.EnvFromMetadata, GraceSeconds: s.GraceSeconds,
	}, nil
}

// spec is the update that was put off.
func (g *Grace) spec() (*Spec, error) {
	meta, err := readMetaPatch(g.MetaDataPatch)
	if err != nil {
		return nil, err
	}
	return &Spec{
		Revision:        g.Revision,
		Work:            Work{Images: g.ContainerImages, RefMetadata: g.ContainerRefMetadata, Resources: g.ContainerResources},
		Meta:            meta,
		EnvFromMetadata: g.UpdateEnvFromMetadata,
		GraceSeconds:    g.GraceSeconds,
	}, nil
}

// ParseState reads the state of a pod; false when it was never updated in place.
func ParseState(pod *corev1.Pod) (*State, bool, error) {
	return parse[State](pod, keys.InPlaceUpdateStateAnnotation, keys.InPlaceUpdateStateOldAnnotation)
}

// ParseGrace reads the update that waits for its grace period; false when there is none.
func ParseGrace(pod *corev1.Pod) (*Grace, bool, error) {
	return parse[Grace](pod, keys.InPlaceUpdateGraceAnnotation, keys.InPlaceUpdateGraceOldAnnotation)
}

// parse reads the annotation, or the one of the old name when there is none.
func parse[T any](pod *corev1.Pod, key, oldKey string) (*T, bool, error) {
	text, ok := pod.Annotations[key]
	if !ok {
		key = oldKey
		if text, ok = pod.Annotations[key]; !ok {
			return nil, false, nil
		}
	}
	value := new(T)
	if err := json.Unmarshal([]byte(text), value); err != nil {
		return nil, true, fmt.Errorf("annotation %s of pod %s cannot be read: %w", key, pod.Name, err)
	}
	return value, true, nil
}

// writeState sets the state in a change of the pod and drops the one of the old name.
func writeState(change *plan.PodChange, pod *corev1.Pod, state *State) error {
	return write(change, pod, state, keys.InPlaceUpdateStateAnnotation, keys.InPlaceUpdateStateOldAnnotation)
}

func write(change *plan.PodChange, pod *corev1.Pod, value any, key, oldKey string) error {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encode annotation %s: %w", key, err)
	}
	change.Meta.Annotate(key, string(text))
	drop(change, pod, oldKey)
	return nil
}

// dropGrace removes the update that waits.
func dropGrace(change *plan.PodChange, pod *corev1.Pod) {
	drop(change, pod, keys.InPlaceUpdateGraceAnnotation)
	drop(change, pod, keys.InPlaceUpdateGraceOldAnnotation)
}

func drop(change *plan.PodChange, pod *corev1.Pod, key string) {
	if _, ok := pod.Annotations[key]; ok {
		change.Meta.Unannotate(key)
	}
}
