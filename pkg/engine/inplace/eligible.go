package inplace

import (
	"encoding/json"
	"fmt"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/features"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/revision"
)

// Eligible says whether pods of the old revision can become the new one in place (inplace.md 2): either a Spec or the
// first Obstacle. A revision that is nil is not known any more, and pods of it have to be recreated.
func Eligible(old, updated *appsv1.ControllerRevision, o Options) (*Spec, *Obstacle) {
	if old == nil {
		return nil, &Obstacle{Note: "the revision of the pod is not known any more"}
	}
	if updated == nil {
		return nil, &Obstacle{Note: "the new revision is not known"}
	}
	if obstacle := claimObstacle(old, updated, o); obstacle != nil {
		return nil, obstacle
	}
	before, err := readTemplate(old, o.Defaults)
	if err != nil {
		return nil, &Obstacle{Note: err.Error()}
	}
	after, err := readTemplate(updated, o.Defaults)
	if err != nil {
		return nil, &Obstacle{Note: err.Error()}
	}
	spec := &Spec{Revision: o.Revision, GraceSeconds: o.GraceSeconds}
	if spec.Revision == "" {
		spec.Revision = updated.Name
	}
	for _, d := range differences(before.tree["spec"], after.tree["spec"]) {
		if obstacle := spec.take(d, before.typed, after.typed, o); obstacle != nil {
			return nil, obstacle
		}
	}
	if len(spec.Resources) > 0 {
		followLimits(spec.Resources, before.typed, after.typed)
		if was, is := qosClass(&before.typed.Spec), qosClass(&after.typed.Spec); was != is {
			return nil, &Obstacle{
				Path: "spec.containers", Note: fmt.Sprintf("the QoS class would change from %s to %s", was, is),
			}
		}
	}
	spec.takeMetadata(before.typed, after.typed, o.Gates.Enabled(features.InPlaceUpdateEnvFromMetadata))
	return spec, nil
}

// claimObstacle compares the hashes of the claim templates, when both revisions carry one.
func claimObstacle(old, updated *appsv1.ControllerRevision, o Options) *Obstacle {
	if o.IgnoreClaimTemplates || !o.Gates.Enabled(features.RecreatePodWhenChangeVCTInCloneSetGate) {
		return nil
	}
	was, had := old.Annotations[keys.ClaimTemplateHashAnnotation]
	is, has := updated.Annotations[keys.ClaimTemplateHashAnnotation]
	if !had || !has || was == is {
		return nil
	}
	return &Obstacle{Path: "volumeClaimTemplates", Note: "the claim templates differ"}
}

// template is a pod template with defaults, typed and as a JSON tree.
type template struct {
	typed *corev1.PodTemplateSpec
	tree  map[string]any
}

func readTemplate(rev *appsv1.ControllerRevision, defaults revision.Defaults) (template, error) {
	typed, err := revision.Template(rev)
	if err != nil {
		return template{}, err
	}
	if defaults != nil {
		defaults(typed)
	}
	data, err := revision.FromTemplate(typed)
	if err != nil {
		return template{}, err
	}
	var decoded struct {
		Spec struct {
			Template map[string]any `json:"template"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(data, &decoded); err != nil {
		return template{}, fmt.Errorf("decode revision %s: %w", rev.Name, err)
	}
	return template{typed: typed, tree: decoded.Spec.Template}, nil
}

// take adds a difference below the template's spec to the update, or says why that is not possible.
func (s *Spec) take(d difference, before, after *corev1.PodTemplateSpec, o Options) *Obstacle {
	no := func(note string) *Obstacle { return &Obstacle{Path: d.path("spec"), Note: note} }
	if len(d.at) < 3 || d.at[0] != "containers" {
		return no(string(d.op))
	}
	i, err := strconv.Atoi(d.at[1])
	if err != nil || i >= len(before.Spec.Containers) || i >= len(after.Spec.Containers) {
		return no(string(d.op))
	}
	name := before.Spec.Containers[i].Name
	note := fmt.Sprintf("%s in container %s", d.op, name)
	switch {
	case d.at[2] == "image" && d.op == opReplace:
		if s.Images == nil {
			s.Images = map[string]string{}
		}
		s.Images[name] = after.Spec.Containers[i].Image
		return nil
	case d.at[2] == "resources" && len(d.at) == 5 && d.op == opReplace && resizable(corev1.ResourceName(d.at[4])):
		if !o.Gates.Enabled(features.InPlaceWorkloadVerticalScaling) {
			return no(note + "; feature gate " + features.InPlaceWorkloadVerticalScaling.String() + " is off")
		}
		if o.Resize == ResizeNever {
			return no(note + "; this server cannot resize running pods")
		}
		return s.takeResource(name, d.at[3], corev1.ResourceName(d.at[4]), &after.Spec.Containers[i], no, note)
	}
	return no(note)
}

func (s *Spec) takeResource(name, list string, r corev1.ResourceName, c *corev1.Container, no func(string) *Obstacle, note string) *Obstacle {
	if s.Resources == nil {
		s.Resources = map[string]corev1.ResourceRequirements{}
	}
	change := s.Resources[name]
	switch list {
	case "limits":
		putQuantity(&change.Limits, r, c.Resources.Limits[r])
	case "requests":
		putQuantity(&change.Requests, r, c.Resources.Requests[r])
	default:
		return no(note)
	}
	s.Resources[name] = change
	return nil
}

func putQuantity(list *corev1.ResourceList, r corev1.ResourceName, q resource.Quantity) {
	if *list == nil {
		*list = corev1.ResourceList{}
	}
	(*list)[r] = q
}

// followLimits lets the request of a container follow its limit where neither template names a request: the server has
// set the one from the other when the pod was made, and would refuse a limit that left its request behind.
func followLimits(resources map[string]corev1.ResourceRequirements, before, after *corev1.PodTemplateSpec) {
	for i := range after.Spec.Containers {
		c := &after.Spec.Containers[i]
		change, changes := resources[c.Name]
		if !changes {
			continue
		}
		for r, limit := range change.Limits {
			_, had := before.Spec.Containers[i].Resources.Requests[r]
			_, has := c.Resources.Requests[r]
			if !had && !has {
				putQuantity(&change.Requests, r, limit)
			}
		}
		resources[c.Name] = change
	}
}

// resizable says that running containers can be given more or less of a resource.
func resizable(r corev1.ResourceName) bool {
	return r == corev1.ResourceCPU || r == corev1.ResourceMemory
}
