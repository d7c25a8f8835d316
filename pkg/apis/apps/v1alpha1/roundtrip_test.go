package v1alpha1_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1alpha1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
)

// What v1beta1 says survives a read and write through v1alpha1.
func TestHubRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := drawHub(t)
		got := v1alpha1.CloneSetFromHub(want)
		back := v1alpha1.CloneSetToHub(got)
		if diff := cmp.Diff(plainHub(want), plainHub(back), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("v1beta1 after a round trip (-want +got):\n%s", diff)
		}
		again := v1alpha1.CloneSetFromHub(back)
		if diff := cmp.Diff(got, again, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("a second conversion differs from the first (-first +second):\n%s", diff)
		}
	})
}

// What v1alpha1 says survives a read and write through v1beta1.
func TestAlphaRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := drawAlpha(t)
		got := v1alpha1.CloneSetToHub(want)
		back := v1alpha1.CloneSetFromHub(got)
		if diff := cmp.Diff(plainAlpha(want), plainAlpha(back), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("v1alpha1 after a round trip (-want +got):\n%s", diff)
		}
		again := v1alpha1.CloneSetToHub(back)
		if diff := cmp.Diff(plainHub(got), plainHub(again), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("a second conversion differs from the first (-first +second):\n%s", diff)
		}
	})
}

// plainHub brings spellings of one meaning together: what defaults would fill
// in, and metadata that repeats fields.
func plainHub(in *v1beta1.CloneSet) *v1beta1.CloneSet {
	out := in.DeepCopy()
	v1beta1.SetCloneSetDefaults(out)
	delete(out.Labels, keys.ExcludePreparingDeleteLabel)
	block := out.Spec.UpdateStrategy.RollingUpdate
	if block == nil {
		return out
	}
	dropPreDownload(out.Annotations)
	block.InPlaceUpdateStrategy = plainInPlace(block.InPlaceUpdateStrategy)
	return out
}

// plainAlpha does the same for v1alpha1: pre-download values are written as
// fields.
func plainAlpha(in *v1alpha1.CloneSet) *v1alpha1.CloneSet {
	out := in.DeepCopy()
	strategy := &out.Spec.UpdateStrategy
	if strategy.Type != v1alpha1.OnDeleteCloneSetUpdateStrategyType {
		delete(out.Annotations, keys.OnDeletePolicyAnnotation)
	}
	if hub := v1alpha1.CloneSetToHub(in).Spec.UpdateStrategy.RollingUpdate; hub != nil {
		strategy.InPlaceUpdateStrategy = hub.InPlaceUpdateStrategy
		dropPreDownload(out.Annotations)
	}
	strategy.InPlaceUpdateStrategy = plainInPlace(strategy.InPlaceUpdateStrategy)
	if strategy.Type == "" {
		strategy.Type = v1alpha1.ReCreateCloneSetUpdateStrategyType
	}
	return out
}

func plainInPlace(in *v1beta1.InPlaceUpdateStrategy) *v1beta1.InPlaceUpdateStrategy {
	if in == nil {
		return nil
	}
	out := in.DeepCopy()
	if out.ImagePreDownloadParallelism != nil {
		*out.ImagePreDownloadParallelism = intstr.Parse(out.ImagePreDownloadParallelism.String())
	}
	return out
}

func dropPreDownload(annotations map[string]string) {
	delete(annotations, keys.ImagePreDownloadParallelismAnnotation)
	delete(annotations, keys.ImagePreDownloadTimeoutSecondsAnnotation)
	delete(annotations, keys.ImagePreDownloadMinUpdatedReadyPodsAnnotation)
}

func drawHub(t *rapid.T) *v1beta1.CloneSet {
	set := &v1beta1.CloneSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps.kruise.io/v1beta1", Kind: "CloneSet"},
		ObjectMeta: drawMeta(t),
		Status:     drawStatus(t),
	}
	delete(set.Annotations, keys.OnDeletePolicyAnnotation)
	spec := &set.Spec
	spec.Replicas = drawInt(t, "replicas")
	spec.Template = drawTemplate(t)
	spec.MinReadySeconds = rapid.Int32().Draw(t, "minReadySeconds")
	spec.Lifecycle = drawLifecycle(t)
	spec.ProgressDeadlineSeconds = drawInt(t, "progressDeadlineSeconds")
	spec.ScaleStrategy = v1beta1.CloneSetScaleStrategy{
		PodsToDelete:           rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b"}), 0, 2).Draw(t, "podsToDelete"),
		MaxUnavailable:         drawLimit(t, "scale.maxUnavailable"),
		EnablePVCReuse:         rapid.Bool().Draw(t, "enablePVCReuse"),
		ExcludePreparingDelete: rapid.Bool().Draw(t, "excludePreparingDelete"),
	}
	spec.UpdateStrategy.Type = rapid.SampledFrom([]v1beta1.CloneSetUpdateStrategyType{"", "RollingUpdate", "OnDelete"}).Draw(t, "type")
	if rapid.Bool().Draw(t, "rollingUpdate") {
		spec.UpdateStrategy.RollingUpdate = &v1beta1.RollingUpdateCloneSetStrategy{
			PodUpdatePolicy:       rapid.SampledFrom([]v1beta1.PodUpdatePolicy{"ReCreate", "InPlaceIfPossible", "InPlaceOnly", ""}).Draw(t, "policy"),
			Partition:             drawLimit(t, "partition"),
			MaxUnavailable:        drawLimit(t, "maxUnavailable"),
			MaxSurge:              drawLimit(t, "maxSurge"),
			Paused:                rapid.Bool().Draw(t, "paused"),
			PriorityStrategy:      drawPriority(t),
			ScatterStrategy:       drawScatter(t),
			InPlaceUpdateStrategy: drawInPlace(t),
		}
	}
	// Only an OnDelete set without a block carries what v1alpha1 said.
	if spec.UpdateStrategy.Type == "OnDelete" && spec.UpdateStrategy.RollingUpdate == nil && rapid.Bool().Draw(t, "kept") {
		set.Annotations[keys.OnDeleteStrategyAnnotation] = `{"partition":"30%","paused":true}`
	}
	return set
}

func drawAlpha(t *rapid.T) *v1alpha1.CloneSet {
	set := &v1alpha1.CloneSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps.kruise.io/v1alpha1", Kind: "CloneSet"},
		ObjectMeta: drawMeta(t),
		Status:     drawStatus(t),
	}
	spec := &set.Spec
	spec.Replicas = drawInt(t, "replicas")
	spec.Template = drawTemplate(t)
	spec.MinReadySeconds = rapid.Int32().Draw(t, "minReadySeconds")
	spec.Lifecycle = drawLifecycle(t)
	spec.RevisionHistoryLimit = drawInt(t, "revisionHistoryLimit")
	spec.ScaleStrategy = v1alpha1.CloneSetScaleStrategy{
		MaxUnavailable:  drawLimit(t, "scale.maxUnavailable"),
		DisablePVCReuse: rapid.Bool().Draw(t, "disablePVCReuse"),
	}
	spec.UpdateStrategy = v1alpha1.CloneSetUpdateStrategy{
		Type: rapid.SampledFrom([]v1alpha1.CloneSetUpdateStrategyType{
			"", "ReCreate", "InPlaceIfPossible", "InPlaceOnly", "OnDelete",
		}).Draw(t, "type"),
		Partition:             drawLimit(t, "partition"),
		MaxUnavailable:        drawLimit(t, "maxUnavailable"),
		MaxSurge:              drawLimit(t, "maxSurge"),
		Paused:                rapid.Bool().Draw(t, "paused"),
		PriorityStrategy:      drawPriority(t),
		ScatterStrategy:       drawScatter(t),
		InPlaceUpdateStrategy: drawInPlace(t),
	}
	return set
}

func drawMeta(t *rapid.T) metav1.ObjectMeta {
	meta := metav1.ObjectMeta{Name: "web", Namespace: "shop", Labels: map[string]string{}, Annotations: map[string]string{}}
	draw := func(m map[string]string, key string, values ...string) {
		if value := rapid.SampledFrom(append(values, "")).Draw(t, key); value != "" {
			m[key] = value
		}
	}
	draw(meta.Labels, keys.ExcludePreparingDeleteLabel, "true")
	draw(meta.Labels, "app", "web")
	draw(meta.Annotations, keys.ImagePreDownloadParallelismAnnotation, "5", "50%", "many")
	draw(meta.Annotations, keys.ImagePreDownloadTimeoutSecondsAnnotation, "60", "060", "soon")
	draw(meta.Annotations, keys.ImagePreDownloadMinUpdatedReadyPodsAnnotation, "1", "10%")
	draw(meta.Annotations, keys.OnDeletePolicyAnnotation, "ReCreate", "InPlaceOnly")
	draw(meta.Annotations, "note", "kept")
	return meta
}

func drawStatus(t *rapid.T) v1beta1.CloneSetStatus {
	return v1beta1.CloneSetStatus{
		Replicas:        rapid.Int32().Draw(t, "status.replicas"),
		CurrentRevision: rapid.String().Draw(t, "currentRevision"),
		CollisionCount:  drawInt(t, "collisionCount"),
		Conditions: []v1beta1.CloneSetCondition{{
			Type: v1beta1.CloneSetConditionProgressing, Status: corev1.ConditionTrue, Message: rapid.String().Draw(t, "message"),
		}},
	}
}

func drawTemplate(t *rapid.T) corev1.PodTemplateSpec {
	var template corev1.PodTemplateSpec
	template.Labels = map[string]string{"app": "web"}
	template.Spec.Containers = []corev1.Container{{Name: "c", Image: rapid.String().Draw(t, "image")}}
	return template
}

func drawLifecycle(t *rapid.T) *v1beta1.Lifecycle {
	if rapid.Bool().Draw(t, "no lifecycle") {
		return nil
	}
	return &v1beta1.Lifecycle{PreDelete: &v1beta1.LifecycleHook{
		LabelsHandler: map[string]string{"hold": "true"}, MarkPodNotReady: rapid.Bool().Draw(t, "markPodNotReady"),
	}}
}

func drawPriority(t *rapid.T) *v1beta1.UpdatePriorityStrategy {
	if rapid.Bool().Draw(t, "no priority") {
		return nil
	}
	return &v1beta1.UpdatePriorityStrategy{OrderPriority: []v1beta1.UpdatePriorityOrderTerm{{OrderedKey: "key"}}}
}

func drawScatter(t *rapid.T) v1beta1.UpdateScatterStrategy {
	return rapid.SliceOfN(rapid.Just(v1beta1.UpdateScatterTerm{Key: "k", Value: "v"}), 0, 2).Draw(t, "scatter")
}

func drawInPlace(t *rapid.T) *v1beta1.InPlaceUpdateStrategy {
	if rapid.Bool().Draw(t, "no in-place strategy") {
		return nil
	}
	return &v1beta1.InPlaceUpdateStrategy{
		GracePeriodSeconds:                  rapid.Int32Range(0, 2).Draw(t, "grace"),
		ImagePreDownloadParallelism:         drawLimit(t, "parallelism"),
		ImagePreDownloadTimeoutSeconds:      drawInt(t, "timeoutSeconds"),
		ImagePreDownloadMinUpdatedReadyPods: drawInt(t, "minUpdatedReadyPods"),
	}
}

func drawInt(t *rapid.T, label string) *int32 {
	if rapid.Bool().Draw(t, "no "+label) {
		return nil
	}
	value := rapid.Int32().Draw(t, label)
	return &value
}

func drawLimit(t *rapid.T, label string) *intstr.IntOrString {
	if rapid.Bool().Draw(t, "no "+label) {
		return nil
	}
	value := rapid.SampledFrom([]intstr.IntOrString{
		intstr.FromInt32(0), intstr.FromInt32(7), intstr.FromString("5"), intstr.FromString("33.3%"), intstr.FromString("x"),
	}).Draw(t, label)
	return &value
}
