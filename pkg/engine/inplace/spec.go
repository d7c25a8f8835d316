package inplace

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
)

// Spec is one in-place update: what a pod needs to become the new revision. It holds for every pod of the old revision
// and is never changed.
type Spec struct {
	// Revision is the new one, in the workload's form.
	Revision string
	// Work is done by batches of containers.
	Work
	// Meta is the rest of the metadata change; it is written with the first batch.
	Meta plan.MetaChange
	// FinalizerOrder has the finalizers of the new template if they changed.
	FinalizerOrder []string
	// EnvFromMetadata says that Work has env values to renew.
	EnvFromMetadata bool
	GraceSeconds    int32
}

// Work is what is changed of containers, by container name.
type Work struct {
	Images map[string]string
	// RefMetadata are labels and annotations that env of the container refers to: it has to restart to see them.
	RefMetadata map[string]RefMetadata
	// Resources are the cpu and memory values that change; others stay.
	Resources map[string]corev1.ResourceRequirements
}

// RefMetadata is a change of the metadata that one container reads; nil removes a key.
type RefMetadata struct {
	Labels      map[string]*string `json:"labels,omitempty"`
	Annotations map[string]*string `json:"annotations,omitempty"`
}

// IsZero says that there is no work.
func (w *Work) IsZero() bool {
	return len(w.Images) == 0 && len(w.RefMetadata) == 0 && len(w.Resources) == 0
}

// Obstacle is why a change cannot be made in place.
type Obstacle struct {
	// Path is the first field of the template that stands against it; empty when it is not about a field.
	Path string
	// Note is a clause for people: what is wrong with the field.
	Note string
}

// String joins path and note.
func (o *Obstacle) String() string {
	if o.Path == "" {
		return o.Note
	}
	return o.Path + ": " + o.Note
}

// after is the work that is left when an update replaces one that still owed base to the pod: both, and where they
// touch the same thing, the newer one's.
func (w *Work) after(base *Work) Work {
	if base.IsZero() {
		return *w
	}
	all := Work{
		Images:      overlay(base.Images, w.Images),
		RefMetadata: maps.Clone(base.RefMetadata),
		Resources:   maps.Clone(base.Resources),
	}
	for name, ref := range w.RefMetadata {
		if all.RefMetadata == nil {
			all.RefMetadata = map[string]RefMetadata{}
		}
		old := all.RefMetadata[name]
		all.RefMetadata[name] = RefMetadata{
			Labels: overlay(old.Labels, ref.Labels), Annotations: overlay(old.Annotations, ref.Annotations),
		}
	}
	for name, r := range w.Resources {
		if all.Resources == nil {
			all.Resources = map[string]corev1.ResourceRequirements{}
		}
		old := all.Resources[name]
		all.Resources[name] = corev1.ResourceRequirements{
			Limits: overlay(old.Limits, r.Limits), Requests: overlay(old.Requests, r.Requests),
		}
	}
	return all
}

// overlay is base with over written on top, as a new map.
func overlay[M ~map[K]V, K comparable, V any](base, over M) M {
	if len(base)+len(over) == 0 {
		return nil
	}
	m := make(M, len(base)+len(over))
	maps.Copy(m, base)
	maps.Copy(m, over)
	return m
}

// metaAfter is the metadata change base followed by over.
func metaAfter(base, over *plan.MetaChange) plan.MetaChange {
	without := func(list, drop []string) []string {
		return slices.DeleteFunc(slices.Clone(list), func(f string) bool { return slices.Contains(drop, f) })
	}
	return plan.MetaChange{
		Labels:           overlay(base.Labels, over.Labels),
		Annotations:      overlay(base.Annotations, over.Annotations),
		AddFinalizers:    append(without(without(base.AddFinalizers, over.RemoveFinalizers), over.AddFinalizers), over.AddFinalizers...),
		RemoveFinalizers: append(without(without(base.RemoveFinalizers, over.AddFinalizers), over.RemoveFinalizers), over.RemoveFinalizers...),
		SetOwner:         over.SetOwner,
		RemoveOwner:      over.RemoveOwner,
	}
}

// metaPatch is the metadata change as the strategic merge patch that the grace annotation keeps; nil when there is none.
func metaPatch(change *plan.MetaChange, order []string) ([]byte, error) {
	meta := map[string]any{}
	if len(change.Labels) > 0 {
		meta["labels"] = change.Labels
	}
	if len(change.Annotations) > 0 {
		meta["annotations"] = change.Annotations
	}
	if len(change.AddFinalizers) > 0 {
		meta["finalizers"] = change.AddFinalizers
	}
	if len(change.RemoveFinalizers) > 0 {
		meta["$deleteFromPrimitiveList/finalizers"] = change.RemoveFinalizers
	}
	if len(order) > 0 {
		meta["$setElementOrder/finalizers"] = order
	}
	if len(meta) == 0 {
		return nil, nil
	}
	return json.Marshal(map[string]any{"metadata": meta})
}

// readMetaPatch is the way back. Of a patch that somebody else wrote it takes labels, annotations and finalizers; no
// other metadata of a template reaches a pod.
func readMetaPatch(patch []byte) (plan.MetaChange, error) {
	if len(patch) == 0 {
		return plan.MetaChange{}, nil
	}
	var p struct {
		Metadata struct {
			Labels           map[string]*string `json:"labels"`
			Annotations      map[string]*string `json:"annotations"`
			Finalizers       []string           `json:"finalizers"`
			DeleteFinalizers []string           `json:"$deleteFromPrimitiveList/finalizers"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(patch, &p); err != nil {
		return plan.MetaChange{}, fmt.Errorf("decode metadata patch: %w", err)
	}
	return plan.MetaChange{
		Labels: p.Metadata.Labels, Annotations: p.Metadata.Annotations,
		AddFinalizers: p.Metadata.Finalizers, RemoveFinalizers: p.Metadata.DeleteFinalizers,
	}, nil
}
