package clonesetsim_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/features"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/sim"
)

const (
	namespace = "default"
	setName   = "web"
	user      = "user"
)

// history is everything that makes a run what it is.
type history struct {
	seed                 uint64
	spec                 setSpec
	rollback             bool
	lag, interval, write time.Duration
	pace                 sim.Pace
	steps                []step
	faults               []sim.Fault
	rollout              *rollout
}

// setSpec is the set as it begins.
type setSpec struct {
	replicas                                  int
	policy                                    v1beta1.PodUpdatePolicy
	partition, unavailable, surge, scaleLimit *intstr.IntOrString
	paused, onDelete                          bool
	minReady                                  int
	grace                                     int
	containers                                int
	hooks                                     hooks
	claims                                    int // claims of each pod
	reuse                                     bool
}

// hooks say which lifecycle hooks a set has. Somebody answers them after a while.
type hooks struct{ preDelete, inPlaceUpdate, preNormal, notReady, exclude bool }

// The marks of hooks on pods.
const (
	holdDelete = "hold-delete"
	holdUpdate = "hold-update"
	markNormal = "mark-normal"
)

func (h hooks) lifecycle() *v1beta1.Lifecycle {
	if !h.preDelete && !h.inPlaceUpdate && !h.preNormal {
		return nil
	}
	l := &v1beta1.Lifecycle{}
	if h.preNormal {
		l.PreNormal = &v1beta1.LifecycleHook{LabelsHandler: map[string]string{markNormal: "yes"}}
	}
	if h.preDelete {
		l.PreDelete = &v1beta1.LifecycleHook{LabelsHandler: map[string]string{holdDelete: "yes"}, MarkPodNotReady: h.notReady}
	}
	if h.inPlaceUpdate {
		l.InPlaceUpdate = &v1beta1.LifecycleHook{LabelsHandler: map[string]string{holdUpdate: "yes"}, MarkPodNotReady: h.notReady}
	}
	return l
}

// answers are the stages of somebody who answers hooks: lets pods go, and marks those that have been updated.
func (h hooks) answers() []sim.Stage {
	in := func(b sim.Body, state string, key string, marked bool) bool {
		_, has := b.Labels[key]
		return b.DeletionTimestamp == nil && b.Labels[keys.LifecycleStateLabel] == state && has == marked
	}
	relabel := func(pod *corev1.Pod, key string, add bool) {
		labels := map[string]string{}
		for k, v := range pod.Labels {
			labels[k] = v
		}
		delete(labels, key)
		if add {
			labels[key] = "yes"
		}
		pod.Labels = labels
	}
	stage := func(name, state, key string, add bool) sim.Stage {
		return sim.Stage{Name: name, Delay: between(100, 4000),
			Match: func(b sim.Body) bool { return in(b, state, key, !add) },
			Next:  func(_ sim.Body, pod *corev1.Pod) { relabel(pod, key, add) }}
	}
	var list []sim.Stage
	if h.preNormal {
		// A pod does one thing after the other, so the mark waits for what makes it ready.
		mark := stage("mark-normal", keys.StatePreparingNormal, markNormal, true)
		due := mark.Match
		mark.Match = func(b sim.Body) bool { return due(b) && isReady(b.Pod) }
		list = append(list, mark)
	}
	if h.preDelete {
		list = append(list, stage("let-delete", keys.StatePreparingDelete, holdDelete, false))
	}
	if h.inPlaceUpdate {
		list = append(list, stage("let-update", keys.StatePreparingUpdate, holdUpdate, false),
			stage("mark-updated", keys.StateUpdated, holdUpdate, true))
	}
	return list
}

func isReady(pod *corev1.Pod) bool {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// step is something that people or the cluster do at a time. What n and span mean depends on what.
type step struct {
	at   time.Duration
	what deed
	n    int
	text string // an int-or-string or another value
	span time.Duration
}

type deed int

// What can happen from outside.
const (
	setImage deed = iota
	setEnv
	setReplicas
	setPartition
	setUnavailable
	setSurge
	setPaused
	setPolicy
	specify
	specifyName
	unspecify
	crash
	unready
	failPod
	deletePod
	loseLabel
	nodeGone
	badImage
	deeds
)

var deedNames = [deeds]string{"image", "env", "replicas", "partition", "maxUnavailable", "maxSurge", "paused", "policy", "specify",
	"specify-name", "unspecify", "crash", "unready", "fail", "delete", "lose-label", "node-gone", "bad-image"}

func (s step) String() string {
	return fmt.Sprintf("%s %s %d %s %s", s.at, deedNames[s.what], s.n, s.text, s.span)
}

// String is the history for people.
func (h *history) String() string {
	var b strings.Builder
	show := func(v *intstr.IntOrString) string {
		if v == nil {
			return "-"
		}
		return v.String()
	}
	s := &h.spec
	fmt.Fprintf(&b, "seed %d replicas %d policy %s partition %s maxUnavailable %s maxSurge %s scale limit %s paused %v onDelete %v minReady %d grace %d containers %d rollback %v hooks %+v claims %d reuse %v\n",
		h.seed, s.replicas, s.policy, show(s.partition), show(s.unavailable), show(s.surge), show(s.scaleLimit), s.paused, s.onDelete, s.minReady, s.grace, s.containers, h.rollback,
		s.hooks, s.claims, s.reuse)
	fmt.Fprintf(&b, "lag %s interval %s write %s pace %+v\n", h.lag, h.interval, h.write, h.pace)
	for _, st := range h.steps {
		fmt.Fprintf(&b, "%s\n", st)
	}
	if h.rollout != nil {
		fmt.Fprintf(&b, "batches %+v\n", *h.rollout)
	}
	for _, f := range h.faults {
		fmt.Fprintf(&b, "write %d: %s for %s %s\n", f.At, f.Kind, f.For, f.Watch.Kind)
	}
	return b.String()
}

func value(text string) *intstr.IntOrString {
	if text == "" {
		return nil
	}
	v := intstr.Parse(text)
	return &v
}

// set builds the CloneSet that a history begins with.
func (s *setSpec) set() *v1beta1.CloneSet {
	replicas := int32(s.replicas)
	labels := map[string]string{"app": setName}
	set := &v1beta1.CloneSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: setName},
		Spec: v1beta1.CloneSetSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{
				Labels: map[string]string{"app": setName, holdDelete: "yes", holdUpdate: "yes"}}},
			ScaleStrategy: v1beta1.CloneSetScaleStrategy{
				MaxUnavailable: s.scaleLimit, EnablePVCReuse: s.reuse, ExcludePreparingDelete: s.hooks.exclude,
			},
			Lifecycle: s.hooks.lifecycle(),
			UpdateStrategy: v1beta1.CloneSetUpdateStrategy{RollingUpdate: &v1beta1.RollingUpdateCloneSetStrategy{
				PodUpdatePolicy: s.policy, Partition: s.partition, MaxUnavailable: s.unavailable, MaxSurge: s.surge, Paused: s.paused,
				InPlaceUpdateStrategy: &v1beta1.InPlaceUpdateStrategy{GracePeriodSeconds: int32(s.grace)},
			}},
			MinReadySeconds: int32(s.minReady),
		},
	}
	for _, name := range []string{"data", "log"}[:s.claims] {
		set.Spec.VolumeClaimTemplates = append(set.Spec.VolumeClaimTemplates, corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	if s.onDelete {
		set.Spec.UpdateStrategy.Type = v1beta1.OnDeleteCloneSetUpdateStrategyType
	}
	for _, name := range []string{"main", "side"}[:s.containers] {
		set.Spec.Template.Spec.Containers = append(set.Spec.Template.Spec.Containers, corev1.Container{Name: name, Image: name + ":1"})
	}
	return set
}

func gates(rollback bool) features.Gates {
	return features.Defaults().With(features.CloneSetPartitionRollback, rollback)
}

// events turns the steps, and the operators of an update in batches, into what the run plays.
func (h *history) events(k *checker) []sim.Event {
	var list []sim.Event
	add := func(at time.Duration, do func(*sim.Cluster)) {
		i := len(list)
		for i > 0 && list[i-1].At > at {
			i--
		}
		list = append(list, sim.Event{})
		copy(list[i+1:], list[i:])
		list[i] = sim.Event{At: at, Do: do}
	}
	for _, s := range h.steps {
		add(s.at, s.do)
		switch s.what {
		case nodeGone:
			add(s.at+s.span, func(c *sim.Cluster) { c.SetNodeGone(nodeName(s.n), false) })
		case badImage:
			add(s.at+s.span, func(c *sim.Cluster) { c.SetImage(imageName(s.n), "") })
		}
	}
	if h.rollout != nil {
		list = append(list, h.rollout.events(k, h.seed)...)
		slices.SortStableFunc(list, func(a, b sim.Event) int { return cmp.Compare(a.At, b.At) })
	}
	return list
}

func nodeName(n int) string { return fmt.Sprintf("node-%d", n%3) }

func imageName(n int) string { return fmt.Sprintf("main:%d", n) }

func nodes() []sim.Node { return []sim.Node{{Name: "node-0"}, {Name: "node-1"}, {Name: "node-2"}} }

// do carries out a step.
func (s step) do(c *sim.Cluster) {
	switch s.what {
	case nodeGone:
		c.SetNodeGone(nodeName(s.n), true)
	case badImage:
		c.SetImage(imageName(s.n), sim.Trouble(s.text))
	case specify, unspecify, crash, unready, failPod, deletePod, loseLabel:
		s.onPod(c)
	default:
		s.onSet(c)
	}
}

func (s step) onPod(c *sim.Cluster) {
	pods := active(c.List(plan.PodKind))
	if len(pods) == 0 {
		return
	}
	name := pods[s.n%len(pods)].Name
	label := func(key, value string, add bool) {
		_ = c.Change(user, plan.PodKind, namespace, name, func(obj plan.Object) {
			labels := map[string]string{}
			for k, v := range obj.GetLabels() {
				labels[k] = v
			}
			delete(labels, key)
			if add {
				labels[key] = value
			}
			obj.SetLabels(labels)
		})
	}
	switch s.what {
	case specify:
		label(keys.SpecifiedDeleteLabel, "true", true)
	case unspecify:
		label(keys.SpecifiedDeleteLabel, "", false)
	case loseLabel:
		label("app", "other", true)
	case crash:
		_ = c.Crash(namespace, name)
	case unready:
		_ = c.Unready(namespace, name)
	case failPod:
		_ = c.Fail(namespace, name)
	case deletePod:
		_ = c.Delete(user, plan.PodKind, namespace, name)
	}
}

func (s step) onSet(c *sim.Cluster) {
	_ = c.Change(user, plan.CloneSetKind, namespace, setName, func(obj plan.Object) {
		spec := &obj.(*v1beta1.CloneSet).Spec
		rolling := *spec.UpdateStrategy.RollingUpdate
		spec.UpdateStrategy.RollingUpdate = &rolling
		switch s.what {
		case setImage, setEnv:
			containers := append([]corev1.Container(nil), spec.Template.Spec.Containers...)
			spec.Template.Spec.Containers = containers
			if s.what == setImage {
				containers[0].Image = imageName(s.n)
			} else {
				containers[0].Env = []corev1.EnvVar{{Name: "V", Value: s.text}}
			}
		case setReplicas:
			n := int32(s.n)
			spec.Replicas = &n
		case setPartition:
			rolling.Partition = value(s.text)
		case setUnavailable:
			rolling.MaxUnavailable = value(s.text)
		case setSurge:
			rolling.MaxSurge = value(s.text)
		case setPaused:
			rolling.Paused = s.n > 0
		case setPolicy:
			rolling.PodUpdatePolicy = v1beta1.PodUpdatePolicy(s.text)
		case specifyName:
			if pods := active(c.List(plan.PodKind)); len(pods) > 0 {
				name := pods[s.n%len(pods)].Name
				spec.ScaleStrategy.PodsToDelete = append(append([]string(nil), spec.ScaleStrategy.PodsToDelete...), name)
			}
		}
		// One of the two limits has to let something through.
		if isZero(rolling.MaxUnavailable) && (rolling.MaxSurge == nil || isZero(rolling.MaxSurge)) {
			rolling.MaxUnavailable = value("1")
		}
		if rolling.PodUpdatePolicy == v1beta1.InPlaceOnlyPodUpdatePolicy {
			rolling.MaxSurge = nil
			if isZero(rolling.MaxUnavailable) {
				rolling.MaxUnavailable = value("1")
			}
		}
	})
}

func isZero(v *intstr.IntOrString) bool { return v != nil && v.Type == intstr.Int && v.IntVal == 0 }

// active are the pods of the set that count.
func active(objects []plan.Object) []*corev1.Pod {
	var pods []*corev1.Pod
	for _, obj := range objects {
		if pod := obj.(*corev1.Pod); isActive(pod) {
			pods = append(pods, pod)
		}
	}
	return pods
}

func isActive(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && pod.Status.Phase != corev1.PodFailed && pod.Status.Phase != corev1.PodSucceeded &&
		len(pod.OwnerReferences) > 0 && pod.Labels["app"] == setName
}
