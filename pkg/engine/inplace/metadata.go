package inplace

import (
	"iter"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
)

// metaKey is a label or an annotation.
type metaKey struct {
	label bool
	key   string
}

// envRefs yields the env of a container that are read from a label or an annotation when it starts (inplace.md 2.4).
func envRefs(c *corev1.Container) iter.Seq2[string, metaKey] {
	return func(yield func(string, metaKey) bool) {
		for i := range c.Env {
			env := &c.Env[i]
			if env.Value != "" || env.ValueFrom == nil || env.ValueFrom.FieldRef == nil ||
				env.Name == keys.SidecarSetVersionEnv || env.Name == keys.SidecarSetVersionAltEnv {
				continue
			}
			if ref, ok := metaKeyOf(env.ValueFrom.FieldRef.FieldPath); ok && !yield(env.Name, ref) {
				return
			}
		}
	}
}

// metaKeyOf reads a field path of the form metadata.labels['key'].
func metaKeyOf(fieldPath string) (metaKey, bool) {
	path, ok := strings.CutSuffix(fieldPath, "']")
	if !ok {
		return metaKey{}, false
	}
	if key, ok := strings.CutPrefix(path, "metadata.labels['"); ok {
		return metaKey{label: true, key: key}, true
	}
	if key, ok := strings.CutPrefix(path, "metadata.annotations['"); ok {
		return metaKey{key: key}, true
	}
	return metaKey{}, false
}

// takeMetadata adds the difference of the templates' metadata to the update: what env of a container reads goes to that
// container, everything else into the general change. With envFromMetadata off all of it is general.
func (s *Spec) takeMetadata(before, after *corev1.PodTemplateSpec, envFromMetadata bool) {
	readers := map[metaKey][]string{}
	if envFromMetadata {
		for i := range after.Spec.Containers {
			c := &after.Spec.Containers[i]
			for _, ref := range envRefs(c) {
				if !slices.Contains(readers[ref], c.Name) {
					readers[ref] = append(readers[ref], c.Name)
				}
			}
		}
	}
	changed(before.Labels, after.Labels, func(key string, value *string) {
		if !s.takeRef(readers[metaKey{label: true, key: key}], true, key, value) {
			put(&s.Meta.Labels, key, value)
		}
	})
	changed(before.Annotations, after.Annotations, func(key string, value *string) {
		if !s.takeRef(readers[metaKey{key: key}], false, key, value) {
			put(&s.Meta.Annotations, key, value)
		}
	})
	for _, f := range after.Finalizers {
		if !slices.Contains(before.Finalizers, f) {
			s.Meta.AddFinalizers = append(s.Meta.AddFinalizers, f)
		}
	}
	for _, f := range before.Finalizers {
		if !slices.Contains(after.Finalizers, f) {
			s.Meta.RemoveFinalizers = append(s.Meta.RemoveFinalizers, f)
		}
	}
	if len(s.Meta.AddFinalizers)+len(s.Meta.RemoveFinalizers) > 0 {
		s.FinalizerOrder = slices.Clone(after.Finalizers)
	}
}

// takeRef gives a change to the containers that read the key; false when there are none.
func (s *Spec) takeRef(readers []string, label bool, key string, value *string) bool {
	for _, name := range readers {
		if s.RefMetadata == nil {
			s.RefMetadata = map[string]RefMetadata{}
		}
		ref := s.RefMetadata[name]
		if label {
			put(&ref.Labels, key, value)
		} else {
			put(&ref.Annotations, key, value)
		}
		s.RefMetadata[name] = ref
		s.EnvFromMetadata = true
	}
	return len(readers) > 0
}

// changed calls f for each key that is not the same in both maps, with its new value or nil.
func changed(before, after map[string]string, f func(key string, value *string)) {
	for key, value := range after {
		if was, had := before[key]; !had || was != value {
			f(key, &value)
		}
	}
	for key := range before {
		if _, has := after[key]; !has {
			f(key, nil)
		}
	}
}

func put(m *map[string]*string, key string, value *string) {
	if *m == nil {
		*m = map[string]*string{}
	}
	(*m)[key] = value
}
