package cloneset

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/features"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
)

// stored gives the set two claim templates of the size and says whether claims are reused.
func stored(size string, reuse bool) option {
	return func(c *v1beta1.CloneSet) {
		c.Spec.VolumeClaimTemplates = nil
		for _, name := range []string{"data", "logs"} {
			c.Spec.VolumeClaimTemplates = append(c.Spec.VolumeClaimTemplates, corev1.PersistentVolumeClaim{
				ObjectMeta: metav1.ObjectMeta{Name: name},
				Spec: corev1.PersistentVolumeClaimSpec{Resources: corev1.VolumeResourceRequirements{
					Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}}},
			})
		}
		c.Spec.ScaleStrategy.EnablePVCReuse = reuse
	}
}

func (s *stage) claimNames() []string {
	var names []string
	for _, c := range s.w.Claims {
		names = append(names, c.Name)
	}
	slices.Sort(names)
	return names
}

func (s *stage) ids() []string {
	var ids []string
	for _, p := range s.w.Pods {
		ids = append(ids, p.Labels[keys.InstanceIDLabel])
	}
	slices.Sort(ids)
	return ids
}

// terminating marks the i-th pod as somebody's delete leaves it while it has not gone.
func (s *stage) terminating(i int) string {
	name := s.w.Pods[i].Name
	s.edit(func(p *corev1.Pod) {
		if p.Name == name {
			p.DeletionTimestamp = ptr(metav1.NewTime(s.w.Now))
		}
	})
	return name
}

func TestClaims(t *testing.T) {
	t.Parallel()
	t.Run("cloneset/47", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, 4, stored("1Gi", true))
		s.settle()
		ids, names := s.ids(), s.claimNames()
		if len(names) != 8 || names[0] != "data-web-"+ids[0] {
			t.Fatalf("claims %v for ids %v", names, ids)
		}
		s.w.Pods = nil
		s.settle()
		if diff := cmp.Diff(ids, s.ids()); diff != "" {
			t.Errorf("ids after the pods were deleted (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(names, s.claimNames()); diff != "" {
			t.Errorf("claims (-want +got):\n%s", diff)
		}
		for _, c := range s.w.Claims {
			if len(c.OwnerReferences) != 1 || c.OwnerReferences[0].UID != s.w.Set.UID {
				t.Errorf("claim %s is owned by %v", c.Name, c.OwnerReferences)
			}
		}
	})
	t.Run("cloneset/48", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, 4, stored("1Gi", false))
		s.settle()
		before, ids := s.claimNames(), s.ids()
		s.w.Pods = nil
		s.settle()
		if got := s.ids(); len(got) != 4 || slices.ContainsFunc(got, func(id string) bool { return slices.Contains(ids, id) }) {
			t.Errorf("ids %v, before %v", got, ids)
		}
		for _, c := range s.w.Claims {
			if len(c.OwnerReferences) != 1 || c.OwnerReferences[0].UID != s.w.Set.UID {
				t.Errorf("claim %s is owned by %v", c.Name, c.OwnerReferences)
			}
		}
		if got := s.claimNames(); len(got) != 8 || slices.ContainsFunc(got, func(n string) bool { return slices.Contains(before, n) }) {
			t.Errorf("claims %v, before %v", got, before)
		}
	})
	t.Run("cloneset/49", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, 3, stored("1Gi", true))
		s.w.Gates = s.w.Gates.With(features.RecreatePodWhenChangeVCTInCloneSetGate, true)
		s.settle()
		before := s.claimNames()
		s.change(policy(inPlace), image("v2"), stored("2Gi", true))
		s.settle()
		s.expectCounts(0, 3)
		for _, c := range s.w.Claims {
			if slices.Contains(before, c.Name) || c.Spec.Resources.Requests.Storage().String() != "2Gi" {
				t.Errorf("claim %s of %s", c.Name, c.Spec.Resources.Requests.Storage())
			}
		}
	})
	t.Run("cloneset/50 cloneset/51", func(t *testing.T) {
		t.Parallel()
		for _, way := range []v1beta1.PodUpdatePolicy{inPlace, v1beta1.InPlaceOnlyPodUpdatePolicy} {
			s := newStage(t, 3, policy(way), stored("1Gi", true))
			s.w.Gates = s.w.Gates.With(features.RecreatePodWhenChangeVCTInCloneSetGate, true)
			s.settle()
			pods, names := s.ids(), s.claimNames()
			s.change(stored("2Gi", true))
			p := s.settle()
			if len(s.w.Revisions) != 1 || p.Status.ObservedGeneration != s.w.Set.Generation {
				t.Errorf("%d revisions, status %+v", len(s.w.Revisions), p.Status)
			}
			if diff := cmp.Diff(names, s.claimNames()); diff != "" {
				t.Errorf("claims after their template alone changed:\n%s", diff)
			}
			s.change(image("v2"))
			s.settle()
			only := way == v1beta1.InPlaceOnlyPodUpdatePolicy
			if kept := cmp.Equal(pods, s.ids()); kept != only {
				t.Errorf("%s: pods kept: %v", way, kept)
			}
			if kept := cmp.Equal(names, s.claimNames()); kept != only {
				t.Errorf("%s: claims kept: %v", way, kept)
			}
		}
	})
	t.Run("scale-in deletes the claims of the pod", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, 3, stored("1Gi", true))
		s.settle()
		s.change(replicas(2))
		s.settle()
		if got := s.claimNames(); len(got) != 4 {
			t.Errorf("claims %v", got)
		}
	})
	t.Run("volumes of claims come first and replace those of the template", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, 1, stored("1Gi", true), func(c *v1beta1.CloneSet) {
			c.Spec.Template.Spec.Volumes = []corev1.Volume{{Name: "tmp"}, {Name: "logs"}}
		})
		s.settle()
		var got []string
		for _, v := range s.w.Pods[0].Spec.Volumes {
			claim := ""
			if v.PersistentVolumeClaim != nil {
				claim = v.PersistentVolumeClaim.ClaimName
			}
			got = append(got, v.Name+"="+claim)
		}
		id := s.ids()[0]
		if diff := cmp.Diff([]string{"data=data-web-" + id, "logs=logs-web-" + id, "tmp="}, got); diff != "" {
			t.Errorf("volumes (-want +got):\n%s", diff)
		}
	})
	t.Run("a terminating pod is waited for, a finished one makes room", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, 2, stored("1Gi", true))
		s.settle()
		name := s.terminating(0)
		p := s.quiet()
		s.expect("while it is there", did(p), "")
		if len(p.Waits) == 0 || p.Waits[0].Reason != plan.ReasonNameTaken || p.Waits[0].Names[0] != name {
			t.Errorf("waits %+v", p.Waits)
		}
		s.edit(func(p *corev1.Pod) {
			if p.Name == name {
				p.DeletionTimestamp, p.Status.Phase = nil, corev1.PodFailed
			}
		})
		s.expect("finished", did(s.pass()), "delete 1")
		s.expect("then", did(s.pass()), "create 1")
		if s.pod(name) == nil || len(s.w.Claims) != 4 {
			t.Errorf("pods %v, claims %v", s.ids(), s.claimNames())
		}
	})
	t.Run("without reuse a leaving pod takes its claims along", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, 2, stored("1Gi", false))
		s.settle()
		name := s.terminating(0)
		s.pass()
		uid := s.pod(name).UID
		for _, c := range s.w.Claims {
			mine := c.Labels[keys.InstanceIDLabel] == s.pod(name).Labels[keys.InstanceIDLabel]
			if got := c.OwnerReferences[0].UID == uid; got != mine {
				t.Errorf("claim %s: owners %v", c.Name, c.OwnerReferences)
			}
		}
	})
	t.Run("a released pod keeps its claims", func(t *testing.T) {
		t.Parallel()
		for _, reuse := range []bool{true, false} {
			s := newStage(t, 2, stored("1Gi", reuse))
			s.settle()
			lost := s.w.Pods[0].Name
			s.edit(func(p *corev1.Pod) {
				if p.Name == lost {
					p.Labels["app"] = "other"
				}
			})
			s.settle()
			uid, kept := s.pod(lost).UID, 0
			for _, c := range s.w.Claims {
				if c.OwnerReferences[0].UID == uid {
					kept++
				}
			}
			if kept != 2 || len(s.w.Claims) != 6 {
				t.Errorf("reuse %v: the pod has %d of %d claims", reuse, kept, len(s.w.Claims))
			}
		}
	})
	t.Run("a pod whose label with the id was taken off keeps its claims", func(t *testing.T) {
		t.Parallel()
		for _, left := range []bool{true, false} {
			s := newStage(t, 2, stored("1Gi", false))
			s.settle()
			name, claims := s.w.Pods[0].Name, s.claimNames()
			s.edit(func(p *corev1.Pod) {
				if p.Name == name {
					delete(p.Labels, keys.InstanceIDLabel)
					if left {
						delete(p.Labels, "app")
					}
				}
			})
			s.settle()
			for _, c := range claims {
				if !slices.Contains(s.claimNames(), c) {
					t.Errorf("out of the selector %v: claim %s is gone", left, c)
				}
			}
		}
	})
	t.Run("pods that cannot be made keep no other from being deleted, and no event is repeated", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, 4, stored("1Gi", true), maxUnavailable("3"), func(c *v1beta1.CloneSet) { c.Spec.ScaleStrategy.MaxUnavailable = number(1) })
		s.settle()
		s.terminating(0)
		s.terminating(1)
		s.specify(2)
		s.seen = nil
		s.expect("while the names are taken", did(s.pass()), "delete 1")
		s.quiet()
		for _, e := range s.seen {
			if e.Reason == "ScaleUpLimited" {
				t.Error("an event says that fewer pods are made when none is")
			}
		}
	})
	t.Run("claims without an id are left alone", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, 1, stored("1Gi", false))
		s.settle()
		s.w.Claims = append(s.w.Claims, &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "foreign", UID: "f",
			OwnerReferences: []metav1.OwnerReference{{UID: s.w.Set.UID}}}})
		s.specify(0)
		s.settle()
		if !slices.Contains(s.claimNames(), "foreign") {
			t.Error("it is gone")
		}
	})
}
