package revision

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
)

// Input is what Choose needs to see of a workload. Nothing in it is changed.
type Input struct {
	// APIVersion is a version of the workload's group that the server serves, for owner references.
	APIVersion, Kind string
	Namespace, Name  string
	UID              types.UID
	// Annotations of the workload are copied to its revisions, except keys of our own.
	Annotations map[string]string
	Selector    labels.Selector
	// Template and ClaimTemplates are as stored, without defaults.
	Template       *corev1.PodTemplateSpec
	ClaimTemplates []corev1.PersistentVolumeClaim
	// HashClaims says that revisions of this kind carry the hash of the claim templates (CloneSet does).
	HashClaims     bool
	CollisionCount *int32
	// Revisions are those of the namespace as far as they are known. Ones of other owners cannot be chosen by their
	// data, but take away their name.
	Revisions []*appsv1.ControllerRevision
	// Defaults is applied to copies of both sides of a comparison. May be nil.
	Defaults Defaults
	// Facts of the template and RevisionFacts by UID may be known from before; the choice is the same without them.
	Facts         *Facts
	RevisionFacts map[types.UID]*Facts
}

// Choice is the update revision of a workload and how to get it.
type Choice struct {
	// Update is the revision of the present template: an existing one, a copy with its new number, or one to create.
	Update *appsv1.ControllerRevision
	// Created says that Update does not exist yet.
	Created bool
	// CollisionCount belongs in the workload's status.
	CollisionCount int32
	// Actions has the one write that makes Update true, or nothing.
	Actions []plan.Action
	// All has the candidates after the actions, the newest last.
	All []*appsv1.ControllerRevision
}

// Choose finds or makes the revision of the present template (cloneset.md 9.0.4 to 9.0.6): the newest equal one; raised
// to the highest number if it is not the newest of all; a new one if there is none. An error means that the workload
// itself cannot be encoded.
func Choose(in Input) (Choice, error) {
	if in.Template == nil {
		return Choice{}, errors.New("no pod template")
	}
	want := in.Facts
	if want == nil {
		var err error
		if want, err = FactsOf(in.Template, in.Defaults); err != nil {
			return Choice{}, err
		}
	}
	choice := Choice{All: Candidates(in.Revisions, in.UID, in.Selector)}
	if in.CollisionCount != nil {
		choice.CollisionCount = *in.CollisionCount
	}
	last := len(choice.All) - 1
	for i := last; i >= 0; i-- {
		if !in.equal(choice.All[i], want) {
			continue
		}
		choice.Update = choice.All[i]
		if i == last {
			return choice, nil
		}
		return choice, in.bump(&choice, i)
	}
	return choice, in.create(&choice, want)
}

// equal says that a revision holds the wanted template. One that cannot be read holds none.
func (in *Input) equal(rev *appsv1.ControllerRevision, want *Facts) bool {
	if bytes.Equal(rev.Data.Raw, want.Data) {
		return true
	}
	facts := in.RevisionFacts[rev.UID]
	if facts == nil || rev.UID == "" {
		var err error
		if facts, err = FactsOfRevision(rev, in.Defaults); err != nil {
			return false
		}
	}
	return facts.Equal(want)
}

// bump gives the i-th candidate the highest number.
func (in *Input) bump(choice *Choice, i int) error {
	change := &Bump{Number: next(choice.All)}
	if in.HashClaims {
		hash, err := ClaimHash(in.ClaimTemplates)
		if err != nil {
			return err
		}
		change.Annotations = map[string]*string{keys.ClaimTemplateHashAnnotation: &hash}
		if _, ours := choice.Update.Annotations[ClaimTemplatesAnnotation]; ours {
			snapshot, err := Snapshot(in.ClaimTemplates)
			if err != nil {
				return err
			}
			change.Annotations[ClaimTemplatesAnnotation] = &snapshot
			if snapshot == "" {
				change.Annotations[ClaimTemplatesAnnotation] = nil
			}
		}
	}
	raised := choice.Update.DeepCopy()
	if err := change.Apply(raised); err != nil {
		return err
	}
	choice.Actions = []plan.Action{{
		Verb:   plan.Patch,
		On:     refTo(raised),
		Change: change,
		Why:    fmt.Sprintf("the template is again that of revision %d", choice.Update.Revision),
	}}
	choice.Update = raised
	choice.All = append(slices.Delete(choice.All, i, i+1), raised)
	return nil
}

// next is the number after the highest one.
func next(revs []*appsv1.ControllerRevision) int64 {
	if len(revs) == 0 {
		return 1
	}
	return revs[len(revs)-1].Revision + 1
}

// create makes a revision under the first free name. A name that is taken by an equal one is used as it is, whoever
// owns it.
func (in *Input) create(choice *Choice, want *Facts) error {
	byName := make(map[string]*appsv1.ControllerRevision, len(in.Revisions))
	for _, rev := range in.Revisions {
		byName[rev.Name] = rev
	}
	for {
		hash := Hash(want.Data, choice.CollisionCount)
		name := Name(in.Name, hash)
		existing := byName[name]
		if existing == nil {
			rev, err := in.fresh(name, hash, want.Data, next(choice.All))
			if err != nil {
				return err
			}
			choice.Update, choice.Created = rev, true
			choice.All = append(choice.All, rev)
			choice.Actions = []plan.Action{{
				Verb:   plan.Create,
				On:     refTo(rev),
				Object: rev,
				Why:    "no revision holds the present template",
			}}
			return nil
		}
		if in.equal(existing, want) {
			choice.Update = existing
			return nil
		}
		if choice.CollisionCount == math.MaxInt32 {
			return fmt.Errorf("revision name %s is taken, and no other is left", name)
		}
		choice.CollisionCount++
	}
}

// fresh is a new revision object.
func (in *Input) fresh(name, hash string, data Data, number int64) (*appsv1.ControllerRevision, error) {
	yes := true
	rev := &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:   in.Namespace,
			Name:        name,
			Labels:      map[string]string{},
			Annotations: map[string]string{},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: in.APIVersion, Kind: in.Kind, Name: in.Name, UID: in.UID,
				Controller: &yes, BlockOwnerDeletion: &yes,
			}},
		},
		Data:     runtime.RawExtension{Raw: data},
		Revision: number,
	}
	maps.Copy(rev.Labels, in.Template.Labels)
	rev.Labels[keys.RevisionHashLabel] = hash
	for k, v := range in.Annotations {
		if !keys.IsOwn(k) {
			rev.Annotations[k] = v
		}
	}
	if !in.HashClaims {
		return rev, nil
	}
	claims, err := ClaimHash(in.ClaimTemplates)
	if err != nil {
		return nil, err
	}
	rev.Annotations[keys.ClaimTemplateHashAnnotation] = claims
	snapshot, err := Snapshot(in.ClaimTemplates)
	if err != nil {
		return nil, err
	}
	if snapshot != "" {
		rev.Annotations[ClaimTemplatesAnnotation] = snapshot
	}
	return rev, nil
}
