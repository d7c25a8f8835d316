package validation_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1alpha1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/validation"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/features"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
)

const setUID = "0c1d3f7e"

// validSet is a defaulted CloneSet that breaks no rule.
func validSet() *v1beta1.CloneSet {
	set := &v1beta1.CloneSet{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop", UID: setUID, ResourceVersion: "1"},
		Spec: v1beta1.CloneSetSpec{
			Replicas: ptr.To[int32](3),
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{
					Name: "nginx", Image: "nginx:1.26",
					Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("1")}},
				}}},
			},
		},
	}
	v1beta1.SetCloneSetDefaults(set)
	return set
}

func validAlphaSet() *v1alpha1.CloneSet {
	set := v1alpha1.CloneSetFromHub(validSet())
	v1alpha1.SetCloneSetDefaults(set)
	return set
}

func pods(name string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}}
	ownedBy := func(uid types.UID) {
		pod.OwnerReferences = []metav1.OwnerReference{{Kind: "CloneSet", UID: uid, Controller: ptr.To(true)}}
	}
	switch name {
	case "ours":
		ownedBy(setUID)
	case "theirs":
		ownedBy("other")
	case "going":
		ownedBy(setUID)
		pod.DeletionTimestamp = &metav1.Time{}
	case "nobodys":
	default:
		return nil
	}
	return pod
}

// brief is "Type path" for each error.
func brief(errs field.ErrorList) []string {
	out := []string{}
	for _, err := range errs {
		out = append(out, string(err.Type)+" "+err.Field)
	}
	return out
}

func text(s string) *intstr.IntOrString { return ptr.To(intstr.FromString(s)) }
func count(n int32) *intstr.IntOrString { return ptr.To(intstr.FromInt32(n)) }

const (
	invalid   = string(field.ErrorTypeInvalid) + " "
	required  = string(field.ErrorTypeRequired) + " "
	forbidden = string(field.ErrorTypeForbidden) + " "
	duplicate = string(field.ErrorTypeDuplicate) + " "
	supported = string(field.ErrorTypeNotSupported) + " "
	betaPath  = "spec.updateStrategy.rollingUpdate."
	alphaPath = "spec.updateStrategy."
)

// Rules whose fields stand at the same place in both versions.
func TestCloneSetCreate(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		change func(*v1beta1.CloneSetSpec)
		want   []string
	}{
		{"a valid set", func(*v1beta1.CloneSetSpec) {}, []string{}},
		{"replicas below 0", func(s *v1beta1.CloneSetSpec) { s.Replicas = ptr.To[int32](-1) }, []string{invalid + "spec.replicas"}},
		{"no selector", func(s *v1beta1.CloneSetSpec) { s.Selector = nil }, []string{required + "spec.selector"}},
		{"empty selector", func(s *v1beta1.CloneSetSpec) { s.Selector = &metav1.LabelSelector{} }, []string{invalid + "spec.selector"}},
		{"selector with an unknown operator", func(s *v1beta1.CloneSetSpec) {
			s.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Near"}}}
		}, []string{invalid + "spec.selector.matchExpressions[0].operator"}},
		{"selector that the template does not match", func(s *v1beta1.CloneSetSpec) { s.Template.Labels["app"] = "shop" },
			[]string{invalid + "spec.template.metadata.labels"}},
		{"restart policy", func(s *v1beta1.CloneSetSpec) { s.Template.Spec.RestartPolicy = "Never" },
			[]string{supported + "spec.template.spec.restartPolicy"}},
		{"restart policy Always", func(s *v1beta1.CloneSetSpec) { s.Template.Spec.RestartPolicy = "Always" }, []string{}},
		{"active deadline", func(s *v1beta1.CloneSetSpec) { s.Template.Spec.ActiveDeadlineSeconds = ptr.To[int64](1) },
			[]string{forbidden + "spec.template.spec.activeDeadlineSeconds"}},
		{"no container", func(s *v1beta1.CloneSetSpec) { s.Template.Spec.Containers = nil },
			[]string{required + "spec.template.spec.containers"}},
		{"two containers of one name", func(s *v1beta1.CloneSetSpec) {
			s.Template.Spec.InitContainers = []corev1.Container{{Name: "nginx", Image: "i"}}
		}, []string{duplicate + "spec.template.spec.containers[0].name"}},
		{"bad container name, no image", func(s *v1beta1.CloneSetSpec) {
			s.Template.Spec.Containers[0] = corev1.Container{Name: "Nginx"}
		}, []string{invalid + "spec.template.spec.containers[0].name", required + "spec.template.spec.containers[0].image"}},
		{"two claim templates of one name", func(s *v1beta1.CloneSetSpec) {
			claim := corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data"}}
			s.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{claim, claim}
		}, []string{duplicate + "spec.volumeClaimTemplates[1].metadata.name"}},
		{"PF-CS-9 a pod of this set", func(s *v1beta1.CloneSetSpec) { s.ScaleStrategy.PodsToDelete = []string{"ours"} }, []string{}},
		{"PF-CS-9 nobody's pod, another's pod, an unknown and a terminating one", func(s *v1beta1.CloneSetSpec) {
			s.ScaleStrategy.PodsToDelete = []string{"nobodys", "theirs", "ghost", "going"}
		}, []string{
			invalid + "spec.scaleStrategy.podsToDelete[0]", invalid + "spec.scaleStrategy.podsToDelete[1]",
			invalid + "spec.scaleStrategy.podsToDelete[2]", invalid + "spec.scaleStrategy.podsToDelete[3]",
		}},
		{"PF-CS-9 the same name twice", func(s *v1beta1.CloneSetSpec) { s.ScaleStrategy.PodsToDelete = []string{"ours", "ours"} },
			[]string{duplicate + "spec.scaleStrategy.podsToDelete[1]"}},
		{"PF-CS-8 scale limit as text without %", func(s *v1beta1.CloneSetSpec) { s.ScaleStrategy.MaxUnavailable = text("5") },
			[]string{invalid + "spec.scaleStrategy.maxUnavailable"}},
		{"progress deadline not above minReadySeconds", func(s *v1beta1.CloneSetSpec) {
			s.MinReadySeconds, s.ProgressDeadlineSeconds = 600, ptr.To[int32](600)
		}, []string{invalid + "spec.progressDeadlineSeconds"}},
		{"progress deadline below 0", func(s *v1beta1.CloneSetSpec) { s.ProgressDeadlineSeconds = ptr.To[int32](-1) },
			[]string{invalid + "spec.progressDeadlineSeconds"}},
		{"cloneset/54 the deadline that means none, beside the longest minReadySeconds", func(s *v1beta1.CloneSetSpec) {
			s.MinReadySeconds, s.ProgressDeadlineSeconds = 2147483647, ptr.To[int32](2147483647)
		}, []string{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			set := validSet()
			tc.change(&set.Spec)
			if diff := cmp.Diff(tc.want, brief(validation.CloneSetCreate(set, pods))); diff != "" {
				t.Errorf("v1beta1 errors (-want +got):\n%s", diff)
			}
			alpha := v1alpha1.CloneSetFromHub(set)
			if diff := cmp.Diff(tc.want, brief(validation.AlphaCloneSetCreate(alpha, pods))); diff != "" {
				t.Errorf("v1alpha1 errors (-want +got):\n%s", diff)
			}
		})
	}
}

// Rules of the update strategy, whose fields stand at different places.
func TestCloneSetLimits(t *testing.T) {
	t.Parallel()
	type limits = v1beta1.RollingUpdateCloneSetStrategy
	for _, tc := range []struct {
		name   string
		change func(*limits)
		want   []string // without the version's prefix
	}{
		{"PF-CS-8 a number", func(l *limits) { l.MaxUnavailable = count(5) }, []string{}},
		{"PF-CS-8 a percentage", func(l *limits) { l.MaxUnavailable = text("5%") }, []string{}},
		{"PF-CS-8 a percentage with decimals", func(l *limits) { l.MaxUnavailable = text("12.5%") }, []string{}},
		{"PF-CS-8 more than all", func(l *limits) { l.MaxUnavailable = text("150%") }, []string{}},
		{"PF-CS-8 text without % in maxUnavailable", func(l *limits) { l.MaxUnavailable = text("5") }, []string{invalid, "maxUnavailable"}},
		{"PF-CS-8 text without % in maxSurge", func(l *limits) { l.MaxSurge = text("5") }, []string{invalid, "maxSurge"}},
		{"PF-CS-8 text without % in partition", func(l *limits) { l.Partition = text("5") }, []string{invalid, "partition"}},
		{"a unit", func(l *limits) { l.Partition = text("5x") }, []string{invalid, "partition"}},
		{"a sign", func(l *limits) { l.Partition = text("-5%") }, []string{invalid, "partition"}},
		{"a dot without decimals", func(l *limits) { l.Partition = text("5.%") }, []string{invalid, "partition"}},
		{"more digits than anybody needs", func(l *limits) { l.Partition = text("1234567890123456789%") }, []string{invalid, "partition"}},
		{"as many decimals as can be computed with", func(l *limits) { l.Partition = text("33.3333333333333333%") }, []string{}},
		{"below 0", func(l *limits) { l.Partition = count(-1) }, []string{invalid, "partition"}},
		{"partition above replicas is clamped later", func(l *limits) { l.Partition = count(99) }, []string{}},
		{"no partition", func(l *limits) { l.Partition = nil }, []string{required, "partition"}},
		{"PF-CS-8 both zero", func(l *limits) { l.MaxUnavailable, l.MaxSurge = text("0%"), count(0) }, []string{invalid, "maxUnavailable"}},
		{"PF-CS-8 both zero without a surge", func(l *limits) { l.MaxUnavailable, l.MaxSurge = count(0), nil }, []string{invalid, "maxUnavailable"}},
		{"maxUnavailable 0 with a surge", func(l *limits) { l.MaxUnavailable, l.MaxSurge = count(0), text("0.1%") }, []string{}},
		{"PF-CS-8 InPlaceOnly with a surge", func(l *limits) { l.PodUpdatePolicy, l.MaxSurge = "InPlaceOnly", count(1) }, []string{invalid, "maxSurge"}},
		{"InPlaceOnly without a surge", func(l *limits) { l.PodUpdatePolicy, l.MaxSurge = "InPlaceOnly", text("0%") }, []string{}},
		{"both priorities", func(l *limits) {
			l.PriorityStrategy = &v1beta1.UpdatePriorityStrategy{
				OrderPriority: []v1beta1.UpdatePriorityOrderTerm{{OrderedKey: "a"}},
				WeightPriority: []v1beta1.UpdatePriorityWeightTerm{
					{Weight: 100, MatchSelector: metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}},
				},
			}
		}, []string{forbidden, "priorityStrategy"}},
		{"no key to order by", func(l *limits) {
			l.PriorityStrategy = &v1beta1.UpdatePriorityStrategy{OrderPriority: []v1beta1.UpdatePriorityOrderTerm{{}}}
		}, []string{required, "priorityStrategy.orderPriority[0].orderedKey"}},
		{"weight above 100", func(l *limits) {
			l.PriorityStrategy = &v1beta1.UpdatePriorityStrategy{WeightPriority: []v1beta1.UpdatePriorityWeightTerm{
				{Weight: 101, MatchSelector: metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}},
			}}
		}, []string{invalid, "priorityStrategy.weightPriority[0].weight"}},
		{"weight for every pod", func(l *limits) {
			l.PriorityStrategy = &v1beta1.UpdatePriorityStrategy{WeightPriority: []v1beta1.UpdatePriorityWeightTerm{{Weight: 1}}}
		}, []string{required, "priorityStrategy.weightPriority[0].matchSelector"}},
		{"weight for a bad selector", func(l *limits) {
			l.PriorityStrategy = &v1beta1.UpdatePriorityStrategy{WeightPriority: []v1beta1.UpdatePriorityWeightTerm{
				{MatchSelector: metav1.LabelSelector{MatchLabels: map[string]string{"a": "not a value"}}},
			}}
		}, []string{invalid, "priorityStrategy.weightPriority[0].matchSelector.matchLabels"}},
		{"scatter without a key", func(l *limits) { l.ScatterStrategy = v1beta1.UpdateScatterStrategy{{Value: "v"}} },
			[]string{required, "scatterStrategy[0].key"}},
		{"scatter twice", func(l *limits) {
			l.ScatterStrategy = v1beta1.UpdateScatterStrategy{{Key: "k", Value: "v"}, {Key: "k", Value: "v"}}
		},
			[]string{duplicate, "scatterStrategy[1]"}},
		{"scatter two values of a key", func(l *limits) { l.ScatterStrategy = v1beta1.UpdateScatterStrategy{{Key: "k", Value: "v"}, {Key: "k"}} },
			[]string{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			set := validSet()
			tc.change(set.Spec.UpdateStrategy.RollingUpdate)
			if diff := cmp.Diff(at(betaPath, tc.want), brief(validation.CloneSetCreate(set, pods))); diff != "" {
				t.Errorf("v1beta1 errors (-want +got):\n%s", diff)
			}
			alpha := v1alpha1.CloneSetFromHub(set)
			if diff := cmp.Diff(at(alphaPath, tc.want), brief(validation.AlphaCloneSetCreate(alpha, pods))); diff != "" {
				t.Errorf("v1alpha1 errors (-want +got):\n%s", diff)
			}
		})
	}
}

// at makes the one expected error out of its type and the path below prefix.
func at(prefix string, parts []string) []string {
	if len(parts) == 0 {
		return parts
	}
	return []string{parts[0] + prefix + parts[1]}
}

func TestCloneSetTypes(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		change func(*v1beta1.CloneSetUpdateStrategy)
		want   []string
	}{
		{"no type", func(s *v1beta1.CloneSetUpdateStrategy) { s.Type = "" }, []string{}},
		{"OnDelete", func(s *v1beta1.CloneSetUpdateStrategy) { *s = v1beta1.CloneSetUpdateStrategy{Type: "OnDelete"} }, []string{}},
		{"OnDelete with a block needs no partition", func(s *v1beta1.CloneSetUpdateStrategy) {
			s.Type, s.RollingUpdate.Partition = "OnDelete", nil
		}, []string{}},
		{"unknown type", func(s *v1beta1.CloneSetUpdateStrategy) { s.Type = "ReCreate" }, []string{supported + alphaPath + "type"}},
		{"unknown policy", func(s *v1beta1.CloneSetUpdateStrategy) { s.RollingUpdate.PodUpdatePolicy = "Recreate" },
			[]string{supported + betaPath + "podUpdatePolicy"}},
		{"pre-download in range", func(s *v1beta1.CloneSetUpdateStrategy) {
			s.RollingUpdate.InPlaceUpdateStrategy = &v1beta1.InPlaceUpdateStrategy{ImagePreDownloadParallelism: text("5")}
		}, []string{}},
		{"pre-download out of range", func(s *v1beta1.CloneSetUpdateStrategy) {
			s.RollingUpdate.InPlaceUpdateStrategy = &v1beta1.InPlaceUpdateStrategy{
				ImagePreDownloadParallelism:         text("5%"),
				ImagePreDownloadTimeoutSeconds:      ptr.To[int32](-1),
				ImagePreDownloadMinUpdatedReadyPods: ptr.To[int32](-1),
			}
		}, []string{
			invalid + betaPath + "inPlaceUpdateStrategy.imagePreDownloadParallelism",
			invalid + betaPath + "inPlaceUpdateStrategy.imagePreDownloadTimeoutSeconds",
			invalid + betaPath + "inPlaceUpdateStrategy.imagePreDownloadMinUpdatedReadyPods",
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			set := validSet()
			tc.change(&set.Spec.UpdateStrategy)
			if diff := cmp.Diff(tc.want, brief(validation.CloneSetCreate(set, pods))); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAlphaCloneSetTypes(t *testing.T) {
	t.Parallel()
	for value, want := range map[v1alpha1.CloneSetUpdateStrategyType][]string{
		"ReCreate": {}, "InPlaceIfPossible": {}, "InPlaceOnly": {}, "OnDelete": {},
		"": {supported + alphaPath + "type"}, "RollingUpdate": {supported + alphaPath + "type"},
	} {
		set := validAlphaSet()
		set.Spec.UpdateStrategy.Type = value
		if diff := cmp.Diff(want, brief(validation.AlphaCloneSetCreate(set, nil))); diff != "" {
			t.Errorf("type %q: errors (-want +got):\n%s", value, diff)
		}
	}
}

func TestCloneSetUpdate(t *testing.T) {
	t.Parallel()
	scaling := features.Defaults().With(features.InPlaceWorkloadVerticalScaling, true)
	onlyInPlace := func(s *v1beta1.CloneSetSpec) {
		s.UpdateStrategy.RollingUpdate.PodUpdatePolicy = v1beta1.InPlaceOnlyPodUpdatePolicy
	}
	for _, tc := range []struct {
		name   string
		change func(*v1beta1.CloneSetSpec)
		gates  features.Gates
		want   []string
	}{
		{"everything that may change", func(s *v1beta1.CloneSetSpec) {
			s.Replicas, s.RevisionHistoryLimit, s.MinReadySeconds = ptr.To[int32](9), ptr.To[int32](1), 5
			s.Template.Spec.Containers[0].Command = []string{"sh"}
			s.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}}}
			s.Lifecycle, s.ProgressDeadlineSeconds = &v1beta1.Lifecycle{}, ptr.To[int32](60)
			s.ScaleStrategy.MaxUnavailable, s.UpdateStrategy.RollingUpdate.Paused = count(1), true
		}, features.Defaults(), []string{}},
		{"the selector", func(s *v1beta1.CloneSetSpec) {
			s.Selector.MatchLabels, s.Template.Labels = map[string]string{"app": "b"}, map[string]string{"app": "b"}
		}, features.Defaults(), []string{invalid + "spec.selector"}},
		{"PF-CS-9 a name that stood there before may be gone", func(s *v1beta1.CloneSetSpec) {
			s.ScaleStrategy.PodsToDelete = []string{"ours", "before", "ghost"}
		}, features.Defaults(), []string{invalid + "spec.scaleStrategy.podsToDelete[2]"}},
		{"InPlaceOnly: an image, a label, and a default written out", func(s *v1beta1.CloneSetSpec) {
			onlyInPlace(s)
			s.Template.Spec.Containers[0].Image = "nginx:1.27"
			s.Template.Spec.DNSPolicy = corev1.DNSClusterFirst
			s.Template.Labels["tier"] = "front"
		}, features.Defaults(), []string{}},
		{"PF-IP-3 InPlaceOnly: a command", func(s *v1beta1.CloneSetSpec) {
			onlyInPlace(s)
			s.Template.Spec.Containers[0].Command = []string{"sh"}
		}, features.Defaults(), []string{forbidden + "spec.template.spec.containers[0].command"}},
		{"PF-IP-3 InPlaceOnly: another container", func(s *v1beta1.CloneSetSpec) {
			onlyInPlace(s)
			s.Template.Spec.Containers = append(s.Template.Spec.Containers, corev1.Container{Name: "b", Image: "b"})
		}, features.Defaults(), []string{forbidden + "spec.template.spec.containers"}},
		{"InPlaceOnly: resources with the gate off", func(s *v1beta1.CloneSetSpec) {
			onlyInPlace(s)
			s.Template.Spec.Containers[0].Resources.Requests["cpu"] = resource.MustParse("2")
		}, features.Defaults(), []string{forbidden + "spec.template.spec.containers[0].resources.requests.cpu"}},
		{"InPlaceOnly: resources with the gate on", func(s *v1beta1.CloneSetSpec) {
			onlyInPlace(s)
			s.Template.Spec.Containers[0].Resources.Requests["cpu"] = resource.MustParse("2")
		}, scaling, []string{}},
		{"InPlaceOnly: a new resource with the gate on", func(s *v1beta1.CloneSetSpec) {
			onlyInPlace(s)
			s.Template.Spec.Containers[0].Resources.Requests["memory"] = resource.MustParse("2Gi")
		}, scaling, []string{forbidden + "spec.template.spec.containers[0].resources.requests.memory"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			old := validSet()
			old.Spec.ScaleStrategy.PodsToDelete = []string{"before"}
			set := old.DeepCopy()
			tc.change(&set.Spec)
			if diff := cmp.Diff(tc.want, brief(validation.CloneSetUpdate(set, old, pods, tc.gates))); diff != "" {
				t.Errorf("v1beta1 errors (-want +got):\n%s", diff)
			}
			alpha, oldAlpha := v1alpha1.CloneSetFromHub(set), v1alpha1.CloneSetFromHub(old)
			if diff := cmp.Diff(tc.want, brief(validation.AlphaCloneSetUpdate(alpha, oldAlpha, pods, tc.gates))); diff != "" {
				t.Errorf("v1alpha1 errors (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCloneSetDelete(t *testing.T) {
	t.Parallel()
	on := features.Defaults().With(features.ResourcesDeletionProtection, true)
	const lift = "; to allow it, remove the label policy.kruise.io/delete-protection"
	for _, tc := range []struct {
		name     string
		label    string
		replicas *int32
		deleted  *metav1.Time
		gates    features.Gates
		want     string
	}{
		{"Always", "Always", ptr.To[int32](0), nil, on, "forbidden by ResourcesProtectionDeletion for policy.kruise.io/delete-protection=Always" + lift},
		{"Cascading with pods", "Cascading", ptr.To[int32](2), nil, on, "forbidden by ResourcesProtectionDeletion for policy.kruise.io/delete-protection=Cascading and replicas 2>0" + lift},
		{"Cascading with the default number of pods", "Cascading", nil, nil, on, "forbidden by ResourcesProtectionDeletion for policy.kruise.io/delete-protection=Cascading and replicas 1>0" + lift},
		{"Cascading without pods", "Cascading", ptr.To[int32](0), nil, on, ""},
		{"another value", "always", ptr.To[int32](2), nil, on, ""},
		{"gate off", "Always", ptr.To[int32](2), nil, features.Defaults(), ""},
		{"already being deleted", "Always", ptr.To[int32](2), &metav1.Time{}, on, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			set := validSet()
			set.Labels = map[string]string{keys.DeletionProtectionLabel: tc.label}
			set.Spec.Replicas, set.DeletionTimestamp = tc.replicas, tc.deleted
			for version, err := range map[string]error{
				"v1beta1":  validation.CloneSetDelete(set, tc.gates),
				"v1alpha1": validation.AlphaCloneSetDelete(v1alpha1.CloneSetFromHub(set), tc.gates),
			} {
				got := ""
				if err != nil {
					got = err.Error()
				}
				if got != tc.want {
					t.Errorf("%s: error %q, want %q", version, got, tc.want)
				}
			}
		})
	}
}
