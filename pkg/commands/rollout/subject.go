package rollout

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	authorizationv1 "k8s.io/client-go/kubernetes/typed/authorization/v1"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/features"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/cluster"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/commands/cli"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/inplace"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/reconcile"
)

// subject is the workload as it was found: the object on the wire, and in the version that planners see.
type subject struct {
	target     target
	namespace  string
	client     *cluster.Client
	reviewer   authorizationv1.AuthorizationV1Interface
	neighbours *neighbours
	served     reconcile.Served
	// resize is how the server changes the resources of running pods; it is asked where the gates need it.
	resize     inplace.ResizeMode
	nodeLabels map[string]map[string]string
	raw        []byte
	set        *v1beta1.CloneSet
}

// find reads the workload. One that is being deleted is refused: there is nothing to roll out.
func find(ctx context.Context, deps *cli.Deps, t target) (*subject, error) {
	namespace, err := deps.Namespace()
	if err != nil {
		return nil, err
	}
	s := &subject{target: t, namespace: namespace}
	config, err := deps.Config.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	if s.reviewer, err = authorizationv1.NewForConfig(config); err != nil {
		return nil, err
	}
	if s.neighbours, err = newNeighbours(config); err != nil {
		return nil, err
	}
	client, served, err := cli.Connect(ctx, config, t.kind.loop)
	if err != nil {
		return nil, err
	}
	s.client, s.served = client, served[0]
	if t.gates.Enabled(features.InPlaceWorkloadVerticalScaling) {
		if s.resize, err = client.ResizeMode(ctx); err != nil {
			return nil, err
		}
	}
	if s.raw, err = s.client.Raw(ctx, t.kind.GroupKind, namespace, t.name); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("there is no %s in namespace %s", t, namespace)
		}
		return nil, fmt.Errorf("read %s: %w", t, cluster.Explain(err))
	}
	if s.set, err = s.decode(s.raw); err != nil {
		return nil, err
	}
	if deleted := s.set.DeletionTimestamp; deleted != nil {
		return nil, fmt.Errorf("%s is being deleted since %s; nothing is written", t, deleted.Local().Format(time.TimeOnly))
	}
	return s, nil
}

// decode reads an object on the wire into the version that planners see.
func (s *subject) decode(raw []byte) (*v1beta1.CloneSet, error) {
	kind, ok := s.client.Kind(s.target.kind.GroupKind)
	if !ok {
		return nil, fmt.Errorf("%s is not known on this cluster", s.target.kind.GroupKind)
	}
	object := kind.New()
	if err := json.Unmarshal(raw, object); err != nil {
		return nil, fmt.Errorf("read %s: %w", s.target, err)
	}
	hub, err := s.client.Hub(s.target.kind.GroupKind, object)
	if err != nil {
		return nil, err
	}
	set, ok := hub.(*v1beta1.CloneSet)
	if !ok {
		return nil, fmt.Errorf("read %s: got %T", s.target, hub)
	}
	return set, nil
}

// version is the served version of the kind.
func (s *subject) version() string {
	_, version, _ := strings.Cut(s.served.APIVersion, "/")
	return version
}

// command is what a user types for this workload: `kubectl kruise rollout cloneset/web`, with -n unless the context says
// so.
func (s *subject) command(deps *cli.Deps, words ...string) string {
	line := strings.Join(append([]string{"kubectl kruise rollout"}, words...), " ") + " " + s.target.String()
	if own, ok := contextNamespace(deps); ok && own != s.namespace {
		line += " -n " + s.namespace
	}
	return line
}

// contextNamespace is the namespace without -n.
func contextNamespace(deps *cli.Deps) (string, bool) {
	config, err := deps.Config.ToRawKubeConfigLoader().RawConfig()
	if err != nil {
		return "", false
	}
	current, ok := config.Contexts[config.CurrentContext]
	if !ok {
		return "", false
	}
	if current.Namespace == "" {
		return "default", true
	}
	return current.Namespace, true
}
