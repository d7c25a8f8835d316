package revision

import (
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/dump"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
)

// ClaimTemplatesAnnotation on a revision that we made holds the claim templates of that time as a JSON list.
const ClaimTemplatesAnnotation = keys.OwnPrefix + "claim-templates"

// snapshotLimit keeps the annotation well below the limit that the server sets for all annotations together, in bytes.
const snapshotLimit = 64 << 10

// hashedClaim is a claim as its hash sees it, in the field order of the Kubernetes 1.32 types.
type hashedClaim struct {
	Metadata struct {
		Name              string    `json:"name,omitempty"`
		CreationTimestamp *struct{} `json:"creationTimestamp"`
	} `json:"metadata"`
	Spec   corev1.PersistentVolumeClaimSpec `json:"spec"`
	Status struct{}                         `json:"status"`
}

// ClaimHash is the hash of claim templates (cloneset.md 9.0.7): names and specs in the order of the names. It is empty
// when there are none.
func ClaimHash(claims []corev1.PersistentVolumeClaim) (string, error) {
	if len(claims) == 0 {
		return "", nil
	}
	list := make([]hashedClaim, len(claims))
	for i := range claims {
		list[i].Metadata.Name = claims[i].Name
		list[i].Spec = claims[i].Spec
	}
	slices.SortStableFunc(list, func(a, b hashedClaim) int { return cmp.Compare(a.Metadata.Name, b.Metadata.Name) })
	encoded, err := json.Marshal(list)
	if err != nil {
		return "", fmt.Errorf("encode claim templates: %w", err)
	}
	sum := fnv.New32a()
	sum.Write([]byte(dump.ForHash(encoded)))
	return strconv.FormatUint(uint64(sum.Sum32()), 10), nil
}

// Snapshot is the value of ClaimTemplatesAnnotation; empty when there is nothing to keep or too much.
func Snapshot(claims []corev1.PersistentVolumeClaim) (string, error) {
	if len(claims) == 0 {
		return "", nil
	}
	list := make([]corev1.PersistentVolumeClaim, len(claims))
	for i := range claims {
		c := &claims[i]
		list[i].ObjectMeta = metav1.ObjectMeta{Name: c.Name, Labels: c.Labels, Annotations: c.Annotations}
		list[i].Spec = c.Spec
	}
	encoded, err := json.Marshal(list)
	if err != nil {
		return "", fmt.Errorf("encode claim templates: %w", err)
	}
	if len(encoded) > snapshotLimit {
		return "", nil
	}
	return string(encoded), nil
}

// Claims are the claim templates for pods of a revision that is not the update revision any more: the snapshot on it, so
// that its volume mounts find their volumes, or else the workload's present ones (cloneset.md 9.0.10). Pods of the
// update revision always get the present ones.
func Claims(rev *appsv1.ControllerRevision, present []corev1.PersistentVolumeClaim) ([]corev1.PersistentVolumeClaim, error) {
	value, ok := rev.Annotations[ClaimTemplatesAnnotation]
	if !ok {
		return present, nil
	}
	var claims []corev1.PersistentVolumeClaim
	if err := json.Unmarshal([]byte(value), &claims); err != nil {
		return present, fmt.Errorf("decode annotation %s of revision %s: %w", ClaimTemplatesAnnotation, rev.Name, err)
	}
	return claims, nil
}
