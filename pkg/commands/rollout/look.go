package rollout

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/features"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/cluster"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/commands/cli"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/reconcile"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/view"
)

// look plans once for the workload, which may be one that is not stored, and gives what it saw of it. Nothing is written.
func (s *subject) look(ctx context.Context, deps *cli.Deps, set *v1beta1.CloneSet, gates features.Gates) (view.Planned, map[schema.GroupKind][]plan.Object, error) {
	parts, err := s.parts(ctx, set)
	if err != nil {
		return view.Planned{}, nil, err
	}
	planned, err := s.planned(deps, set, parts, gates)
	return planned, parts, err
}

// parts reads the objects that belong to the workload.
func (s *subject) parts(ctx context.Context, set *v1beta1.CloneSet) (map[schema.GroupKind][]plan.Object, error) {
	parts := map[schema.GroupKind][]plan.Object{}
	for _, part := range s.served.Parts {
		if part.Needed != nil && !part.Needed(set) {
			continue
		}
		selector, err := part.Selector(set)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.target, err)
		}
		all, _, err := s.client.List(ctx, part.GroupKind, cluster.Scope{Namespace: s.namespace, Labels: selector})
		if err != nil {
			return nil, fmt.Errorf("list the parts of %s: %w", s.target, cluster.Explain(err))
		}
		parts[part.GroupKind] = slices.DeleteFunc(all, func(object plan.Object) bool {
			return !owns(set, object) && !(part.Ownerless && len(object.GetOwnerReferences()) == 0)
		})
	}
	if s.served.NeedsNodes != nil && s.served.NeedsNodes(set) {
		s.nodeLabels = reconcile.NodeLabels(ctx, s.client)
	}
	return parts, nil
}

// planned decides once about the workload and its parts.
func (s *subject) planned(deps *cli.Deps, set *v1beta1.CloneSet, parts map[schema.GroupKind][]plan.Object, gates features.Gates) (view.Planned, error) {
	scene := reconcile.Scene{Now: deps.Now(), Subject: set, Parts: parts, Seed: deps.Random(), NodeLabels: s.nodeLabels}
	planner := s.served.New(reconcile.Settings{Gates: gates, APIVersion: s.served.APIVersion, Resize: s.resize})
	decision, err := planner.Decide(scene)
	if err != nil {
		return view.Planned{}, fmt.Errorf("%s: %w", s.target, err)
	}
	head := view.Head{At: scene.Now, Subject: s.viewed()}
	return view.Planned{Head: head, Object: set, Plan: decision.Plan, Counts: decision.Counts}, nil
}

// viewed is the workload as views name it.
func (s *subject) viewed() view.Subject {
	return view.Subject{Kind: s.target.kind.Kind, Namespace: s.namespace, Name: s.target.name}
}

func owns(set *v1beta1.CloneSet, object plan.Object) bool {
	for _, owner := range object.GetOwnerReferences() {
		if owner.UID == set.UID {
			return true
		}
	}
	return false
}
