package cloneset

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/launchorder"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
)

// beside adds a container with a launch priority.
func beside(name, priority string) option {
	return func(s *v1beta1.CloneSet) {
		spec := &s.Spec.Template.Spec
		spec.Containers = append(spec.Containers, corev1.Container{Name: name, Image: "p1", Env: []corev1.EnvVar{{Name: keys.PriorityEnv, Value: priority}}})
	}
}

func TestPodsAreMadeWithTheirLaunchOrder(t *testing.T) {
	t.Parallel()
	s := newStage(t, 2, beside("proxy", "10"))
	s.settle()
	names := map[string]bool{}
	for _, x := range s.w.Pods {
		names[x.Name] = true
		var got []string
		for _, c := range x.Spec.Containers {
			ref := c.Env[len(c.Env)-1].ValueFrom.ConfigMapKeyRef
			got = append(got, c.Name+" "+ref.Name+" "+ref.Key)
		}
		if diff := cmp.Diff([]string{"main " + x.Name + "-barrier p_0", "proxy " + x.Name + "-barrier p_10"}, got); diff != "" {
			t.Errorf("S-LP-2: %s", diff)
		}
	}
	if len(names) != 2 {
		t.Fatalf("pods %v", names)
	}
	for _, c := range s.w.Set.Spec.Template.Spec.Containers {
		if strings.Contains(c.String(), keys.BarrierEnv) {
			t.Errorf("the template was changed: %v", c)
		}
	}
}

func TestALaunchOrderThatCannotBeMakesNoPods(t *testing.T) {
	t.Parallel()
	s := newStage(t, 2, beside("proxy", "high"))
	p := s.pass()
	want := []plan.Wait{{Reason: plan.ReasonBadSpec, Names: []string{"web-" + p.UpdateHash},
		Note: `no pod can be created from the revision: container "proxy": KRUISE_CONTAINER_PRIORITY "high": want an integer from -2147483647 to 2147483647`}}
	var got []plan.Wait
	for _, w := range p.Waits {
		if w.Reason == plan.ReasonBadSpec {
			got = append(got, w)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" || len(s.w.Pods) > 0 {
		t.Errorf("launchorder/8: %d pods, %s", len(s.w.Pods), diff)
	}
}

func TestAnIgnoredLaunchOrderIsTold(t *testing.T) {
	t.Parallel()
	s := newStage(t, 1, func(s *v1beta1.CloneSet) {
		s.Spec.Template.Annotations = map[string]string{keys.LaunchPriorityAnnotation: keys.LaunchPriorityOrdered}
	})
	if diff := cmp.Diff([]string{"the launch priority is ignored: the pod has one container"}, s.settle().Warnings); diff != "" {
		t.Errorf("launchorder/6: %s", diff)
	}
}

// TestAContainerThatWaitsForItsTurnIsNoFault also sees to it that the words of another container are preferred.
func TestAContainerThatWaitsForItsTurnIsNoFault(t *testing.T) {
	t.Parallel()
	p := &corev1.Pod{}
	p.Name = "web-1"
	p.Spec.Containers = []corev1.Container{{Name: "app"}, {Name: "proxy", Env: []corev1.EnvVar{{Name: keys.PriorityEnv, Value: "1"}}}}
	if _, _, err := launchorder.Mutate(p, launchorder.Options{}); err != nil {
		t.Fatal(err)
	}
	waits := func(name, reason, message string) corev1.ContainerStatus {
		return corev1.ContainerStatus{Name: name, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}}
	}
	turn := waits("app", "CreateContainerConfigError", `configmap "web-1-barrier" not found`)
	for _, tt := range []struct {
		statuses []corev1.ContainerStatus
		want     string
	}{
		{[]corev1.ContainerStatus{turn}, "app: waits for its turn in the launch order"},
		{[]corev1.ContainerStatus{turn, waits("proxy", "ErrImagePull", "not found")}, "proxy: ErrImagePull: not found"},
		{[]corev1.ContainerStatus{waits("app", "CreateContainerConfigError", `configmap "settings" not found`)}, `app: CreateContainerConfigError: configmap "settings" not found`},
	} {
		p.Status.ContainerStatuses = tt.statuses
		if diff := cmp.Diff(tt.want, trouble(p)); diff != "" {
			t.Error(diff)
		}
	}
}
