package launchorder

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
)

// Limits of names. A generated name keeps what fits of its prefix, as Kubernetes' own generator does, and the name of the
// barrier has to fit too.
const (
	// SuffixLength is how many characters complete a generated name.
	SuffixLength     = 5
	maxGeneratedName = 63
	maxName          = 253
)

// Options of Mutate.
type Options struct {
	// Suffix completes the name of a pod that has only a generateName: SuffixLength random characters.
	Suffix string
}

// InvalidError says that a pod asks for an order that cannot be.
type InvalidError struct {
	// Container is empty for a fault of the whole pod.
	Container string
	// Message is a sentence with the field and the allowed values, without a period.
	Message string
}

// Error implements error.
func (e *InvalidError) Error() string {
	if e.Container == "" {
		return e.Message
	}
	return fmt.Sprintf("container %q: %s", e.Container, e.Message)
}

// Mutate prepares a pod that is about to be created, after everything that adds containers (launchorder.md 1.2). If the
// pod asks for an order, every container gets its barrier variable, and the pod a name if it has none. It says whether the
// pod has changed; slices and maps that change are replaced, so a shallow copy is enough for a caller that keeps the
// original. Warnings are sentences about what was asked for and is ignored. The error is an *InvalidError, and the pod is
// unchanged.
//
// It may be called again on its own result, also after more containers were added. A barrier variable that the pod brings
// along, from a pod that it was copied from, is replaced, and that one's marks of how far it came are dropped (launchorder.md
// 1.6).
func Mutate(pod *corev1.Pod, o Options) (changed bool, warnings []string, err error) {
	priorities, warnings, err := prioritiesOf(pod)
	if err != nil || priorities == nil {
		return false, warnings, err
	}
	name := pod.Name
	if name == "" && pod.GenerateName != "" {
		name = generatedName(pod.GenerateName, o.Suffix)
	}
	if name == "" {
		return false, warnings, nil // the server refuses it in its own words
	}
	if most := maxName - len(keys.BarrierConfigMapSuffix); len(name) > most {
		return false, nil, &InvalidError{Message: fmt.Sprintf("metadata.name: want at most %d characters for a pod with a launch order, it has %d", most, len(name))}
	}
	pod.Name = name
	pod.Spec.Containers = slices.Clone(pod.Spec.Containers)
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		c.Env = withBarrier(c.Env, barrierEnv(name, priorities[i]))
	}
	for _, mark := range []string{keys.LaunchCompletedAnnotation, keys.LaunchLevelAnnotation} {
		if _, old := pod.Annotations[mark]; old {
			pod.Annotations = maps.Clone(pod.Annotations)
			delete(pod.Annotations, mark)
		}
	}
	return true, warnings, nil
}

func generatedName(prefix, suffix string) string {
	return prefix[:min(len(prefix), maxGeneratedName-SuffixLength)] + suffix
}

// barrierEnv must not be optional, or the kubelet does not wait.
func barrierEnv(pod string, priority int64) corev1.EnvVar {
	return corev1.EnvVar{Name: keys.BarrierEnv, ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{
		LocalObjectReference: corev1.LocalObjectReference{Name: BarrierName(pod)}, Key: KeyOf(priority),
	}}}
}

// withBarrier puts the variable in the place of an old one, or at the end.
func withBarrier(env []corev1.EnvVar, barrier corev1.EnvVar) []corev1.EnvVar {
	list, placed := make([]corev1.EnvVar, 0, len(env)+1), false
	for _, e := range env {
		switch {
		case e.Name != keys.BarrierEnv:
			list = append(list, e)
		case !placed:
			list, placed = append(list, barrier), true
		}
	}
	if !placed {
		list = append(list, barrier)
	}
	return list
}

// prioritiesOf are the priorities of a pod's containers; nil when they have no order.
func prioritiesOf(pod *corev1.Pod) (priorities []int64, warnings []string, err error) {
	asked := askedFor(pod.Spec.Containers)
	mode, annotated := pod.Annotations[keys.LaunchPriorityAnnotation]
	ordered := mode == keys.LaunchPriorityOrdered
	warnings = warningsOf(pod)
	switch {
	case len(pod.Spec.Containers) < 2:
		if ordered || len(asked) > 0 {
			warnings = append(warnings, "the launch priority is ignored: the pod has one container")
		}
		return nil, warnings, nil
	case annotated && !ordered:
		warnings = append(warnings, fmt.Sprintf("annotation %s %q is ignored: want %s", keys.LaunchPriorityAnnotation, mode, keys.LaunchPriorityOrdered))
	case ordered:
		if len(asked) > 0 {
			warnings = append(warnings, fmt.Sprintf("%s of %s is ignored: annotation %s starts the containers in the order of the list",
				keys.PriorityEnv, strings.Join(asked, ", "), keys.LaunchPriorityAnnotation))
		}
		for i := range pod.Spec.Containers {
			priorities = append(priorities, int64(-i))
		}
		return priorities, warnings, nil
	}
	for i := range pod.Spec.Containers {
		n, err := priorityAskedFor(&pod.Spec.Containers[i])
		if err != nil {
			return nil, nil, err
		}
		priorities = append(priorities, n)
	}
	if !slices.ContainsFunc(priorities, func(n int64) bool { return n != priorities[0] }) {
		if len(asked) > 0 {
			warnings = append(warnings, fmt.Sprintf("%s is ignored: all containers have priority %d and start together", keys.PriorityEnv, priorities[0]))
		}
		return nil, warnings, nil
	}
	return priorities, warnings, nil
}

// warningsOf tells of priorities where none counts.
func warningsOf(pod *corev1.Pod) []string {
	if names := askedFor(pod.Spec.InitContainers); len(names) > 0 {
		return []string{fmt.Sprintf("%s of init container %s is ignored: init containers start before all others", keys.PriorityEnv, strings.Join(names, ", "))}
	}
	return nil
}

// askedFor names the containers with a priority.
func askedFor(list []corev1.Container) []string {
	var names []string
	for i := range list {
		if slices.ContainsFunc(list[i].Env, func(e corev1.EnvVar) bool { return e.Name == keys.PriorityEnv }) {
			names = append(names, list[i].Name)
		}
	}
	return names
}

// priorityAskedFor reads the last priority variable of a container; without one it is 0. A value from elsewhere is not
// known yet and thus no number.
func priorityAskedFor(c *corev1.Container) (int64, error) {
	for i := len(c.Env) - 1; i >= 0; i-- {
		e := &c.Env[i]
		if e.Name != keys.PriorityEnv {
			continue
		}
		n, err := strconv.ParseInt(e.Value, 10, 64)
		if err != nil || n < MinPriority || n > MaxPriority {
			got := strconv.Quote(e.Value)
			if e.ValueFrom != nil {
				got = "from elsewhere"
			}
			return 0, &InvalidError{Container: c.Name, Message: fmt.Sprintf("%s %s: want an integer from %d to %d", keys.PriorityEnv, got, MinPriority, MaxPriority)}
		}
		return n, nil
	}
	return 0, nil
}

// Check judges what a pod, or the template of one, asks for, and says what of it would be ignored. It is Mutate without the
// change.
func Check(pod *corev1.Pod) (warnings []string, err error) {
	_, warnings, err = prioritiesOf(pod)
	return warnings, err
}
