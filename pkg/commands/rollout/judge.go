package rollout

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1alpha1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/validation"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/features"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/cluster"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/commands/cli"
)

// judge says what an intent would change on the workload, or refuses it: nothing may be written then.
func (s *subject) judge(in cluster.Intent, gates features.Gates) (*cluster.IntentChange, error) {
	replicas := v1beta1.DefaultReplicas
	if s.set.Spec.Replicas != nil {
		replicas = *s.set.Spec.Replicas
	}
	if err := checkNumbers(s.target, &in, replicas); err != nil {
		return nil, err
	}
	change, err := in.Change(s.raw, s.version())
	var unknown *cluster.UnknownContainerError
	if errors.As(err, &unknown) {
		return nil, cli.Usagef("%s has no container %q; it has: %s", s.target, unknown.Name, strings.Join(unknown.Known, ", "))
	}
	if err != nil {
		return nil, err
	}
	after := s.set.DeepCopy()
	if err := change.Apply(after); err != nil {
		return nil, err
	}
	// What was wrong before is no reason to refuse a change that does not touch it; the planner reports it.
	old := messages(s.validate(s.set, gates))
	for _, e := range s.validate(after, gates) {
		if !old[e.Error()] {
			return nil, cli.Usagef("%s: %s: %s", s.target, e.Field, faultOf(e))
		}
	}
	return change, nil
}

// validate judges a changed object in the version that the cluster serves, so that fields have the names that the user
// knows.
func (s *subject) validate(after *v1beta1.CloneSet, gates features.Gates) field.ErrorList {
	before, after := s.set.DeepCopy(), after.DeepCopy()
	if s.version() == v1alpha1.SchemeGroupVersion.Version {
		old, set := v1alpha1.CloneSetFromHub(before), v1alpha1.CloneSetFromHub(after)
		v1alpha1.SetCloneSetDefaults(old)
		v1alpha1.SetCloneSetDefaults(set)
		return validation.AlphaCloneSetUpdate(set, old, nil, gates)
	}
	v1beta1.SetCloneSetDefaults(before)
	v1beta1.SetCloneSetDefaults(after)
	return validation.CloneSetUpdate(after, before, nil, gates)
}

func messages(errs field.ErrorList) map[string]bool {
	known := map[string]bool{}
	for _, e := range errs {
		known[e.Error()] = true
	}
	return known
}

// faultOf is a validation error without its field.
func faultOf(e *field.Error) string {
	if e.Detail != "" {
		return e.Detail
	}
	return fmt.Sprint(strings.TrimPrefix(e.Error(), e.Field+": "))
}
