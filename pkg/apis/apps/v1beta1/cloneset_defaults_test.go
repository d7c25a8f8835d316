package v1beta1_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/features"
)

type (
	spec     = v1beta1.CloneSetSpec
	strategy = v1beta1.CloneSetUpdateStrategy
	rolling  = v1beta1.RollingUpdateCloneSetStrategy
)

func count(n int32) *intstr.IntOrString { return ptr.To(intstr.FromInt32(n)) }
func text(s string) *intstr.IntOrString { return ptr.To(intstr.FromString(s)) }

func TestSetCloneSetDefaults(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name     string
		in, want spec
	}{
		{"cloneset/58 no strategy at all", spec{}, spec{
			Replicas: ptr.To[int32](1), RevisionHistoryLimit: ptr.To[int32](10),
			UpdateStrategy: strategy{Type: "RollingUpdate", RollingUpdate: &rolling{
				PodUpdatePolicy: "ReCreate", Partition: count(0), MaxUnavailable: text("20%"), MaxSurge: count(0),
			}},
		}},
		{"what is said stays",
			spec{Replicas: ptr.To[int32](0), RevisionHistoryLimit: ptr.To[int32](0), UpdateStrategy: strategy{RollingUpdate: &rolling{
				Partition: text("50%"), MaxUnavailable: count(0), MaxSurge: text("100%"),
			}}},
			spec{Replicas: ptr.To[int32](0), RevisionHistoryLimit: ptr.To[int32](0), UpdateStrategy: strategy{Type: "RollingUpdate", RollingUpdate: &rolling{
				PodUpdatePolicy: "ReCreate", Partition: text("50%"), MaxUnavailable: count(0), MaxSurge: text("100%"),
			}}}},
		{"an in-place policy gets its strategy",
			spec{UpdateStrategy: strategy{RollingUpdate: &rolling{PodUpdatePolicy: "InPlaceIfPossible"}}},
			spec{Replicas: ptr.To[int32](1), RevisionHistoryLimit: ptr.To[int32](10),
				UpdateStrategy: strategy{Type: "RollingUpdate", RollingUpdate: &rolling{
					PodUpdatePolicy: "InPlaceIfPossible", Partition: count(0), MaxUnavailable: text("20%"), MaxSurge: count(0),
					InPlaceUpdateStrategy: &v1beta1.InPlaceUpdateStrategy{},
				}}}},
		{"OnDelete is left alone",
			spec{UpdateStrategy: strategy{Type: "OnDelete"}},
			spec{Replicas: ptr.To[int32](1), RevisionHistoryLimit: ptr.To[int32](10), UpdateStrategy: strategy{Type: "OnDelete"}}},
		{"OnDelete with a block is left alone",
			spec{UpdateStrategy: strategy{Type: "OnDelete", RollingUpdate: &rolling{}}},
			spec{Replicas: ptr.To[int32](1), RevisionHistoryLimit: ptr.To[int32](10),
				UpdateStrategy: strategy{Type: "OnDelete", RollingUpdate: &rolling{}}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			set := &v1beta1.CloneSet{Spec: tc.in}
			v1beta1.SetCloneSetDefaults(set)
			if diff := cmp.Diff(tc.want, set.Spec); diff != "" {
				t.Errorf("spec (-want +got):\n%s", diff)
			}
		})
	}
}

// cloneset.md 13.1 item 2: when the template's defaults are written.
func TestSetCloneSetAdmissionDefaults(t *testing.T) {
	t.Parallel()
	bare := func(image string) *v1beta1.CloneSet {
		set := &v1beta1.CloneSet{}
		set.Spec.Template.Spec.Containers = []corev1.Container{{Name: "c", Image: image}}
		return set
	}
	for _, tc := range []struct {
		name  string
		old   *v1beta1.CloneSet
		gates features.Gates
		want  bool
	}{
		{"on create", nil, features.Defaults(), true},
		{"on an update of the template", bare("nginx:1.26"), features.Defaults(), true},
		{"not on an update of anything else", bare("nginx:1.27"), features.Defaults(), false},
		{"never with the gate", nil, features.Defaults().With(features.TemplateNoDefaults, true), false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			set := bare("nginx:1.27")
			v1beta1.SetCloneSetAdmissionDefaults(set, tc.old, tc.gates)
			if got := set.Spec.Template.Spec.RestartPolicy != ""; got != tc.want {
				t.Errorf("template defaulted: %v, want %v", got, tc.want)
			}
			if got := ptr.Deref(set.Spec.Replicas, 0); got != 1 {
				t.Errorf("replicas %d, want 1", got)
			}
		})
	}
}
