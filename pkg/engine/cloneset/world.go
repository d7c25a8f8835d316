package cloneset

import (
	"hash/fnv"
	"io"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/features"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/inplace"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/revision"
)

// World is what the planner sees of one CloneSet. Nothing in it is changed.
type World struct {
	// Now is the time of the snapshot.
	Now   time.Time
	Gates features.Gates
	// Set is the CloneSet in the hub version as it is stored, without defaults.
	Set *v1beta1.CloneSet
	// Template holds what follows from the template of Set; nil lets the planner work it out. It may be cached by the
	// set's UID and generation.
	Template *revision.Facts
	// Revisions are the ControllerRevisions of the namespace that the selector matches.
	Revisions []Revision
	// Pods are all pods that the set owns by UID, the finished and terminating ones too, and those whose labels left the
	// selector.
	Pods []Pod
	// Claims are the PersistentVolumeClaims that the set owns.
	Claims []*corev1.PersistentVolumeClaim
	// Gone are names of pods that were the set's and are there no more.
	Gone map[string]bool
	// NodeLabels are the labels of nodes by name, needed only for a template with topologySpreadConstraints.
	NodeLabels map[string]map[string]string
	// OwnerAPIVersion is the version that owner references name: one that the cluster serves.
	OwnerAPIVersion string
	// Resize is how the server changes resources of running pods.
	Resize inplace.ResizeMode
	// Refused has the server's words for pods that it refused to resize on their way to the present template.
	Refused map[types.UID]string
	// Names is where instance ids of new pods come from.
	Names Names
	// Failures are the errors of the last pass, which become conditions.
	Failures []Failure
}

// Revision is a ControllerRevision with its facts, which may be nil or cached by UID and resourceVersion.
type Revision struct {
	*appsv1.ControllerRevision
	Facts *revision.Facts
}

// Pod is an owned pod with its facts, which may be nil or cached by UID and resourceVersion.
type Pod struct {
	*corev1.Pod
	Facts *Facts
}

// Failure is an error that writing a stage of the last plan ended with. Conflicts are not failures.
type Failure struct {
	// Stage is the name of the stage: StageScale or StageUpdate and so on.
	Stage   string
	Message string
}

// Names is a source of instance ids as a value: the same seed gives the same ids. A loop takes a new seed for each pass.
type Names uint64

const (
	idAlphabet = "bcdfghjklmnpqrstvwxz2456789"
	idLength   = 5
)

// id is the n-th instance id of the set (cloneset.md 5).
func (s Names) id(set types.UID, n int) string {
	h := fnv.New64a()
	_, _ = io.WriteString(h, strconv.FormatUint(uint64(s), 16)+"/"+string(set)+"/"+strconv.Itoa(n))
	sum := h.Sum64()
	id := make([]byte, idLength)
	for i := range id {
		id[i] = idAlphabet[sum%uint64(len(idAlphabet))]
		sum /= uint64(len(idAlphabet))
	}
	return string(id)
}
