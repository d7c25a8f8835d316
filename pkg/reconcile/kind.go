package reconcile

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/features"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/cluster"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/inplace"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/view"
)

// Kind is what the loop has to know of one kind of workload.
type Kind struct {
	schema.GroupKind
	// Resource is its plural name, Versions the versions that this build knows, best first.
	Resource string
	Versions []string
	// Cluster is the kind as a cluster serves it in one of Versions; nil for a kind of Kubernetes' own, which every cluster
	// serves in its only version.
	Cluster func(version string) (cluster.Kind, error)
	// Concerns says which objects of the kind are subjects of a loop for all; nil means every one.
	Concerns func(subject plan.Object) bool
	// NeedsNodes says that the labels of nodes matter to a subject; nil means never.
	NeedsNodes func(subject plan.Object) bool
	// Component is the source of its events.
	Component string
	// Parts are the kinds of objects that belong to a subject.
	Parts []Part
	// Lazy names the stages of a plan that may wait for more to report: status and tidying up.
	Lazy []string
	// Finishing names the stages that touch only what was begun; they are carried out at the end of a run that stops early.
	Finishing []string
	// New makes a planner for one subject. It may remember facts about objects.
	New func(Settings) Planner
	// Reached judges by the subject's own status whether the goal holds when somebody else drives, whose gates may differ
	// from ours.
	Reached func(subject plan.Object) bool
}

// Part is a kind of objects that belong to subjects by owner reference.
type Part struct {
	schema.GroupKind
	// Selector limits what is read for one subject, by labels. Objects that a subject owns are seen all the same when
	// their labels leave it.
	Selector func(subject plan.Object) (string, error)
	// Ownerless says that objects without any owner, if the selector matches, belong to the subject too.
	Ownerless bool
	// Needed says that the subject can have such objects; they are not read for one that cannot, so that nobody needs
	// rights for nothing. Nil means always.
	Needed func(subject plan.Object) bool
	// Unwatched parts are neither listed nor watched. A loop knows of them what its own writes returned and what an Asker
	// asked for. Such a part has no Selector; it is found by its owner or by Name.
	Unwatched bool
	// Name is the name of the only object of the part, whoever owns it.
	Name func(subject plan.Object) string
}

// Settings are the same for all looks at a subject.
type Settings struct {
	Gates features.Gates
	// APIVersion is the served version of the kind, for owner references.
	APIVersion string
	// Resize is how the server changes the resources of running pods.
	Resize inplace.ResizeMode
}

// Scene is what one look saw. Nobody may change the objects.
type Scene struct {
	Now     time.Time
	Subject plan.Object
	// Parts are the objects of each part that the subject owns or might own, by name.
	Parts map[schema.GroupKind][]plan.Object
	// Seed is where new names come from; it changes once it is known what became of the last plan.
	Seed uint64
	// Failures are the actions of the last plan that failed or had no answer.
	Failures []cluster.Outcome
	// NodeLabels are the labels of nodes by name, where the kind needs them and they may be read.
	NodeLabels map[string]map[string]string
}

// Decision is a plan with the numbers to show.
type Decision struct {
	Plan   *plan.Plan
	Counts view.Counts
}

// Planner decides about one subject. An error says that the subject's spec is wrong.
type Planner interface {
	Decide(Scene) (*Decision, error)
}

// Asker is a Planner that needs to know for certain what has become of some objects, because they are not watched and
// something about the subject speaks against what is known of them.
type Asker interface {
	// Ask names what has to be read from the server before the scene is decided about: by UID what the scene has, without a
	// UID what it lacks.
	Ask(Scene) []plan.Ref
}

// ownerOf lists the UIDs of the subjects that a change of a part concerns.
func ownerOf(old, now plan.Object) []types.UID {
	var owners []types.UID
	for _, obj := range []plan.Object{old, now} {
		if obj == nil {
			continue
		}
		for _, owner := range obj.GetOwnerReferences() {
			owners = append(owners, owner.UID)
		}
	}
	return owners
}
