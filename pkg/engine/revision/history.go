package revision

import (
	"cmp"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
)

// Candidates are the revisions that a workload may use: those that match its selector and are controlled by it or by
// nobody, the newest last (cloneset.md 9.0.5). They must be of the workload's namespace. The list is a new one.
func Candidates(revs []*appsv1.ControllerRevision, owner types.UID, selector labels.Selector) []*appsv1.ControllerRevision {
	var found []*appsv1.ControllerRevision
	for _, rev := range revs {
		controller := metav1.GetControllerOfNoCopy(rev)
		if controller != nil && controller.UID != owner {
			continue
		}
		if selector != nil && selector.Matches(labels.Set(rev.Labels)) {
			found = append(found, rev)
		}
	}
	slices.SortFunc(found, older)
	return found
}

// NewestFirst returns the revisions in the order in which people read them.
func NewestFirst(revs []*appsv1.ControllerRevision) []*appsv1.ControllerRevision {
	list := slices.Clone(revs)
	slices.SortFunc(list, func(a, b *appsv1.ControllerRevision) int { return older(b, a) })
	return list
}

// older orders by number, then creation time, then name.
func older(a, b *appsv1.ControllerRevision) int {
	if c := cmp.Compare(a.Revision, b.Revision); c != 0 {
		return c
	}
	if c := a.CreationTimestamp.Time.Compare(b.CreationTimestamp.Time); c != 0 {
		return c
	}
	return cmp.Compare(a.Name, b.Name)
}

// History deletes the oldest revisions that nobody uses, beyond limit of them (cloneset.md 9.0.9). The revisions are
// candidates, the oldest first. A revision is in use when live has its name or its hash.
func History(revs []*appsv1.ControllerRevision, live map[string]bool, limit int32) []plan.Action {
	var unused []*appsv1.ControllerRevision
	for _, rev := range revs {
		if !live[rev.Name] && !live[Short(rev.Name)] && rev.DeletionTimestamp == nil {
			unused = append(unused, rev)
		}
	}
	excess := len(unused) - int(max(limit, 0))
	if excess <= 0 {
		return nil
	}
	actions := make([]plan.Action, 0, excess)
	for _, rev := range unused[:excess] {
		actions = append(actions, plan.Action{
			Verb: plan.Delete,
			On:   refTo(rev),
			Why:  fmt.Sprintf("no pod uses revision %d, and %d unused ones are kept", rev.Revision, max(limit, 0)),
		})
	}
	return actions
}

func refTo(rev *appsv1.ControllerRevision) plan.Ref {
	return plan.Ref{Kind: plan.ControllerRevisionKind, Namespace: rev.Namespace, Name: rev.Name, UID: rev.UID}
}
