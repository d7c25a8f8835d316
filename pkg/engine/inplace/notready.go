package inplace

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
)

// NotReadyKey is one writer's hold on the condition KruisePodReady (inplace.md 8).
type NotReadyKey struct {
	UserAgent string `json:"userAgent"`
	Key       string `json:"key"`
}

// NotReadyKeys are the holds on a pod. A message that is no list of holds has none.
func NotReadyKeys(pod *corev1.Pod) []NotReadyKey {
	c := condition(pod, keys.KruisePodReady)
	if c == nil || c.Message == "" {
		return nil
	}
	var list []NotReadyKey
	if json.Unmarshal([]byte(c.Message), &list) != nil {
		return nil
	}
	return list
}

// AddNotReadyKey holds the pod not ready; nil when it is held by that key already or has no such gate. The change must
// be written at the resourceVersion of this copy of the pod, or another writer's key could be lost.
func AddNotReadyKey(pod *corev1.Pod, key NotReadyKey, now time.Time) *plan.PodChange {
	if !HasGate(pod, keys.KruisePodReady) {
		return nil
	}
	list := NotReadyKeys(pod)
	c := condition(pod, keys.KruisePodReady)
	listed := slices.Contains(list, key)
	if listed && c.Status == corev1.ConditionFalse {
		return nil
	}
	if !listed {
		list = append(slices.Clone(list), key)
	}
	change := &plan.PodChange{Conditions: []corev1.PodCondition{held(list, now)}}
	takeReady(change, pod, now, keys.KruisePodReady)
	return change
}

// RemoveNotReadyKey ends a hold; nil when there is none. The condition turns True with the last hold. It must be written
// at the resourceVersion of this copy of the pod.
func RemoveNotReadyKey(pod *corev1.Pod, key NotReadyKey, now time.Time) *plan.PodChange {
	if !HasGate(pod, keys.KruisePodReady) {
		return nil
	}
	list := NotReadyKeys(pod)
	if !slices.Contains(list, key) {
		return nil
	}
	list = slices.DeleteFunc(slices.Clone(list), func(k NotReadyKey) bool { return k == key })
	return &plan.PodChange{Conditions: []corev1.PodCondition{held(list, now)}}
}

// InitialKruisePodReady answers the gate of a new pod; nil when the condition exists, the pod has no such gate or is
// being deleted.
func InitialKruisePodReady(pod *corev1.Pod, now time.Time) *plan.PodChange {
	if pod.DeletionTimestamp != nil || !HasGate(pod, keys.KruisePodReady) || condition(pod, keys.KruisePodReady) != nil {
		return nil
	}
	return &plan.PodChange{Conditions: []corev1.PodCondition{
		turned(pod, keys.KruisePodReady, corev1.ConditionTrue, "", "", now),
	}}
}

// held is the condition with that list of holds.
func held(list []NotReadyKey, now time.Time) corev1.PodCondition {
	slices.SortFunc(list, func(a, b NotReadyKey) int {
		return cmp.Or(cmp.Compare(a.UserAgent, b.UserAgent), cmp.Compare(a.Key, b.Key))
	})
	c := corev1.PodCondition{Type: keys.KruisePodReady, Status: corev1.ConditionFalse, LastTransitionTime: metav1.NewTime(now)}
	if len(list) == 0 {
		c.Status, c.Message = corev1.ConditionTrue, "[]"
		return c
	}
	// Two strings always have a JSON form.
	message, _ := json.Marshal(list)
	c.Message = string(message)
	return c
}
