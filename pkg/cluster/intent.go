package cluster

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
)

// OnDelete is the value of Intent.Type that leaves the deletion of old pods to somebody else.
const OnDelete = "OnDelete"

// Intent is what a user wants of a CloneSet, in words that do not depend on the version that the cluster serves. Nil and
// empty fields leave the set as it is.
type Intent struct {
	Partition      *intstr.IntOrString
	MaxUnavailable *intstr.IntOrString
	MaxSurge       *intstr.IntOrString
	// Type is ReCreate, InPlaceIfPossible, InPlaceOnly or OnDelete.
	Type   string
	Paused *bool
	// Images maps names of containers and init containers to images.
	Images map[string]string
	// Template replaces the whole pod template. It excludes Images.
	Template *Template
	Replicas *int32
	// PodsToDelete are added to the pods that are deleted first.
	PodsToDelete []string
	// Annotations of the set; nil removes one. They are not told to people.
	Annotations map[string]*string
	// Exclusive binds the patch to the version of the set that was judged: whoever was faster wins.
	Exclusive bool
}

// IsZero says that nothing is asked for.
func (in *Intent) IsZero() bool {
	return in.Partition == nil && in.MaxUnavailable == nil && in.MaxSurge == nil && in.Type == "" && in.Paused == nil && len(in.Images) == 0 &&
		in.Template == nil && in.Replicas == nil && len(in.PodsToDelete) == 0 && len(in.Annotations) == 0
}

// Missing lists what a set does not say as the intent wants it, such as "partition" or "image nginx". Once the intent has
// been written an entry here means that somebody else changed the set.
func (in *Intent) Missing(set *v1beta1.CloneSet) []string {
	block := set.Spec.UpdateStrategy.RollingUpdate
	if block == nil {
		block = &v1beta1.RollingUpdateCloneSetStrategy{}
	}
	var missing []string
	check := func(name string, want, have *intstr.IntOrString) {
		if want != nil && (have == nil || want.String() != have.String()) {
			missing = append(missing, name)
		}
	}
	check("partition", in.Partition, block.Partition)
	check("maxUnavailable", in.MaxUnavailable, block.MaxUnavailable)
	check("maxSurge", in.MaxSurge, block.MaxSurge)
	if in.Type != "" && in.Type != typeOf(set) {
		missing = append(missing, "type")
	}
	if in.Paused != nil && *in.Paused != block.Paused {
		missing = append(missing, "paused")
	}
	if in.Replicas != nil && (set.Spec.Replicas == nil || *in.Replicas != *set.Spec.Replicas) {
		missing = append(missing, "replicas")
	}
	template := &set.Spec.Template.Spec
	for _, name := range slices.Sorted(maps.Keys(in.Images)) {
		if c := container(template, name); c == nil || c.Image != in.Images[name] {
			missing = append(missing, "image "+name)
		}
	}
	return missing
}

func typeOf(set *v1beta1.CloneSet) string {
	strategy := &set.Spec.UpdateStrategy
	switch {
	case strategy.Type == v1beta1.OnDeleteCloneSetUpdateStrategyType:
		return OnDelete
	case strategy.RollingUpdate == nil || strategy.RollingUpdate.PodUpdatePolicy == "":
		return string(v1beta1.ReCreatePodUpdatePolicy)
	}
	return string(strategy.RollingUpdate.PodUpdatePolicy)
}

func container(spec *corev1.PodSpec, name string) *corev1.Container {
	for _, list := range [][]corev1.Container{spec.Containers, spec.InitContainers} {
		for i := range list {
			if list[i].Name == name {
				return &list[i]
			}
		}
	}
	return nil
}

// apply makes the intent true in the planners' version.
func (in *Intent) apply(obj plan.Object) error {
	set, ok := obj.(*v1beta1.CloneSet)
	if !ok {
		return fmt.Errorf("an intent for a CloneSet cannot be applied to %T", obj)
	}
	strategy := &set.Spec.UpdateStrategy
	if in.Type == OnDelete {
		strategy.Type = v1beta1.OnDeleteCloneSetUpdateStrategyType
	}
	block := v1beta1.RollingUpdateCloneSetStrategy{}
	if strategy.RollingUpdate != nil {
		block = *strategy.RollingUpdate
	}
	if in.Type != "" && in.Type != OnDelete {
		strategy.Type, block.PodUpdatePolicy = v1beta1.RollingUpdateCloneSetUpdateStrategyType, v1beta1.PodUpdatePolicy(in.Type)
	}
	number := func(field **intstr.IntOrString, want *intstr.IntOrString) {
		if want != nil {
			plain := intstr.Parse(want.String())
			*field = &plain
		}
	}
	number(&block.Partition, in.Partition)
	number(&block.MaxUnavailable, in.MaxUnavailable)
	number(&block.MaxSurge, in.MaxSurge)
	if in.Paused != nil {
		block.Paused = *in.Paused
	}
	limits := in.Partition != nil || in.MaxUnavailable != nil || in.MaxSurge != nil || in.Paused != nil && *in.Paused
	if limits || in.Type != "" && in.Type != OnDelete || strategy.RollingUpdate != nil {
		strategy.RollingUpdate = &block
	}
	if err := in.applyRest(set); err != nil {
		return err
	}
	template := &set.Spec.Template.Spec
	template.Containers, template.InitContainers = slices.Clone(template.Containers), slices.Clone(template.InitContainers)
	for name, image := range in.Images {
		c := container(template, name)
		if c == nil {
			return unknownContainer(template, name)
		}
		c.Image = image
	}
	return nil
}

// UnknownContainerError says that a template has no container of that name.
type UnknownContainerError struct {
	Name string
	// Known lists the names that there are, containers before init containers.
	Known []string
}

// Error implements error.
func (e *UnknownContainerError) Error() string {
	return fmt.Sprintf("no container %q; it has: %s", e.Name, strings.Join(e.Known, ", "))
}

func unknownContainer(spec *corev1.PodSpec, name string) error {
	e := &UnknownContainerError{Name: name}
	for _, list := range [][]corev1.Container{spec.Containers, spec.InitContainers} {
		for i := range list {
			e.Known = append(e.Known, list[i].Name)
		}
	}
	return e
}
