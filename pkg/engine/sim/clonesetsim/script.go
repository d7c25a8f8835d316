package clonesetsim

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/features"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/cloneset"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/sim"
)

const (
	scriptNamespace = "default"
	scriptName      = "web"
)

// NewScript is a script about one CloneSet named web on three nodes, node-0 to node-2, with the drivers a and b, of which
// a leads. Beside the common verbs it knows:
//
//	create KEY=VALUE…   creates the set; keys as in set
//	set KEY=VALUE…      changes it: replicas, image, side (image of a second container), env, policy, type, partition,
//	                    maxUnavailable, maxSurge, scaleLimit, paused, minReady, grace, deadline, podsToDelete, hooks
//	gates NAME=BOOL…    sets feature gates of both drivers
//	status              shows the status and what the leading driver would say now
//
// An empty value removes a field.
func NewScript() *sim.Script {
	pace := sim.DefaultPace()
	c := sim.New(sim.Config{Kinds: []sim.Kind{Kind()}, Stages: sim.PodStages(pace),
		Nodes: []sim.Node{{Name: "node-0"}, {Name: "node-1"}, {Name: "node-2"}}})
	run := &sim.Run{Cluster: c, Interval: 200 * time.Millisecond, WriteTime: 10 * time.Millisecond}
	s := &sim.Script{Run: run, Namespace: scriptNamespace, Pace: pace}
	var planners []*Planner
	for i, name := range []string{"a", "b"} {
		p := &Planner{Namespace: scriptNamespace, Name: scriptName, Gates: features.Defaults(), Names: cloneset.Names(i << 32)}
		planners = append(planners, p)
		run.Drivers = append(run.Drivers, NewDriver(name, p, sim.NewView(c, 50*time.Millisecond)))
	}
	s.Verbs = map[string]sim.Verb{
		"create": create,
		"set":    change,
		"status": func(s *sim.Script, _ []string) error { return status(s, planners[0]) },
		"gates": func(_ *sim.Script, args []string) error {
			gates, err := features.Parse(strings.Join(args, ","))
			for _, p := range planners {
				p.Gates = gates
				p.Forget()
			}
			return err
		},
	}
	return s
}

func create(s *sim.Script, args []string) error {
	labels := map[string]string{"app": scriptName}
	set := &v1beta1.CloneSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: scriptNamespace, Name: scriptName},
		Spec: v1beta1.CloneSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "v1"}}},
			},
			UpdateStrategy: v1beta1.CloneSetUpdateStrategy{RollingUpdate: &v1beta1.RollingUpdateCloneSetStrategy{}},
		},
	}
	if err := edit(s, set, args); err != nil {
		return err
	}
	_, err := s.Run.Cluster.Create("user", plan.CloneSetKind, set)
	return err
}

func change(s *sim.Script, args []string) error {
	var fault error
	err := s.Run.Cluster.Change("user", plan.CloneSetKind, scriptNamespace, scriptName, func(obj plan.Object) {
		set := obj.(*v1beta1.CloneSet)
		old := set.Spec
		set.Spec = *old.DeepCopy()
		if fault = edit(s, set, args); fault != nil {
			set.Spec = old
		}
	})
	return errors.Join(err, fault)
}

// edit sets fields of a set that nobody else holds.
func edit(s *sim.Script, set *v1beta1.CloneSet, args []string) error {
	for _, arg := range args {
		key, value, ok := strings.Cut(arg, "=")
		if !ok {
			return fmt.Errorf("%q is not KEY=VALUE", arg)
		}
		if err := field(s, &set.Spec, key, value); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	return nil
}

func field(s *sim.Script, spec *v1beta1.CloneSetSpec, key, value string) error {
	rolling, containers := spec.UpdateStrategy.RollingUpdate, &spec.Template.Spec.Containers
	limits := map[string]**intstr.IntOrString{
		"partition": &rolling.Partition, "maxUnavailable": &rolling.MaxUnavailable, "maxSurge": &rolling.MaxSurge,
		"scaleLimit": &spec.ScaleStrategy.MaxUnavailable,
	}
	if limit, ok := limits[key]; ok {
		*limit = nil
		if value != "" {
			v := intstr.Parse(value)
			*limit = &v
		}
		return nil
	}
	switch key {
	case "image":
		(*containers)[0].Image = value
		return nil
	case "side":
		if len(*containers) == 1 {
			*containers = append(*containers, corev1.Container{Name: "side"})
		}
		(*containers)[1].Image = value
		return nil
	case "env":
		(*containers)[0].Env = []corev1.EnvVar{{Name: "V", Value: value}}
		return nil
	case "policy":
		rolling.PodUpdatePolicy = v1beta1.PodUpdatePolicy(value)
		return nil
	case "type":
		spec.UpdateStrategy.Type = v1beta1.CloneSetUpdateStrategyType(value)
		return nil
	case "paused":
		rolling.Paused = value == "true"
		return nil
	case "hooks":
		return hooks(spec, value)
	case "podsToDelete":
		spec.ScaleStrategy.PodsToDelete = nil
		for alias := range strings.SplitSeq(value, ",") {
			name, err := s.Real(alias)
			if err != nil {
				return err
			}
			spec.ScaleStrategy.PodsToDelete = append(spec.ScaleStrategy.PodsToDelete, name)
		}
		return nil
	}
	return number(spec, key, value)
}

// hooks sets lifecycle hooks by name. Each is a label of the template: hold-delete and hold-update.
func hooks(spec *v1beta1.CloneSetSpec, names string) error {
	spec.Lifecycle = &v1beta1.Lifecycle{}
	labels := map[string]string{"app": scriptName}
	for name := range strings.SplitSeq(names, ",") {
		switch name {
		case "preDelete":
			labels["hold-delete"] = "yes"
			spec.Lifecycle.PreDelete = &v1beta1.LifecycleHook{LabelsHandler: map[string]string{"hold-delete": "yes"}}
		case "inPlaceUpdate":
			labels["hold-update"] = "yes"
			spec.Lifecycle.InPlaceUpdate = &v1beta1.LifecycleHook{LabelsHandler: map[string]string{"hold-update": "yes"}}
		default:
			return fmt.Errorf("%q is neither preDelete nor inPlaceUpdate", name)
		}
	}
	spec.Template.Labels = labels
	return nil
}

func number(spec *v1beta1.CloneSetSpec, key, value string) error {
	parsed, err := strconv.ParseInt(value, 10, 32)
	if err != nil {
		return fmt.Errorf("%q is no number", value)
	}
	n := int32(parsed)
	switch key {
	case "replicas":
		spec.Replicas = &n
	case "minReady":
		spec.MinReadySeconds = n
	case "deadline":
		spec.ProgressDeadlineSeconds = &n
	case "grace":
		spec.UpdateStrategy.RollingUpdate.InPlaceUpdateStrategy = &v1beta1.InPlaceUpdateStrategy{GracePeriodSeconds: n}
	default:
		return errors.New("there is no such field")
	}
	return nil
}

// status shows counters, conditions and what a driver says of the world as it is.
func status(s *sim.Script, p *Planner) error {
	view := sim.NewView(s.Run.Cluster, 0)
	w, ok := p.World(view, nil, false)
	if !ok {
		return errors.New("there is no set")
	}
	st := &w.Set.Status
	s.Say("replicas %d, ready %d, available %d, updated %d (wanted %d), updated and available %d",
		st.Replicas, st.ReadyReplicas, st.AvailableReplicas, st.UpdatedReplicas, st.ExpectedUpdatedReplicas, st.UpdatedAvailableReplicas)
	for _, c := range st.Conditions {
		s.Say("%s=%s %s %s", c.Type, c.Status, c.Reason, c.Message)
	}
	out, err := cloneset.Decide(w)
	if err != nil {
		return err
	}
	if out.Done {
		s.Say("done")
	}
	if out.Stopped != "" {
		s.Say("stopped: %s", out.Stopped)
	}
	for _, wait := range out.Waits {
		s.Say("waits: %s: %s", wait.Reason, wait.Note)
	}
	for _, v := range out.Verdicts {
		words := []string{v.Name, string(v.Fate), string(v.Reason), v.Note}
		s.Say("%s", strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " "))
	}
	for _, warning := range out.Warnings {
		s.Say("warning: %s", warning)
	}
	return nil
}
