package podready_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/features"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/podready"
)

func owned(version, kind string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "1", ResourceVersion: "5"}}
	if kind != "" {
		pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: version, Kind: kind, Controller: ptr.To(true)}}
	}
	return pod
}

// workloadspread.md C1 step 1, and who answers the gate (inplace.md 8).
func TestGateAndAnswer(t *testing.T) {
	t.Parallel()
	all := features.Defaults().With(features.KruisePodReadinessGate, true)
	for _, tc := range []struct {
		name             string
		pod              *corev1.Pod
		gates            features.Gates
		gate, answeredBy bool
	}{
		{"a CloneSet's pod, which its planner answers", owned("apps.kruise.io/v1alpha1", "CloneSet"), features.Defaults(), true, false},
		{"a pod of another workload of the group", owned("apps.kruise.io/v1beta1", "StatefulSet"), features.Defaults(), true, true},
		{"a pod of a namesake in another group", owned("apps/v1", "CloneSet"), features.Defaults(), false, false},
		{"a namesake's pod with the feature gate", owned("apps/v1", "CloneSet"), all, true, true},
		{"a pod of nobody with the feature gate", owned("", ""), all, true, true},
		{"an owner that cannot be read", owned("a/b/c", "X"), features.Defaults(), false, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			podready.Inject(tc.pod, tc.gates)
			podready.Inject(tc.pod, tc.gates)
			var want []corev1.PodReadinessGate
			if tc.gate {
				want = []corev1.PodReadinessGate{{ConditionType: keys.KruisePodReady}}
			}
			if diff := cmp.Diff(want, tc.pod.Spec.ReadinessGates); diff != "" {
				t.Errorf("gates (-want +got):\n%s", diff)
			}
			action := podready.Answer(tc.pod, time.Unix(0, 0))
			if (action != nil) != tc.answeredBy {
				t.Fatalf("action %+v, want one: %v", action, tc.answeredBy)
			}
			if action == nil {
				return
			}
			change, ok := action.Change.(*plan.PodChange)
			if !ok || action.ResourceVersion != "5" || action.Subresource != "status" || len(change.Conditions) != 1 {
				t.Fatalf("action %+v", action)
			}
			tc.pod.Status.Conditions = change.Conditions
			if again := podready.Answer(tc.pod, time.Unix(9, 0)); again != nil {
				t.Errorf("answered twice: %+v", again)
			}
		})
	}
}
