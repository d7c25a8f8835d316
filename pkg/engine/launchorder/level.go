package launchorder

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
)

// The documented range of a priority.
const (
	MinPriority = -2147483647
	MaxPriority = 2147483647
)

// opened is the value of a key.
const opened = "true"

// Level is a set of containers that start together.
type Level struct {
	// Priority orders the levels: the highest starts first.
	Priority int64
	// Key is its key in the barrier.
	Key string
	// Open says that the barrier has the key.
	Open bool
	// Containers are in the order of the pod's spec.
	Containers []Container
}

// done says that the level holds back nothing any more.
func (l *Level) done() bool {
	return !slices.ContainsFunc(l.Containers, func(c Container) bool { return !c.done() })
}

// names of the containers.
func (l *Level) names() []string {
	list := make([]string, len(l.Containers))
	for i := range l.Containers {
		list[i] = l.Containers[i].Name
	}
	return list
}

// BarrierName is the name of a pod's barrier.
func BarrierName(pod string) string { return pod + keys.BarrierConfigMapSuffix }

// KeyOf is the key of a priority: p_5, p_0, p_-1.
func KeyOf(priority int64) string {
	return keys.BarrierKeyPrefix + strconv.FormatInt(priority, 10)
}

// priorityOf reads a key; false for one that KeyOf does not make.
func priorityOf(key string) (int64, bool) {
	digits, ours := strings.CutPrefix(key, keys.BarrierKeyPrefix)
	n, err := strconv.ParseInt(digits, 10, 64)
	return n, ours && err == nil && KeyOf(n) == key
}

// Ordered says whether containers of the pod wait for its barrier: only such pods concern this package.
func Ordered(pod *corev1.Pod) bool {
	for i := range pod.Spec.Containers {
		if _, ok := levelOf(pod, &pod.Spec.Containers[i]); ok {
			return true
		}
	}
	return false
}

// levelOf is the priority of a container by its barrier variable; false when it has none that belongs to this pod. A
// container with several of them waits for all, so the last one to open counts.
func levelOf(pod *corev1.Pod, c *corev1.Container) (level int64, found bool) {
	for i := range c.Env {
		ref := barrierRef(&c.Env[i])
		if ref == nil || ref.Name != BarrierName(pod.Name) {
			continue
		}
		if n, ok := priorityOf(ref.Key); ok && (!found || n < level) {
			level, found = n, true
		}
	}
	return level, found
}

// barrierRef is what a barrier variable refers to; nil for other variables, and for one without a key, which OpenKruise's
// controller does not survive (launchorder.md 1.6).
func barrierRef(env *corev1.EnvVar) *corev1.ConfigMapKeySelector {
	if env.Name != keys.BarrierEnv || env.ValueFrom == nil {
		return nil
	}
	return env.ValueFrom.ConfigMapKeyRef
}

// levelsOf are the levels of a pod, the highest first. Containers without a barrier variable are in none of them.
func levelsOf(pod *corev1.Pod, barrier *corev1.ConfigMap) []Level {
	var levels []Level
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		n, ok := levelOf(pod, c)
		if !ok {
			continue
		}
		at := slices.IndexFunc(levels, func(l Level) bool { return l.Priority == n })
		if at < 0 {
			at = len(levels)
			levels = append(levels, Level{Priority: n, Key: KeyOf(n)})
			if barrier != nil {
				_, levels[at].Open = barrier.Data[levels[at].Key]
			}
		}
		levels[at].Containers = append(levels[at].Containers, containerOf(pod, c))
	}
	slices.SortFunc(levels, func(a, b Level) int { return cmp.Compare(b.Priority, a.Priority) })
	return levels
}
