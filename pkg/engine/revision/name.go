package revision

import (
	"hash/fnv"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
)

// nameLimit is how much of the workload's name goes into a revision's name, in bytes.
const nameLimit = 223

// hashAlphabet replaces the digits of a hash, so that no word comes out of it.
const hashAlphabet = "bcdfghjklmnpqrstvwxz2456789"

// Hash is the hash of revision data in the normal form (cloneset.md 9.0.3). A higher collision count gives another hash
// for the same data.
func Hash(data Data, collisions int32) string {
	sum := fnv.New32()
	sum.Write(data)
	sum.Write(strconv.AppendInt(nil, int64(collisions), 10))
	text := []byte(strconv.FormatUint(uint64(sum.Sum32()), 10))
	for i, c := range text {
		text[i] = hashAlphabet[int(c)%len(hashAlphabet)]
	}
	return string(text)
}

// Name is the name of the revision with that hash of the workload with that name.
func Name(workload, hash string) string {
	if len(workload) > nameLimit {
		workload = workload[:nameLimit]
	}
	return workload + "-" + hash
}

// HashOf is the hash of an existing revision: its label, or else the end of its name.
func HashOf(rev *appsv1.ControllerRevision) string {
	if hash := rev.Labels[keys.RevisionHashLabel]; hash != "" {
		return hash
	}
	return Short(rev.Name)
}

// Short is the hash in a revision name or in a pod's revision label, which holds either the name or the hash: the text
// after the last dash.
func Short(labelOrName string) string {
	return labelOrName[strings.LastIndexByte(labelOrName, '-')+1:]
}

// Same says that two revision names or labels mean the same revision: they are equal, or equal after their last dash
// (cloneset.md 6). An empty one matches nothing.
func Same(a, b string) bool {
	if a == "" || b == "" {
		return false
	}
	return a == b || Short(a) == Short(b)
}
