package podtemplate_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/features"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/podtemplate"
)

// specDefaults is what an empty pod spec becomes.
func specDefaults(containers ...corev1.Container) corev1.PodSpec {
	return corev1.PodSpec{
		Containers:                    containers,
		DNSPolicy:                     "ClusterFirst",
		RestartPolicy:                 "Always",
		SecurityContext:               &corev1.PodSecurityContext{},
		TerminationGracePeriodSeconds: ptr.To[int64](30),
		SchedulerName:                 "default-scheduler",
	}
}

// containerDefaults is what a container with this image becomes.
func containerDefaults(image string, policy corev1.PullPolicy) corev1.Container {
	return corev1.Container{
		Name: "c", Image: image, ImagePullPolicy: policy,
		TerminationMessagePath: "/dev/termination-log", TerminationMessagePolicy: "File",
	}
}

func TestSetDefaultsContainers(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name     string
		in, want func(*corev1.Container)
	}{
		{"a regular container is pulled always", func(c *corev1.Container) {}, func(c *corev1.Container) {}},
		{"a pull policy stays",
			func(c *corev1.Container) { c.ImagePullPolicy = "Never" },
			func(c *corev1.Container) { c.ImagePullPolicy = "Never" }},
		{"ports",
			func(c *corev1.Container) {
				c.Ports = []corev1.ContainerPort{{ContainerPort: 80}, {ContainerPort: 81, Protocol: "UDP"}}
			},
			func(c *corev1.Container) {
				c.Ports = []corev1.ContainerPort{{ContainerPort: 80, Protocol: "TCP"}, {ContainerPort: 81, Protocol: "UDP"}}
			}},
		{"field references",
			func(c *corev1.Container) {
				c.Env = []corev1.EnvVar{{Name: "A", Value: "1"}, {Name: "B", ValueFrom: &corev1.EnvVarSource{
					FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"},
				}}}
			},
			func(c *corev1.Container) {
				c.Env = []corev1.EnvVar{{Name: "A", Value: "1"}, {Name: "B", ValueFrom: &corev1.EnvVarSource{
					FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.name"},
				}}}
			}},
		{"probes and hooks",
			func(c *corev1.Container) {
				c.LivenessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Port: intstr.FromInt32(80)}}}
				c.StartupProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{GRPC: &corev1.GRPCAction{Port: 9}}, PeriodSeconds: 1}
				c.Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{HTTPGet: &corev1.HTTPGetAction{}}}
			},
			func(c *corev1.Container) {
				c.LivenessProbe = &corev1.Probe{
					ProbeHandler:   corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/", Port: intstr.FromInt32(80), Scheme: "HTTP"}},
					TimeoutSeconds: 1, PeriodSeconds: 10, SuccessThreshold: 1, FailureThreshold: 3,
				}
				c.StartupProbe = &corev1.Probe{
					ProbeHandler:   corev1.ProbeHandler{GRPC: &corev1.GRPCAction{Port: 9, Service: ptr.To("")}},
					TimeoutSeconds: 1, PeriodSeconds: 1, SuccessThreshold: 1, FailureThreshold: 3,
				}
				c.Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/", Scheme: "HTTP"}}}
			}},
		{"amounts are rounded up to thousandths; requests are not made from limits",
			func(c *corev1.Container) {
				c.Resources.Limits = corev1.ResourceList{"cpu": resource.MustParse("1234567n")}
			},
			func(c *corev1.Container) {
				c.Resources.Limits = corev1.ResourceList{"cpu": resource.MustParse("2m")}
			}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			container := corev1.Container{Name: "c", Image: "nginx:1.26"}
			tc.in(&container)
			template := corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{container}}}
			podtemplate.SetDefaults(&template, podtemplate.Options{})
			want := containerDefaults("nginx:1.26", "Always")
			tc.want(&want)
			if diff := cmp.Diff(specDefaults(want), template.Spec); diff != "" {
				t.Errorf("spec (-want +got):\n%s", diff)
			}
			again := template.DeepCopy()
			podtemplate.SetDefaults(again, podtemplate.Options{})
			if diff := cmp.Diff(&template, again); diff != "" {
				t.Errorf("a second time changes something (-first +second):\n%s", diff)
			}
		})
	}
}

// The API server's rule, which holds for init containers and image volumes.
func TestSetDefaultsPullPolicy(t *testing.T) {
	t.Parallel()
	for image, want := range map[string]corev1.PullPolicy{
		"nginx":                    "Always",
		"nginx:latest":             "Always",
		"localhost:5000/app":       "Always",
		"localhost:5000/app:1":     "IfNotPresent",
		"nginx:1.26":               "IfNotPresent",
		"nginx@sha256:00":          "IfNotPresent",
		"nginx:latest@sha256:00":   "Always",
		"registry/a/b:latest-slim": "IfNotPresent",
		"":                         "IfNotPresent",
	} {
		template := corev1.PodTemplateSpec{Spec: corev1.PodSpec{InitContainers: []corev1.Container{{Name: "c", Image: image}}}}
		podtemplate.SetDefaults(&template, podtemplate.Options{})
		if got := template.Spec.InitContainers[0].ImagePullPolicy; got != want {
			t.Errorf("pull policy of the init container image %q is %s, want %s", image, got, want)
		}
	}
}

func TestSetDefaultsVolumes(t *testing.T) {
	t.Parallel()
	mode := ptr.To[int32](420)
	ref := func(version string) []corev1.DownwardAPIVolumeFile {
		return []corev1.DownwardAPIVolumeFile{{Path: "p", FieldRef: &corev1.ObjectFieldSelector{APIVersion: version, FieldPath: "f"}}}
	}
	for _, tc := range []struct {
		name     string
		in, want corev1.VolumeSource
	}{
		{"nothing said is an empty directory", corev1.VolumeSource{}, corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
		{"hostPath", corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/x"}},
			corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/x", Type: ptr.To(corev1.HostPathUnset)}}},
		{"secret", corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{}},
			corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{DefaultMode: mode}}},
		{"configMap keeps its mode", corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{DefaultMode: ptr.To[int32](256)}},
			corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{DefaultMode: ptr.To[int32](256)}}},
		{"configMap", corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{}},
			corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{DefaultMode: mode}}},
		{"downwardAPI", corev1.VolumeSource{DownwardAPI: &corev1.DownwardAPIVolumeSource{Items: ref("")}},
			corev1.VolumeSource{DownwardAPI: &corev1.DownwardAPIVolumeSource{Items: ref("v1"), DefaultMode: mode}}},
		{"projected", corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
			{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{}},
			{DownwardAPI: &corev1.DownwardAPIProjection{Items: ref("")}},
		}}}, corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{DefaultMode: mode, Sources: []corev1.VolumeProjection{
			{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{ExpirationSeconds: ptr.To[int64](3600)}},
			{DownwardAPI: &corev1.DownwardAPIProjection{Items: ref("v1")}},
		}}}},
		{"ephemeral", corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{}}},
			corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{
				Spec: corev1.PersistentVolumeClaimSpec{VolumeMode: ptr.To(corev1.PersistentVolumeFilesystem)},
			}}}},
		{"image", corev1.VolumeSource{Image: &corev1.ImageVolumeSource{Reference: "data:1"}},
			corev1.VolumeSource{Image: &corev1.ImageVolumeSource{Reference: "data:1", PullPolicy: "IfNotPresent"}}},
		{"iscsi", corev1.VolumeSource{ISCSI: &corev1.ISCSIVolumeSource{}},
			corev1.VolumeSource{ISCSI: &corev1.ISCSIVolumeSource{ISCSIInterface: "default"}}},
		{"rbd", corev1.VolumeSource{RBD: &corev1.RBDVolumeSource{}},
			corev1.VolumeSource{RBD: &corev1.RBDVolumeSource{RBDPool: "rbd", RadosUser: "admin", Keyring: "/etc/ceph/keyring"}}},
		{"azureDisk", corev1.VolumeSource{AzureDisk: &corev1.AzureDiskVolumeSource{}},
			corev1.VolumeSource{AzureDisk: &corev1.AzureDiskVolumeSource{
				CachingMode: ptr.To(corev1.AzureDataDiskCachingReadWrite), FSType: ptr.To("ext4"),
				ReadOnly: ptr.To(false), Kind: ptr.To(corev1.AzureSharedBlobDisk),
			}}},
		{"scaleIO", corev1.VolumeSource{ScaleIO: &corev1.ScaleIOVolumeSource{}},
			corev1.VolumeSource{ScaleIO: &corev1.ScaleIOVolumeSource{StorageMode: "ThinProvisioned", FSType: "xfs"}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			template := corev1.PodTemplateSpec{Spec: corev1.PodSpec{Volumes: []corev1.Volume{{Name: "v", VolumeSource: tc.in}}}}
			podtemplate.SetDefaults(&template, podtemplate.Options{})
			if diff := cmp.Diff(tc.want, template.Spec.Volumes[0].VolumeSource); diff != "" {
				t.Errorf("volume (-want +got):\n%s", diff)
			}
		})
	}
}

// The API server's own defaults of a pod differ from those of a template.
func TestSetPodDefaults(t *testing.T) {
	t.Parallel()
	spec := corev1.PodSpec{
		HostNetwork:                   true,
		ServiceAccountName:            "robot",
		TerminationGracePeriodSeconds: ptr.To[int64](-5),
		Containers: []corev1.Container{{
			Name: "c", Image: "nginx:1.26", Ports: []corev1.ContainerPort{{ContainerPort: 80}},
			Resources: corev1.ResourceRequirements{
				Limits:   corev1.ResourceList{"cpu": resource.MustParse("2"), "memory": resource.MustParse("1Gi")},
				Requests: corev1.ResourceList{"cpu": resource.MustParse("1")},
			},
		}},
	}
	container := containerDefaults("nginx:1.26", "IfNotPresent")
	container.Ports = []corev1.ContainerPort{{ContainerPort: 80, HostPort: 80, Protocol: "TCP"}}
	container.Resources = corev1.ResourceRequirements{
		Limits:   corev1.ResourceList{"cpu": resource.MustParse("2"), "memory": resource.MustParse("1Gi")},
		Requests: corev1.ResourceList{"cpu": resource.MustParse("1"), "memory": resource.MustParse("1Gi")},
	}
	want := specDefaults(container)
	want.HostNetwork, want.TerminationGracePeriodSeconds = true, ptr.To[int64](1)
	want.ServiceAccountName, want.DeprecatedServiceAccount = "robot", "robot"
	want.EnableServiceLinks = ptr.To(true)

	podtemplate.SetPodDefaults(&spec)
	if diff := cmp.Diff(want, spec); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
}

func TestSetAdmissionDefaults(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		gates features.Gates
		want  func(*corev1.PodTemplateSpec, *corev1.PersistentVolumeClaim)
	}{
		{"template and claim templates", features.Defaults(),
			func(template *corev1.PodTemplateSpec, claim *corev1.PersistentVolumeClaim) {
				container := containerDefaults("nginx", "Always")
				container.Ports = []corev1.ContainerPort{{ContainerPort: 80, Protocol: "TCP"}}
				template.Spec = specDefaults(container)
				template.Spec.HostNetwork = true
				claim.Status.Phase = corev1.ClaimPending
			}},
		{"host ports by gate", features.Defaults().With(features.DefaultHostNetworkHostPortsInPodTemplates, true),
			func(template *corev1.PodTemplateSpec, claim *corev1.PersistentVolumeClaim) {
				container := containerDefaults("nginx", "Always")
				container.Ports = []corev1.ContainerPort{{ContainerPort: 80, HostPort: 80, Protocol: "TCP"}}
				template.Spec = specDefaults(container)
				template.Spec.HostNetwork = true
				claim.Status.Phase = corev1.ClaimPending
			}},
		{"none by gate", features.Defaults().With(features.TemplateNoDefaults, true),
			func(*corev1.PodTemplateSpec, *corev1.PersistentVolumeClaim) {}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			template := corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				HostNetwork: true,
				Containers:  []corev1.Container{{Name: "c", Image: "nginx", Ports: []corev1.ContainerPort{{ContainerPort: 80}}}},
			}}
			claims := make([]corev1.PersistentVolumeClaim, 1)
			wantTemplate, wantClaims := *template.DeepCopy(), make([]corev1.PersistentVolumeClaim, 1)
			tc.want(&wantTemplate, &wantClaims[0])

			podtemplate.SetAdmissionDefaults(&template, claims, tc.gates)
			if diff := cmp.Diff(wantTemplate, template); diff != "" {
				t.Errorf("template (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(wantClaims, claims); diff != "" {
				t.Errorf("claim templates (-want +got):\n%s", diff)
			}
		})
	}
}
