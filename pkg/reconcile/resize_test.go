package reconcile_test

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/features"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/cluster/clustertest"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/inplace"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/reconcile"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/view"
)

// cpu asks for processors, and for a restart when they change.
func cpu(quantity string) func(*v1beta1.CloneSet) {
	return func(s *v1beta1.CloneSet) {
		c := &s.Spec.Template.Spec.Containers[0]
		c.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(quantity)}
		c.ResizePolicy = []corev1.ContainerResizePolicy{{ResourceName: corev1.ResourceCPU, RestartPolicy: corev1.RestartContainer}}
	}
}

// inService says that nothing of ours keeps traffic from any pod.
func (w *world) inService() bool {
	for _, obj := range w.server.Objects(plan.PodKind) {
		for _, c := range obj.(*corev1.Pod).Status.Conditions {
			if c.Type == keys.InPlaceUpdateReady && c.Status != corev1.ConditionTrue {
				return false
			}
		}
	}
	return true
}

// A resize that the server refuses is a failure with the server's words: the pod is put back into service, then it is
// replaced, or the rollout ends where nothing else is allowed.
func TestResizeThatIsRefused(t *testing.T) {
	t.Parallel()
	for policy, reached := range map[v1beta1.PodUpdatePolicy]bool{v1beta1.InPlaceIfPossiblePodUpdatePolicy: true, v1beta1.InPlaceOnlyPodUpdatePolicy: false} {
		t.Run("inplace/48 "+string(policy), func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				set := web("web", 3)
				cpu("1")(set)
				w := newWorld(t, set)
				s := w.session("laptop/1")
				s.Gates, s.Resize = s.Gates.With(features.InPlaceWorkloadVerticalScaling, true), inplace.ResizeSubresource
				if result := w.drive(t.Context(), s, "web", reconcile.RunOptions{}); !result.Reached {
					t.Fatalf("not created: %+v", result)
				}
				before := w.pods("web")
				w.edit("web", func(set *v1beta1.CloneSet) {
					cpu("2")(set)
					set.Spec.UpdateStrategy.RollingUpdate.PodUpdatePolicy = policy
				})
				var asked, hidden atomic.Int32
				s.API = &clustertest.Faulty{API: w.server, Choose: func(call clustertest.Call) clustertest.Fault {
					switch {
					case call.Subresource == plan.ResizeSubresource:
						asked.Add(1)
						return clustertest.Forbidden
					case call.Verb == plan.Delete && call.Kind == plan.PodKind && !w.inService():
						hidden.Add(1)
					}
					return clustertest.None
				}}
				result := w.drive(t.Context(), s, "web", reconcile.RunOptions{Timeout: time.Hour})
				if result.Reached != reached {
					t.Fatalf("result %+v", result)
				}
				if !reached && (result.Why != view.StopFailed || !strings.Contains(result.Detail, "made to be forbidden")) {
					t.Errorf("ended with %q: %q", result.Why, result.Detail)
				}
				if !w.inService() || hidden.Load() > 0 {
					t.Error("a pod was left out of service after its resize was refused")
				}
				if n := asked.Load(); n < 1 || n > 3 {
					t.Errorf("the server was asked %d times to resize one of three pods", n)
				}
				kept := 0
				for name := range w.pods("web") {
					if _, old := before[name]; old {
						kept++
					}
				}
				if want := map[bool]int{true: 0, false: 3}[reached]; kept != want {
					t.Errorf("%d pods are the same, want %d", kept, want)
				}
				told := slices.ContainsFunc(w.events, func(e view.Event) bool {
					f, ok := e.(view.ActionFailed)
					return ok && f.Action.Subresource == plan.ResizeSubresource
				})
				if !told {
					t.Error("the refusal was not told")
				}
			})
		})
	}
}
