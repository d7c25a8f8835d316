package batch

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/revision"
)

// Approval lets one batch of one revision begin. It is an intent on the workload, written by whoever may change it.
type Approval struct {
	Revision string
	Batch    int
}

// ParseApproval reads <revision>/<batch>.
func ParseApproval(text string) (Approval, error) {
	rev, number, ok := strings.Cut(text, "/")
	n, err := strconv.Atoi(number)
	if !ok || rev == "" || err != nil || n < 1 {
		return Approval{}, fmt.Errorf("approval %q: want REVISION/BATCH, e.g. web-6599fc6cdd/2", text)
	}
	return Approval{Revision: rev, Batch: n}, nil
}

// String is the form that ParseApproval reads.
func (a Approval) String() string { return a.Revision + "/" + strconv.Itoa(a.Batch) }

// Matches says that the approval is for that batch of that revision. The revision may be named with or without the
// workload's name on either side (cloneset.md 6).
func (a Approval) Matches(target string, batch int) bool {
	return a.Batch == batch && revision.Same(a.Revision, target)
}

// approved says that the text of the annotation approves a batch. A text that cannot be read approves nothing.
func approved(text, target string, batch int) bool {
	a, err := ParseApproval(text)
	return err == nil && a.Matches(target, batch)
}
