package v1alpha1_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1alpha1"
)

func TestSetCloneSetDefaults(t *testing.T) {
	t.Parallel()
	filled := func(kind v1alpha1.CloneSetUpdateStrategyType, inPlace *hubInPlace) v1alpha1.CloneSetSpec {
		return v1alpha1.CloneSetSpec{
			Replicas: ptr.To[int32](1), RevisionHistoryLimit: ptr.To[int32](10),
			UpdateStrategy: alphaStrategy{
				Type: kind, Partition: ptr.To(intstr.FromInt32(0)), MaxUnavailable: ptr.To(intstr.FromString("20%")),
				MaxSurge: ptr.To(intstr.FromInt32(0)), InPlaceUpdateStrategy: inPlace,
			},
		}
	}
	for _, tc := range []struct {
		name string
		in   v1alpha1.CloneSetUpdateStrategyType
		want v1alpha1.CloneSetSpec
	}{
		{"cloneset/58 an empty strategy", "", filled("ReCreate", nil)},
		{"in place if possible", "InPlaceIfPossible", filled("InPlaceIfPossible", &hubInPlace{})},
		{"in place only", "InPlaceOnly", filled("InPlaceOnly", &hubInPlace{})},
		{"OnDelete gets the limits too", "OnDelete", filled("OnDelete", nil)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			set := &v1alpha1.CloneSet{Spec: v1alpha1.CloneSetSpec{UpdateStrategy: alphaStrategy{Type: tc.in}}}
			v1alpha1.SetCloneSetDefaults(set)
			if diff := cmp.Diff(tc.want, set.Spec); diff != "" {
				t.Errorf("spec (-want +got):\n%s", diff)
			}
		})
	}
}
