package podtemplate

import corev1 "k8s.io/api/core/v1"

// fileMode is the mode of files in volumes that the kubelet writes: rw-r--r--.
const fileMode int32 = 0o644

func setVolumeDefaults(volume *corev1.Volume) {
	source := &volume.VolumeSource
	if *source == (corev1.VolumeSource{}) {
		source.EmptyDir = &corev1.EmptyDirVolumeSource{}
	}
	switch {
	case source.HostPath != nil:
		setIfNil(&source.HostPath.Type, corev1.HostPathUnset)
	case source.Secret != nil:
		setIfNil(&source.Secret.DefaultMode, fileMode)
	case source.ConfigMap != nil:
		setIfNil(&source.ConfigMap.DefaultMode, fileMode)
	case source.DownwardAPI != nil:
		setIfNil(&source.DownwardAPI.DefaultMode, fileMode)
		setFileDefaults(source.DownwardAPI.Items)
	case source.Projected != nil:
		setProjectedDefaults(source.Projected)
	case source.Ephemeral != nil:
		if template := source.Ephemeral.VolumeClaimTemplate; template != nil {
			setClaimSpecDefaults(&template.Spec)
		}
	case source.Image != nil:
		setIfZero(&source.Image.PullPolicy, pullPolicy(source.Image.Reference))
	default:
		setDiskDefaults(source)
	}
}

func setFileDefaults(files []corev1.DownwardAPIVolumeFile) {
	for i := range files {
		setFieldRefDefaults(files[i].FieldRef)
	}
}

func setProjectedDefaults(projected *corev1.ProjectedVolumeSource) {
	setIfNil(&projected.DefaultMode, fileMode)
	for i := range projected.Sources {
		source := &projected.Sources[i]
		if source.DownwardAPI != nil {
			setFileDefaults(source.DownwardAPI.Items)
		}
		if source.ServiceAccountToken != nil {
			setIfNil(&source.ServiceAccountToken.ExpirationSeconds, 3600)
		}
	}
}

// setDiskDefaults serves the volume types that name a disk of a provider.
func setDiskDefaults(source *corev1.VolumeSource) {
	if iscsi := source.ISCSI; iscsi != nil {
		setIfZero(&iscsi.ISCSIInterface, "default")
	}
	if rbd := source.RBD; rbd != nil {
		setIfZero(&rbd.RBDPool, "rbd")
		setIfZero(&rbd.RadosUser, "admin")
		setIfZero(&rbd.Keyring, "/etc/ceph/keyring")
	}
	if azure := source.AzureDisk; azure != nil {
		setIfNil(&azure.CachingMode, corev1.AzureDataDiskCachingReadWrite)
		setIfNil(&azure.FSType, "ext4")
		setIfNil(&azure.ReadOnly, false)
		setIfNil(&azure.Kind, corev1.AzureSharedBlobDisk)
	}
	if scale := source.ScaleIO; scale != nil {
		setIfZero(&scale.StorageMode, "ThinProvisioned")
		setIfZero(&scale.FSType, "xfs")
	}
}

func setClaimSpecDefaults(spec *corev1.PersistentVolumeClaimSpec) {
	setIfNil(&spec.VolumeMode, corev1.PersistentVolumeFilesystem)
	roundUp(spec.Resources.Limits)
	roundUp(spec.Resources.Requests)
}
