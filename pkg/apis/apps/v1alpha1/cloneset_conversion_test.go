package v1alpha1_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1alpha1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
)

type (
	alphaStrategy = v1alpha1.CloneSetUpdateStrategy
	hubStrategy   = v1beta1.CloneSetUpdateStrategy
	hubRolling    = v1beta1.RollingUpdateCloneSetStrategy
	hubInPlace    = v1beta1.InPlaceUpdateStrategy
	text          = map[string]string
)

// alphaSet and hubSet make sets that differ only in what the tables below
// are about.
func alphaSet(labels, annotations text, strategy alphaStrategy) *v1alpha1.CloneSet {
	return &v1alpha1.CloneSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps.kruise.io/v1alpha1", Kind: "CloneSet"},
		ObjectMeta: metav1.ObjectMeta{Name: "web", Labels: labels, Annotations: annotations},
		Spec:       v1alpha1.CloneSetSpec{UpdateStrategy: strategy},
	}
}

func hubSet(labels, annotations text, scale v1beta1.CloneSetScaleStrategy, strategy hubStrategy) *v1beta1.CloneSet {
	return &v1beta1.CloneSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps.kruise.io/v1beta1", Kind: "CloneSet"},
		ObjectMeta: metav1.ObjectMeta{Name: "web", Labels: labels, Annotations: annotations},
		Spec:       v1beta1.CloneSetSpec{ScaleStrategy: scale, UpdateStrategy: strategy},
	}
}

var reuse = v1beta1.CloneSetScaleStrategy{EnablePVCReuse: true}

func rolling(block hubRolling) hubStrategy {
	return hubStrategy{Type: "RollingUpdate", RollingUpdate: &block}
}

func TestCloneSetToHub(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		in   *v1alpha1.CloneSet
		want *v1beta1.CloneSet
	}{{
		name: "cloneset.md 3/up/3: an empty type is a rolling update by recreation",
		in:   alphaSet(nil, nil, alphaStrategy{}),
		want: hubSet(nil, nil, reuse, rolling(hubRolling{PodUpdatePolicy: "ReCreate"})),
	}, {
		name: "cloneset.md 3/up/3: an unknown type is a rolling update by recreation",
		in:   alphaSet(nil, nil, alphaStrategy{Type: "Surprise"}),
		want: hubSet(nil, nil, reuse, rolling(hubRolling{PodUpdatePolicy: "ReCreate"})),
	}, {
		name: "cloneset.md 3/up/3: the policy comes from the type, the limits move into the block",
		in: alphaSet(nil, nil, alphaStrategy{
			Type: "InPlaceIfPossible", Partition: ptr.To(intstr.FromString("80%")), Paused: true,
			ScatterStrategy: v1beta1.UpdateScatterStrategy{{Key: "zone", Value: "a"}},
		}),
		want: hubSet(nil, nil, reuse, rolling(hubRolling{
			PodUpdatePolicy: "InPlaceIfPossible", Partition: ptr.To(intstr.FromString("80%")), Paused: true,
			ScatterStrategy: v1beta1.UpdateScatterStrategy{{Key: "zone", Value: "a"}},
		})),
	}, {
		name: "cloneset.md 3/up/3: OnDelete has no block; what it said besides is kept aside",
		in:   alphaSet(nil, nil, alphaStrategy{Type: "OnDelete", Partition: ptr.To(intstr.FromInt32(2))}),
		want: hubSet(nil, text{keys.OnDeleteStrategyAnnotation: `{"partition":2}`}, reuse, hubStrategy{Type: "OnDelete"}),
	}, {
		name: "ours: of an OnDelete that says nothing besides nothing is kept",
		in:   alphaSet(nil, nil, alphaStrategy{Type: "OnDelete", ScatterStrategy: v1beta1.UpdateScatterStrategy{}}),
		want: hubSet(nil, nil, reuse, hubStrategy{Type: "OnDelete"}),
	}, {
		name: "ours: OnDelete that had a block gets it back",
		in: alphaSet(nil, text{keys.OnDeletePolicyAnnotation: "InPlaceOnly"},
			alphaStrategy{Type: "OnDelete", MaxUnavailable: ptr.To(intstr.FromInt32(2))}),
		want: hubSet(nil, nil, reuse, hubStrategy{Type: "OnDelete", RollingUpdate: &hubRolling{
			PodUpdatePolicy: "InPlaceOnly", MaxUnavailable: ptr.To(intstr.FromInt32(2)),
		}}),
	}, {
		name: "ours: the mark of an OnDelete block means nothing for another type",
		in:   alphaSet(nil, text{keys.OnDeletePolicyAnnotation: "InPlaceOnly"}, alphaStrategy{Type: "ReCreate"}),
		want: hubSet(nil, nil, reuse, rolling(hubRolling{PodUpdatePolicy: "ReCreate"})),
	}, {
		name: "cloneset.md 3/up/2: the label becomes the field and stays",
		in:   alphaSet(text{keys.ExcludePreparingDeleteLabel: "true"}, nil, alphaStrategy{}),
		want: hubSet(text{keys.ExcludePreparingDeleteLabel: "true"}, nil,
			v1beta1.CloneSetScaleStrategy{EnablePVCReuse: true, ExcludePreparingDelete: true},
			rolling(hubRolling{PodUpdatePolicy: "ReCreate"})),
	}, {
		name: "cloneset.md 3/up/4: annotations become fields; malformed numbers are dropped",
		in: alphaSet(nil, text{
			keys.ImagePreDownloadParallelismAnnotation:         "30%",
			keys.ImagePreDownloadTimeoutSecondsAnnotation:      "60",
			keys.ImagePreDownloadMinUpdatedReadyPodsAnnotation: "10%",
		}, alphaStrategy{}),
		want: hubSet(nil, text{
			keys.ImagePreDownloadParallelismAnnotation:         "30%",
			keys.ImagePreDownloadTimeoutSecondsAnnotation:      "60",
			keys.ImagePreDownloadMinUpdatedReadyPodsAnnotation: "10%",
		}, reuse, rolling(hubRolling{PodUpdatePolicy: "ReCreate", InPlaceUpdateStrategy: &hubInPlace{
			ImagePreDownloadParallelism:    ptr.To(intstr.FromString("30%")),
			ImagePreDownloadTimeoutSeconds: ptr.To[int32](60),
		}})),
	}, {
		name: "ours: a v1alpha1 pre-download field counts where there is no annotation",
		in: alphaSet(nil, text{keys.ImagePreDownloadTimeoutSecondsAnnotation: "60"}, alphaStrategy{
			InPlaceUpdateStrategy: &hubInPlace{
				GracePeriodSeconds:             5,
				ImagePreDownloadParallelism:    ptr.To(intstr.FromInt32(2)),
				ImagePreDownloadTimeoutSeconds: ptr.To[int32](99),
			},
		}),
		want: hubSet(nil, text{keys.ImagePreDownloadTimeoutSecondsAnnotation: "60"}, reuse,
			rolling(hubRolling{PodUpdatePolicy: "ReCreate", InPlaceUpdateStrategy: &hubInPlace{
				GracePeriodSeconds:             5,
				ImagePreDownloadParallelism:    ptr.To(intstr.FromInt32(2)),
				ImagePreDownloadTimeoutSeconds: ptr.To[int32](60),
			}})),
	}} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, v1alpha1.CloneSetToHub(tc.in), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("v1beta1 form (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCloneSetFromHub(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		in   *v1beta1.CloneSet
		want *v1alpha1.CloneSet
	}{{
		name: "cloneset.md 3/down/2: without a block the type is ReCreate",
		in:   hubSet(nil, nil, reuse, hubStrategy{Type: "RollingUpdate"}),
		want: alphaSet(nil, nil, alphaStrategy{Type: "ReCreate"}),
	}, {
		name: "cloneset.md 3/down/2: an unknown policy is ReCreate",
		in:   hubSet(nil, nil, reuse, rolling(hubRolling{PodUpdatePolicy: "Surprise"})),
		want: alphaSet(nil, nil, alphaStrategy{Type: "ReCreate"}),
	}, {
		name: "cloneset.md 3/down/2: OnDelete keeps the fields of its block, and ours its policy",
		in: hubSet(nil, nil, reuse, hubStrategy{Type: "OnDelete", RollingUpdate: &hubRolling{
			PodUpdatePolicy: "InPlaceIfPossible", MaxSurge: ptr.To(intstr.FromInt32(1)),
		}}),
		want: alphaSet(nil, text{keys.OnDeletePolicyAnnotation: "InPlaceIfPossible"},
			alphaStrategy{Type: "OnDelete", MaxSurge: ptr.To(intstr.FromInt32(1))}),
	}, {
		name: "ours: OnDelete without a block gets back what v1alpha1 said",
		in:   hubSet(nil, text{keys.OnDeleteStrategyAnnotation: `{"partition":2}`}, reuse, hubStrategy{Type: "OnDelete"}),
		want: alphaSet(nil, nil, alphaStrategy{Type: "OnDelete", Partition: ptr.To(intstr.FromInt32(2))}),
	}, {
		name: "ours: a spoilt annotation counts as absent",
		in:   hubSet(nil, text{keys.OnDeleteStrategyAnnotation: `{"partition":`}, reuse, hubStrategy{Type: "OnDelete"}),
		want: alphaSet(nil, nil, alphaStrategy{Type: "OnDelete"}),
	}, {
		name: "ours: what OnDelete kept aside is gone with the type",
		in: hubSet(nil, text{keys.OnDeleteStrategyAnnotation: `{"partition":2}`}, reuse,
			rolling(hubRolling{PodUpdatePolicy: "ReCreate"})),
		want: alphaSet(nil, nil, alphaStrategy{Type: "ReCreate"}),
	}, {
		name: "ours: excludePreparingDelete becomes the label",
		in:   hubSet(nil, nil, v1beta1.CloneSetScaleStrategy{EnablePVCReuse: true, ExcludePreparingDelete: true}, hubStrategy{}),
		want: alphaSet(text{keys.ExcludePreparingDeleteLabel: "true"}, nil, alphaStrategy{Type: "ReCreate"}),
	}, {
		name: "ours: a label that the field no longer says goes",
		in:   hubSet(text{keys.ExcludePreparingDeleteLabel: "true", "a": "b"}, nil, reuse, hubStrategy{}),
		want: alphaSet(text{"a": "b"}, nil, alphaStrategy{Type: "ReCreate"}),
	}, {
		name: "cloneset.md 3/down/3: pre-download values become annotations, a stale one goes",
		in: hubSet(nil, text{
			keys.ImagePreDownloadTimeoutSecondsAnnotation:      "60",
			keys.ImagePreDownloadMinUpdatedReadyPodsAnnotation: "007",
		}, reuse, rolling(hubRolling{
			PodUpdatePolicy: "InPlaceOnly",
			InPlaceUpdateStrategy: &hubInPlace{
				GracePeriodSeconds:                  3,
				ImagePreDownloadParallelism:         ptr.To(intstr.FromInt32(4)),
				ImagePreDownloadMinUpdatedReadyPods: ptr.To[int32](7),
			},
		})),
		want: alphaSet(nil, text{
			keys.ImagePreDownloadParallelismAnnotation:         "4",
			keys.ImagePreDownloadMinUpdatedReadyPodsAnnotation: "007",
		}, alphaStrategy{Type: "InPlaceOnly", InPlaceUpdateStrategy: &hubInPlace{GracePeriodSeconds: 3}}),
	}, {
		name: "cloneset.md 3/down/3: an in-place strategy without content stays (ours), so that a write through v1alpha1 changes nothing",
		in:   hubSet(nil, nil, reuse, rolling(hubRolling{PodUpdatePolicy: "InPlaceOnly", InPlaceUpdateStrategy: &hubInPlace{}})),
		want: alphaSet(nil, nil, alphaStrategy{Type: "InPlaceOnly", InPlaceUpdateStrategy: &hubInPlace{}}),
	}} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, v1alpha1.CloneSetFromHub(tc.in), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("v1alpha1 form (-want +got):\n%s", diff)
			}
		})
	}
}

func TestConversionSharesNoMemory(t *testing.T) {
	t.Parallel()
	in := alphaSet(text{"a": "b"}, text{"c": "d"}, alphaStrategy{Type: "OnDelete", Partition: ptr.To(intstr.FromInt32(1))})
	in.Spec.Template.Spec.Containers = []corev1.Container{{Name: "nginx", Image: "nginx:1"}}
	before := in.DeepCopy()

	hub := v1alpha1.CloneSetToHub(in)
	hub.Labels["a"], hub.Annotations["c"] = "x", "x"
	hub.Spec.Template.Spec.Containers[0].Image = "nginx:2"
	if diff := cmp.Diff(before, in); diff != "" {
		t.Errorf("v1alpha1 object changed with the copy (-want +got):\n%s", diff)
	}

	hubBefore := hub.DeepCopy()
	back := v1alpha1.CloneSetFromHub(hub)
	back.Labels["a"], back.Annotations["c"] = "y", "y"
	back.Spec.Template.Spec.Containers[0].Image = "nginx:3"
	back.Spec.UpdateStrategy.Partition.IntVal = 9
	if diff := cmp.Diff(hubBefore, hub); diff != "" {
		t.Errorf("v1beta1 object changed with the copy (-want +got):\n%s", diff)
	}
}
