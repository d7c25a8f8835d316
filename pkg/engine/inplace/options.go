package inplace

import (
	"strconv"
	"strings"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/features"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/revision"
)

// Options are what a workload and the server bring to an in-place update.
type Options struct {
	Gates features.Gates
	// IgnoreClaimTemplates lets a change of claim templates pass (CloneSet with InPlaceOnly).
	IgnoreClaimTemplates bool
	// GraceSeconds is the time between the pod turning not ready and the change of its containers.
	GraceSeconds int32
	// Revision is the workload's form of the new revision, a name or a hash; empty means the name.
	Revision string
	// Resize is what the server can do.
	Resize ResizeMode
	// Defaults is applied to copies of both templates before they are compared. May be nil.
	Defaults revision.Defaults
}

// ResizeMode is how a server changes the resources of a running pod (inplace.md 5.1).
type ResizeMode int

const (
	// ResizeNever: it cannot.
	ResizeNever ResizeMode = iota
	// ResizeInSpec: by a change of the pod itself.
	ResizeInSpec
	// ResizeSubresource: by a patch of pods/resize.
	ResizeSubresource
)

// String names the mode.
func (m ResizeMode) String() string {
	switch m {
	case ResizeInSpec:
		return "in the pod's spec"
	case ResizeSubresource:
		return "through pods/resize"
	}
	return "not possible"
}

// ResizeModeOf tells the mode from the server's version and from whether it offers pods/resize. A version that cannot
// be read says nothing.
func ResizeModeOf(gitVersion string, offersResize bool) ResizeMode {
	major, minor := majorMinor(gitVersion)
	switch {
	case offersResize || major > 1 || major == 1 && minor >= 32:
		return ResizeSubresource
	case major == 1 && minor >= 27:
		return ResizeInSpec
	}
	return ResizeNever
}

// majorMinor reads the first two numbers of a version; 0, 0 when there are none.
func majorMinor(version string) (major, minor int) {
	parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	if len(parts) < 2 {
		return 0, 0
	}
	major, err := strconv.Atoi(parts[0])
	if err != nil {
		return 0, 0
	}
	digits := strings.IndexFunc(parts[1], func(r rune) bool { return r < '0' || r > '9' })
	if digits < 0 {
		digits = len(parts[1])
	}
	if minor, err = strconv.Atoi(parts[1][:digits]); err != nil {
		return 0, 0
	}
	return major, minor
}
