package inplace

import (
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
)

// priority is the launch priority of a container; false when it has none.
func priority(c *corev1.Container) (int, bool) {
	for i := range c.Env {
		env := &c.Env[i]
		if env.Name != keys.BarrierEnv {
			continue
		}
		if env.ValueFrom == nil || env.ValueFrom.ConfigMapKeyRef == nil {
			return 0, true
		}
		n, err := strconv.Atoi(strings.TrimPrefix(env.ValueFrom.ConfigMapKeyRef.Key, keys.BarrierKeyPrefix))
		if err != nil {
			return 0, true
		}
		return n, true
	}
	return 0, false
}

func (w *Work) names(container string) bool {
	_, image := w.Images[container]
	_, ref := w.RefMetadata[container]
	_, resources := w.Resources[container]
	return image || ref || resources
}

// NextBatch divides work into what is done now and what is left (inplace.md 5): now come the containers without a launch
// priority, those with the highest one, and those that share a label or annotation with one of them, because its value
// can be written only once. Containers that the pod does not have are left out of both. The batch is sorted.
func NextBatch(pod *corev1.Pod, work *Work) (batch []string, now, later Work) {
	in := map[string]bool{}
	highest := 0
	var ordered []string
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		if !work.names(c.Name) {
			continue
		}
		p, has := priority(c)
		switch {
		case !has:
			in[c.Name] = true
			continue
		case len(ordered) == 0 || p > highest:
			highest, ordered = p, append(ordered[:0:0], c.Name)
		case p == highest:
			ordered = append(ordered, c.Name)
		}
	}
	for _, name := range ordered {
		in[name] = true
	}
	joinShared(pod, work, in)

	for i := range pod.Spec.Containers {
		name := pod.Spec.Containers[i].Name
		switch {
		case in[name]:
			batch = append(batch, name)
			now.take(work, name)
		case work.names(name):
			later.take(work, name)
		}
	}
	slices.Sort(batch)
	return batch, now, later
}

// joinShared adds to the batch who reads the same labels or annotations, until nobody is left to add.
func joinShared(pod *corev1.Pod, work *Work, in map[string]bool) {
	if len(work.RefMetadata) < 2 {
		return
	}
	for grown := true; grown; {
		grown = false
		written := map[metaKey]bool{}
		for name, ref := range work.RefMetadata {
			if in[name] {
				ref.each(func(k metaKey) { written[k] = true })
			}
		}
		for i := range pod.Spec.Containers {
			name := pod.Spec.Containers[i].Name
			ref, reads := work.RefMetadata[name]
			if !reads || in[name] {
				continue
			}
			ref.each(func(k metaKey) {
				if written[k] && !in[name] {
					in[name], grown = true, true
				}
			})
		}
	}
}

func (r *RefMetadata) each(f func(metaKey)) {
	for key := range r.Labels {
		f(metaKey{label: true, key: key})
	}
	for key := range r.Annotations {
		f(metaKey{key: key})
	}
}

// take copies the work on one container.
func (w *Work) take(from *Work, container string) {
	if image, ok := from.Images[container]; ok {
		if w.Images == nil {
			w.Images = map[string]string{}
		}
		w.Images[container] = image
	}
	if ref, ok := from.RefMetadata[container]; ok {
		if w.RefMetadata == nil {
			w.RefMetadata = map[string]RefMetadata{}
		}
		w.RefMetadata[container] = ref
	}
	if r, ok := from.Resources[container]; ok {
		if w.Resources == nil {
			w.Resources = map[string]corev1.ResourceRequirements{}
		}
		w.Resources[container] = r
	}
}
