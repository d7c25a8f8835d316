package keys

import "strings"

// Keys of our own. Those of a workload stand on it and are never copied to
// revisions or pods.
const (
	// OwnPrefix is the prefix of every key that OpenKruise does not know.
	OwnPrefix = "kubectl-kruise.github.io/"
	// RunAnnotation is the cursor of a batched run: JSON with id,
	// targetRevision, batches, batch, startedAt, by and version.
	RunAnnotation = OwnPrefix + "run"
	// ApproveAnnotation lets a batched run go on: <revision>/<batch>.
	ApproveAnnotation = OwnPrefix + "approve"
	// OnDeletePolicyAnnotation on a v1alpha1 CloneSet of type OnDelete says
	// that its v1beta1 form has a rollingUpdate block, and with which
	// podUpdatePolicy (possibly empty). The rest of the block is in the fields.
	OnDeletePolicyAnnotation = OwnPrefix + "on-delete-pod-update-policy"
	// OnDeleteStrategyAnnotation on a v1beta1 CloneSet of type OnDelete keeps
	// the fields of v1alpha1's updateStrategy that v1beta1 has no place for
	// while there is no rollingUpdate block, as JSON.
	OnDeleteStrategyAnnotation = OwnPrefix + "v1alpha1-update-strategy"
	// LaunchLevelAnnotation on a pod with a launch order is the priority that
	// was released last, written only to wake the kubelet.
	LaunchLevelAnnotation = OwnPrefix + "launch-priority-released"
)

// IsOwn says whether a key is one of ours. Those on a workload stay there.
func IsOwn(key string) bool {
	return strings.HasPrefix(key, OwnPrefix)
}

// Who we are on the wire.
const (
	// FieldManager is the manager of the fields that we write.
	FieldManager = "kubectl-kruise"
	// HolderPrefix begins the holder of every Lease of ours:
	// kubectl-kruise/<user>@<host>/<random>.
	HolderPrefix = "kubectl-kruise/"
	// InstallNamespace is where everything in the cluster is installed.
	InstallNamespace = "kruise-system"
	// ManagerLease in InstallNamespace is held by a loop in the cluster, ours
	// or OpenKruise's.
	ManagerLease = "kruise-manager"
	// ReconcileLease is held by a foreground loop, in the namespace that it
	// serves or, when it serves all, in InstallNamespace.
	ReconcileLease = "kubectl-kruise-reconcile"
	// SubjectLeasePrefix begins the name of the Lease of one subject:
	// kubectl-kruise-<kind>-<name>.
	SubjectLeasePrefix = "kubectl-kruise-"
)

// EventSourceCloneSet is the component that events about CloneSets come from.
const EventSourceCloneSet = "cloneset-controller"

// EventSourceLaunchOrder is the component that events about the launch order of a pod's containers come from.
const EventSourceLaunchOrder = "container-launch-priority-controller"
