package inplace

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/features"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/podtemplate"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
)

func ref(key, value string) RefMetadata {
	return RefMetadata{Labels: map[string]*string{key: &value}}
}

func TestEligible(t *testing.T) {
	t.Parallel()
	k := envFrom("K", "metadata.labels['k']")
	burstable := func(cpu, memory string) *corev1.PodTemplateSpec {
		return tmpl(ctr("c", "a", requests("cpu", cpu, "memory", memory), limits("cpu", "4", "memory", "4Gi")))
	}
	for _, tc := range []struct {
		name        string
		old, update *corev1.PodTemplateSpec
		gates       features.Gates
		want        *Spec
		patch       string // of the general metadata
		path        string // of the obstacle
	}{
		{
			name: "inplace/1", old: tmpl(ctr("c1", "foo:1")), update: tmpl(ctr("c1", "foo:2")),
			want: &Spec{Work: Work{Images: images("c1", "foo:2")}},
		},
		{
			name: "inplace/2", old: tmpl(ctr("c1", "foo:1")), update: tmpl(ctr("c1", "foo:2"), label("k1", "v1")),
			want:  &Spec{Work: Work{Images: images("c1", "foo:2")}, Meta: plan.MetaChange{Labels: map[string]*string{"k1": plan.Set("v1")}}},
			patch: `{"metadata":{"labels":{"k1":"v1"}}}`,
		},
		{
			name: "inplace/3", old: tmpl(ctr("c1", "foo:1", k), label("k", "v")),
			update: tmpl(ctr("c1", "foo:2", k), label("k", "v2"), label("k1", "v1")),
			want: &Spec{
				Work: Work{Images: images("c1", "foo:2"), RefMetadata: map[string]RefMetadata{"c1": ref("k", "v2")}},
				Meta: plan.MetaChange{Labels: map[string]*string{"k1": plan.Set("v1")}}, EnvFromMetadata: true,
			},
			patch: `{"metadata":{"labels":{"k1":"v1"}}}`,
		},
		{
			name: "inplace/4", old: tmpl(ctr("c1", "foo:1"), label("k2", "v2"), finalizers("fz1", "fz2")),
			update: tmpl(ctr("c1", "foo:1"), label("k1", "v1"), finalizers("fz2")),
			want: &Spec{
				Meta: plan.MetaChange{
					Labels: map[string]*string{"k1": plan.Set("v1"), "k2": nil}, RemoveFinalizers: []string{"fz1"},
				},
				FinalizerOrder: []string{"fz2"},
			},
			patch: `{"metadata":{"$deleteFromPrimitiveList/finalizers":["fz1"],"$setElementOrder/finalizers":["fz2"],"labels":{"k1":"v1","k2":null}}}`,
		},
		{name: "inplace/5 value", old: tmpl(ctr("c", "a", env("A", "1"))), update: tmpl(ctr("c", "a", env("A", "2"))), path: "spec.containers[0].env[0].value"},
		{name: "inplace/5 added", old: tmpl(ctr("c", "a", env("A", "1"))), update: tmpl(ctr("c", "a", env("A", "1"), env("B", "2"))), path: "spec.containers[0].env[1]"},
		{name: "PF-IP-3 env in another order", old: tmpl(ctr("c", "a", env("A", "1"), env("B", "2"))), update: tmpl(ctr("c", "a", env("B", "2"), env("A", "1"))), path: "spec.containers[0].env[0].name"},
		{name: "PF-IP-3 command", old: tmpl(ctr("c", "a")), update: tmpl(ctr("c", "b", func(c *corev1.Container) { c.Command = []string{"x"} })), path: "spec.containers[0].command"},
		{name: "PF-IP-3 container added", old: tmpl(ctr("c", "a")), update: tmpl(ctr("c", "a"), ctr("d", "b")), path: "spec.containers[1]"},
		{
			name: "inplace/6", old: tmpl(func(t *corev1.PodTemplateSpec) { t.Spec.InitContainers = []corev1.Container{{Name: "i", Image: "a"}} }),
			update: tmpl(func(t *corev1.PodTemplateSpec) { t.Spec.InitContainers = []corev1.Container{{Name: "i", Image: "b"}} }),
			path:   "spec.initContainers[0].image",
		},
		{name: "inplace/7", old: tmpl(ctr("c", "a"), ctr("d", "b")), update: tmpl(ctr("d", "b"), ctr("c", "a")), path: "spec.containers[0].name"},
		{
			name: "inplace/9", gates: vertical(), old: tmpl(ctr("c", "a", requests("cpu", "1"))), update: tmpl(ctr("c", "a", requests("cpu", "2"))),
			want: &Spec{Work: Work{Resources: map[string]corev1.ResourceRequirements{"c": {Requests: list("cpu", "2")}}}},
		},
		{name: "inplace/9 gate off", old: tmpl(ctr("c", "a", requests("cpu", "1"))), update: tmpl(ctr("c", "a", requests("cpu", "2"))), path: "spec.containers[0].resources.requests.cpu"},
		{
			name: "inplace/10", gates: vertical(), path: "spec.containers",
			old:    tmpl(ctr("c", "a", requests("cpu", "1", "memory", "1Gi"), limits("cpu", "1", "memory", "1Gi")), ctr("d", "a", requests("cpu", "1", "memory", "1Gi"), limits("cpu", "1", "memory", "1Gi"))),
			update: tmpl(ctr("c", "a", requests("cpu", "2", "memory", "1Gi"), limits("cpu", "2", "memory", "1Gi")), ctr("d", "a", requests("cpu", "1", "memory", "512Mi"), limits("cpu", "1", "memory", "1Gi"))),
		},
		{
			name: "inplace/10 back", gates: vertical(), path: "spec.containers", old: burstable("1", "4Gi"), update: burstable("4", "4Gi"),
		},
		{
			name: "inplace/11", gates: vertical(), old: burstable("1", "1Gi"), update: burstable("2", "2Gi"),
			want: &Spec{Work: Work{Resources: map[string]corev1.ResourceRequirements{"c": {Requests: list("cpu", "2", "memory", "2Gi")}}}},
		},
		{name: "inplace/12 gpu", gates: vertical(), old: tmpl(ctr("c", "a", limits("nvidia.com/gpu", "1"))), update: tmpl(ctr("c", "a", limits("nvidia.com/gpu", "2"))), path: "spec.containers[0].resources.limits[nvidia.com/gpu]"},
		{name: "inplace/12 added", gates: vertical(), old: tmpl(ctr("c", "a", limits("cpu", "1"))), update: tmpl(ctr("c", "a", limits("cpu", "1", "memory", "1Gi"))), path: "spec.containers[0].resources.limits.memory"},
		{name: "inplace/12 removed", gates: vertical(), old: tmpl(ctr("c", "a", limits("cpu", "1", "memory", "1Gi"))), update: tmpl(ctr("c", "a", limits("cpu", "1"))), path: "spec.containers[0].resources.limits.memory"},
		{name: "inplace/13", gates: vertical(), old: tmpl(ctr("c", "a")), update: tmpl(ctr("c", "a", requests("cpu", "1"), limits("cpu", "1"))), path: "spec.containers[0].resources.limits"},
		{
			name: "a request that follows its limit", gates: vertical(), old: tmpl(ctr("c", "a", limits("cpu", "1"))), update: tmpl(ctr("c", "a", limits("cpu", "2"))),
			want: &Spec{Work: Work{Resources: map[string]corev1.ResourceRequirements{"c": {Limits: list("cpu", "2"), Requests: list("cpu", "2")}}}},
		},
		{name: "2: an empty difference", old: tmpl(ctr("c", "a")), update: tmpl(ctr("c", "a")), want: &Spec{}},
		{
			name: "2.4 a key that env reads is removed", old: tmpl(ctr("c", "a", k), label("k", "v")), update: tmpl(ctr("c", "a", k)),
			want: &Spec{Work: Work{RefMetadata: map[string]RefMetadata{"c": {Labels: map[string]*string{"k": nil}}}}, EnvFromMetadata: true},
		},
		{
			name: "2.4 the first annotation is one that env reads", old: tmpl(ctr("c", "a", envFrom("A", "metadata.annotations['a/b']"))),
			update: tmpl(ctr("c", "a", envFrom("A", "metadata.annotations['a/b']")), annotation("a/b", "1")),
			want: &Spec{
				Work:            Work{RefMetadata: map[string]RefMetadata{"c": {Annotations: map[string]*string{"a/b": plan.Set("1")}}}},
				EnvFromMetadata: true,
			},
		},
		{
			name: "2.4 gate off", gates: features.Defaults().With(features.InPlaceUpdateEnvFromMetadata, false),
			old: tmpl(ctr("c", "a", k), label("k", "v")), update: tmpl(ctr("c", "a", k), label("k", "w")),
			want: &Spec{Meta: plan.MetaChange{Labels: map[string]*string{"k": plan.Set("w")}}}, patch: `{"metadata":{"labels":{"k":"w"}}}`,
		},
		{
			name: "2.4 SIDECARSET_VERSION does not count", old: tmpl(ctr("c", "a", envFrom("SIDECARSET_VERSION", "metadata.labels['k']")), label("k", "v")),
			update: tmpl(ctr("c", "a", envFrom("SIDECARSET_VERSION", "metadata.labels['k']")), label("k", "w")),
			want:   &Spec{Meta: plan.MetaChange{Labels: map[string]*string{"k": plan.Set("w")}}}, patch: `{"metadata":{"labels":{"k":"w"}}}`,
		},
		{
			name: "2: one side was stored without defaults", old: tmpl(ctr("c", "a")),
			update: func() *corev1.PodTemplateSpec {
				full := tmpl(ctr("c", "b"))
				podtemplate.SetDefaults(full, podtemplate.Options{})
				return full
			}(),
			want: &Spec{Work: Work{Images: images("c", "b")}},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			gates := tc.gates
			if gates == (features.Gates{}) {
				gates = features.Defaults()
			}
			o := Options{Gates: gates, Resize: ResizeSubresource, GraceSeconds: 5, Defaults: func(t *corev1.PodTemplateSpec) {
				podtemplate.SetDefaults(t, podtemplate.Options{})
			}}
			got, obstacle := Eligible(rev(t, "web-old", tc.old), rev(t, "web-new", tc.update), o)
			if tc.want == nil {
				if obstacle == nil || got != nil || obstacle.Path != tc.path || obstacle.Note == "" {
					t.Fatalf("obstacle is %+v, want path %s", obstacle, tc.path)
				}
				return
			}
			if obstacle != nil {
				t.Fatalf("obstacle %s", obstacle)
			}
			tc.want.Revision, tc.want.GraceSeconds = "web-new", 5
			if diff := cmp.Diff(tc.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("spec (-want +got)\n%s", diff)
			}
			patch, err := metaPatch(&got.Meta, got.FinalizerOrder)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.patch, string(patch)); diff != "" {
				t.Errorf("metadata patch (-want +got)\n%s", diff)
			}
			back, err := readMetaPatch(patch)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(got.Meta, back, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("the patch is read as something else (-written +read)\n%s", diff)
			}
		})
	}
}

func TestEligibleRevisions(t *testing.T) {
	t.Parallel()
	at := func(hash string) *appsv1.ControllerRevision {
		r := rev(t, "web-"+hash, tmpl(ctr("c", "a")))
		if hash != "" {
			r.Annotations = map[string]string{keys.ClaimTemplateHashAnnotation: hash}
		}
		return r
	}
	broken := at("1")
	broken.Data.Raw = []byte("{")
	on := features.Defaults().With(features.RecreatePodWhenChangeVCTInCloneSetGate, true)
	for _, tc := range []struct {
		name        string
		old, update *appsv1.ControllerRevision
		o           Options
		want        bool
	}{
		{"inplace/8", nil, at("1"), Options{}, false},
		{"the new revision is missing", at("1"), nil, Options{}, false},
		{"the old revision cannot be read", broken, at("1"), Options{}, false},
		{"inplace/14 different", at("1"), at("2"), Options{Gates: on}, false},
		{"inplace/14 the same", at("1"), at("1"), Options{Gates: on}, true},
		{"inplace/14 one side missing", at(""), at("2"), Options{Gates: on}, true},
		{"inplace/14 InPlaceOnly", at("1"), at("2"), Options{Gates: on, IgnoreClaimTemplates: true}, true},
		{"inplace/14 gate off", at("1"), at("2"), Options{}, true},
		{"cloneset/51", at("1"), at("2"), Options{Gates: on}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			spec, obstacle := Eligible(tc.old, tc.update, tc.o)
			if (spec != nil) != tc.want || (obstacle == nil) != tc.want {
				t.Errorf("spec %v, obstacle %v, want eligible %v", spec, obstacle, tc.want)
			}
		})
	}
}

func TestResizeModeOf(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]ResizeMode{
		"v1.33.1": ResizeSubresource, "v1.32+gke.1": ResizeSubresource, "v1.32.0": ResizeSubresource, "1.32": ResizeSubresource,
		"v1.32.0.extra": ResizeSubresource, "v2.0.0": ResizeSubresource,
		"v1.31.0": ResizeInSpec, "v1.30+eks.1": ResizeInSpec, "v1.28+gke.1": ResizeInSpec,
		"v1.26.9": ResizeNever, "garbage": ResizeNever, "": ResizeNever, "v1.x": ResizeNever,
	} {
		t.Run("inplace/49 "+version, func(t *testing.T) {
			t.Parallel()
			if got := ResizeModeOf(version, false); got != want {
				t.Errorf("%s, want %s", got, want)
			}
			if got := ResizeModeOf(version, true); got != ResizeSubresource {
				t.Errorf("with pods/resize offered: %s", got)
			}
		})
	}
}
