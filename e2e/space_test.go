package e2e

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1alpha1"
)

// space is a namespace of a test's own, and the test's hands in it.
type space struct {
	*testing.T
	name string
	told []*process // what runs or ran beside the test, for the dump
}

// newSpace makes a namespace that goes with the test. When the test fails, what is in it is printed first.
func newSpace(t *testing.T) *space {
	t.Helper()
	meta := metav1.ObjectMeta{GenerateName: "e2e-"}
	ns, err := lab.client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: meta}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s := &space{T: t, name: ns.Name}
	t.Cleanup(func() {
		if t.Failed() {
			s.dump()
		}
		if err := lab.client.CoreV1().Namespaces().Delete(context.Background(), s.name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	s.until("the namespace takes pods", func() (bool, string) {
		_, err := lab.client.CoreV1().ServiceAccounts(s.name).Get(t.Context(), "default", metav1.GetOptions{})
		return err == nil, fmt.Sprint(err)
	})
	return s
}

// dump prints what a person would look at after a failure.
func (s *space) dump() {
	for _, args := range []string{"get clonesets,controllerrevisions,pods,leases -o wide", "get events --sort-by=.lastTimestamp", "get clonesets -o yaml", "describe pods"} {
		cmd := exec.Command("kubectl", append(strings.Fields(args), "-n", s.name)...)
		cmd.Env = lab.env
		out, _ := cmd.CombinedOutput()
		s.Logf("$ kubectl %s\n%s", args, out)
	}
	for _, p := range s.told {
		s.Logf("$ %s\n%s", p, p.output())
	}
}

// kubectl runs kubectl in the namespace; it must succeed. It returns both streams.
func (s *space) kubectl(args ...string) string {
	s.Helper()
	out, code := s.try(args...)
	if code != 0 {
		s.Fatalf("kubectl %s: exit code %d\n%s", strings.Join(args, " "), code, out)
	}
	return out
}

// try runs kubectl in the namespace and returns both streams and the exit code.
func (s *space) try(args ...string) (string, int) {
	s.Helper()
	cmd := exec.CommandContext(s.Context(), "kubectl", slices.Concat(args, []string{"-n", s.name})...)
	cmd.Env, cmd.Dir = lab.env, lab.root
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		s.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// apply applies a manifest of testdata/scenarios.
func (s *space) apply(manifest string) {
	s.Helper()
	s.kubectl("apply", "-f", "testdata/scenarios/"+manifest+".yaml")
}

// patch changes a CloneSet as `kubectl patch` does.
func (s *space) patch(set, patch string) {
	s.Helper()
	s.kubectl("patch", "cloneset", set, "--type=merge", "-p", patch)
}

// until polls until the condition holds. Its limit is there for a test that hangs and says nothing of speed.
func (s *space) until(what string, holds func() (ok bool, seen string)) {
	s.Helper()
	seen := ""
	err := wait.PollUntilContextTimeout(s.Context(), 100*time.Millisecond, 3*time.Minute, true, func(context.Context) (bool, error) {
		var ok bool
		ok, seen = holds()
		return ok, nil
	})
	if err != nil {
		s.Fatalf("waiting until %s: %v; last seen: %s", what, err, seen)
	}
}

// cloneset reads a CloneSet.
func (s *space) cloneset(name string) *v1alpha1.CloneSet {
	s.Helper()
	resource := v1alpha1.SchemeGroupVersion.WithResource("clonesets")
	u, err := lab.dynamic.Resource(resource).Namespace(s.name).Get(s.Context(), name, metav1.GetOptions{})
	if err != nil {
		s.Fatal(err)
	}
	set := &v1alpha1.CloneSet{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, set); err != nil {
		s.Fatal(err)
	}
	return set
}

// pods lists the pods that nobody has asked to go, by name.
func (s *space) pods() map[string]*corev1.Pod {
	s.Helper()
	list, err := lab.client.CoreV1().Pods(s.name).List(s.Context(), metav1.ListOptions{})
	if err != nil {
		s.Fatal(err)
	}
	pods := map[string]*corev1.Pod{}
	for i := range list.Items {
		if p := &list.Items[i]; p.DeletionTimestamp == nil {
			pods[p.Name] = p
		}
	}
	return pods
}

// settle waits until a CloneSet has its pods, all ready, and its status says of the spec as it is now that they are
// available.
func (s *space) settle(name string) *v1alpha1.CloneSet {
	s.Helper()
	var set *v1alpha1.CloneSet
	s.until(name+" has all its pods available", func() (bool, string) {
		set = s.cloneset(name)
		st, n, ready := set.Status, *set.Spec.Replicas, int32(0)
		pods := s.pods()
		for _, p := range pods {
			if isReady(p) {
				ready++
			}
		}
		there := ready == n && len(pods) == int(n) && st.Replicas == n && st.AvailableReplicas == n
		updated := st.UpdatedReplicas >= st.ExpectedUpdatedReplicas && st.UpdatedAvailableReplicas == st.UpdatedReplicas
		return there && updated && st.ObservedGeneration == set.Generation, fmt.Sprintf("%d pods, generation %d, %+v", len(pods), set.Generation, st)
	})
	return set
}

// events counts the events about an object by type, reason and message, as "Normal SuccessfulCreate from source: message".
func (s *space) events(kind, name string) map[string]int {
	s.Helper()
	list, err := lab.client.CoreV1().Events(s.name).List(s.Context(), metav1.ListOptions{})
	if err != nil {
		s.Fatal(err)
	}
	seen := map[string]int{}
	for _, e := range list.Items {
		if e.InvolvedObject.Kind == kind && e.InvolvedObject.Name == name {
			seen[fmt.Sprintf("%s %s from %s: %s", e.Type, e.Reason, e.Source.Component, e.Message)] += max(1, int(e.Count))
		}
	}
	return seen
}

func isReady(p *corev1.Pod) bool { return readySince(p) != nil }

// readySince is when the pod turned ready; nil when it is not.
func readySince(p *corev1.Pod) *metav1.Time {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			return &c.LastTransitionTime
		}
	}
	return nil
}

func restarts(p *corev1.Pod) map[string]int32 {
	counts := map[string]int32{}
	for _, c := range p.Status.ContainerStatuses {
		counts[c.Name] = c.RestartCount
	}
	return counts
}
