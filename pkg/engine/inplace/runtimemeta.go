package inplace

import (
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
)

// RuntimeMeta is what the node daemon reports on a pod (inplace.md 1.3).
type RuntimeMeta struct {
	Containers []RuntimeContainer `json:"containers"`
}

// RuntimeContainer is what the daemon saw of one container.
type RuntimeContainer struct {
	Name         string        `json:"name"`
	ContainerID  string        `json:"containerID"`
	RestartCount int32         `json:"restartCount"`
	Hashes       RuntimeHashes `json:"hashes"`
}

// RuntimeHashes are of the container as it was made.
type RuntimeHashes struct {
	PlainHash                    uint64 `json:"plainHash"`
	ExtractedEnvFromMetadataHash uint64 `json:"extractedEnvFromMetadataHash,omitempty"`
}

// ParseRuntimeMeta reads the report; nil when there is none.
func ParseRuntimeMeta(pod *corev1.Pod) (*RuntimeMeta, error) {
	text, ok := pod.Annotations[keys.RuntimeContainersMetaAnnotation]
	if !ok {
		return nil, nil
	}
	meta := &RuntimeMeta{}
	if err := json.Unmarshal([]byte(text), meta); err != nil {
		return nil, fmt.Errorf("annotation %s of pod %s cannot be read: %w", keys.RuntimeContainersMetaAnnotation, pod.Name, err)
	}
	return meta, nil
}

// of is the report on the container that the pod's status shows; nil when it is about an earlier one or missing.
func (m *RuntimeMeta) of(pod *corev1.Pod, container string) *RuntimeContainer {
	status := containerStatus(pod, container)
	if status == nil {
		return nil
	}
	for i := range m.Containers {
		if r := &m.Containers[i]; r.Name == container {
			if r.ContainerID != status.ContainerID {
				return nil
			}
			return r
		}
	}
	return nil
}

// plainConsistent says that every container was made from the present spec, as the kubelet hashes it.
func (m *RuntimeMeta) plainConsistent(pod *corev1.Pod) bool {
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		r := m.of(pod, c.Name)
		if r == nil || r.Hashes.PlainHash != PlainHash(c) && r.Hashes.PlainHash != oldPlainHash(c) {
			return false
		}
	}
	return true
}

func (m *RuntimeMeta) envConsistent(pod *corev1.Pod, c *corev1.Container) bool {
	r := m.of(pod, c.Name)
	return r != nil && r.Hashes.ExtractedEnvFromMetadataHash == EnvHash(pod, c)
}

// PlainHash is the hash by which kubelets from 1.31 on recognise a changed container.
func PlainHash(c *corev1.Container) uint64 {
	return deepHash(struct {
		Image string `json:"image"`
		Name  string `json:"name"`
	}{c.Image, c.Name})
}

// oldPlainHash is that of kubelets before 1.31.
func oldPlainHash(c *corev1.Container) uint64 { return deepHash(c) }

// EnvHash is the hash of the env values that the container takes from the pod's present labels and annotations.
func EnvHash(pod *corev1.Pod, c *corev1.Container) uint64 {
	type pair struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	var list []pair
	for name, ref := range envRefs(c) {
		values := pod.Annotations
		if ref.label {
			values = pod.Labels
		}
		list = append(list, pair{name, values[ref.key]})
	}
	slices.SortStableFunc(list, func(a, b pair) int { return cmp.Compare(a.Name, b.Name) })
	return deepHash(list)
}

// deepHash is Kubernetes' hash of a value, here of its JSON: that of the text in which a list of bytes is dumped. Values
// that come in always have a JSON form.
func deepHash(value any) uint64 {
	encoded, _ := json.Marshal(value)
	text := append(make([]byte, 0, 16+4*len(encoded)), "([]uint8)["...)
	for i, b := range encoded {
		if i > 0 {
			text = append(text, ' ')
		}
		text = strconv.AppendUint(text, uint64(b), 10)
	}
	sum := fnv.New32a()
	sum.Write(append(text, ']'))
	return uint64(sum.Sum32())
}
