package inplace

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
)

func TestNotReadyKeys(t *testing.T) {
	t.Parallel()
	preDelete := NotReadyKey{UserAgent: keys.NotReadyUserLifecycle, Key: keys.NotReadyKeyPreDelete}
	recreate := NotReadyKey{UserAgent: keys.NotReadyUserContainerRecreate, Key: "ns/crr"}
	pod := func(status corev1.ConditionStatus, message string) *corev1.Pod {
		p := podOf(tmpl(ctr("c", "a")))
		p.Spec.ReadinessGates = append(p.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: keys.KruisePodReady})
		if status != "" {
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: keys.KruisePodReady, Status: status, Message: message})
		}
		return p
	}
	bare := podOf(tmpl(ctr("c", "a")))
	terminating := pod("", "")
	terminating.DeletionTimestamp = &metav1.Time{Time: start}
	const one = `[{"userAgent":"Lifecycle","key":"preDeleteHook"}]`
	const two = `[{"userAgent":"ContainerRecreateRequest","key":"ns/crr"},{"userAgent":"Lifecycle","key":"preDeleteHook"}]`
	add := func(p *corev1.Pod) *plan.PodChange { return AddNotReadyKey(p, preDelete, start) }
	remove := func(p *corev1.Pod) *plan.PodChange { return RemoveNotReadyKey(p, preDelete, start) }
	initial := func(p *corev1.Pod) *plan.PodChange { return InitialKruisePodReady(p, start) }
	becomes := func(status corev1.ConditionStatus, message string, ready ...corev1.PodCondition) []corev1.PodCondition {
		return append([]corev1.PodCondition{{Type: keys.KruisePodReady, Status: status, Message: message, LastTransitionTime: metav1.NewTime(start)}}, ready...)
	}
	unready := corev1.PodCondition{
		Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: "ReadinessGatesNotReady",
		Message: "readiness gates not met: KruisePodReady", LastTransitionTime: metav1.NewTime(start),
	}
	for _, tc := range []struct {
		name string
		do   func(*corev1.Pod) *plan.PodChange
		pod  *corev1.Pod
		want []corev1.PodCondition
	}{
		{"inplace/53", add, pod("True", ""), becomes("False", one, unready)},
		{"8 add without a condition", add, pod("", ""), becomes("False", one, unready)},
		{"8 add a second key", add, pod("False", `[{"userAgent":"ContainerRecreateRequest","key":"ns/crr"}]`), becomes("False", two, unready)},
		{"8 add a listed key", add, pod("False", one), nil},
		{"8 add a key that is listed under True", add, pod("True", one), becomes("False", one, unready)},
		{"8 a message that is no list", add, pod("True", "hello"), becomes("False", one, unready)},
		{"inplace/55", add, bare, nil},
		{"inplace/54 another key stays", remove, pod("False", two), becomes("False", `[{"userAgent":"ContainerRecreateRequest","key":"ns/crr"}]`)},
		{"inplace/54 the last key goes", remove, pod("False", one), becomes("True", "[]")},
		{"8 remove a key that is not listed", remove, pod("False", `[{"userAgent":"ContainerRecreateRequest","key":"ns/crr"}]`), nil},
		{"8 remove without a condition", remove, pod("", ""), nil},
		{"8 remove without the gate", remove, bare, nil},
		{"8 initial", initial, pod("", ""), becomes("True", "")},
		{"8 initial of one that has the condition", initial, pod("False", one), nil},
		{"8 initial of one that is being deleted", initial, terminating, nil},
		{"8 initial without the gate", initial, bare, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			before := tc.pod.DeepCopy()
			change := tc.do(tc.pod)
			var got []corev1.PodCondition
			if change != nil {
				got = change.Conditions
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("conditions (-want +got)\n%s", diff)
			}
			if diff := cmp.Diff(before, tc.pod); diff != "" {
				t.Errorf("the pod that was given has changed\n%s", diff)
			}
		})
	}
	held := pod("False", two)
	if diff := cmp.Diff([]NotReadyKey{recreate, preDelete}, NotReadyKeys(held)); diff != "" {
		t.Errorf("keys (-want +got)\n%s", diff)
	}
}
