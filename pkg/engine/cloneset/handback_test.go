package cloneset

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/inplace"
)

// shape is what OpenKruise looks at in a pod to see whether anything is left to do, without what differs by chance: ids, times
// and the pods' names.
type shape struct {
	labels, annotations map[string]string
	finalizers          []string
	gates               []string
	// conditions are those of the gates, with reason and message.
	conditions []string
	owners     []string
	volumes    []string
	images     map[string]string
}

// chance is what a state annotation holds of ids and times, and of fields of ours, which OpenKruise ignores.
var (
	ourFields = regexp.MustCompile(`,"containerID":"[^"]*","image":"[^"]*"(,"generation":\d+)?`)
	ids       = regexp.MustCompile(`"imageID":"[^"]*"`)
	times     = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`)
)

func shapeOf(x *corev1.Pod, set *v1beta1.CloneSet) shape {
	s := shape{labels: maps.Clone(x.Labels), annotations: map[string]string{}, finalizers: x.Finalizers, images: map[string]string{}}
	id := s.labels[keys.InstanceIDLabel]
	if id != "" && x.Name == set.Name+"-"+id {
		s.labels[keys.InstanceIDLabel] = "as in the name"
	}
	ours := []string{keys.LifecycleTimestampAnnotation, keys.InPlaceUpdateStateAnnotation, keys.InPlaceUpdateGraceAnnotation}
	for k, v := range x.Annotations {
		if _, fromTemplate := set.Spec.Template.Annotations[k]; fromTemplate || slices.Contains(ours, k) {
			v = ourFields.ReplaceAllString(v, "")
			v = ids.ReplaceAllString(v, `"imageID":"some"`)
			s.annotations[k] = times.ReplaceAllString(v, "then")
		}
	}
	for _, g := range x.Spec.ReadinessGates {
		s.gates = append(s.gates, string(g.ConditionType))
		if c := condition(x, g.ConditionType); c != nil {
			s.conditions = append(s.conditions, fmt.Sprintf("%s %s %q", c.Type, c.Status, c.Reason))
		}
	}
	for _, o := range x.OwnerReferences {
		s.owners = append(s.owners, fmt.Sprintf("%s %s %s %s %v %v", o.APIVersion, o.Kind, o.Name, o.UID, *o.Controller, *o.BlockOwnerDeletion))
	}
	for _, v := range x.Spec.Volumes {
		if v.PersistentVolumeClaim != nil {
			s.volumes = append(s.volumes, v.Name+" "+strings.TrimSuffix(v.PersistentVolumeClaim.ClaimName, id))
		}
	}
	for _, c := range x.Spec.Containers {
		for _, t := range set.Spec.Template.Spec.Containers { // the others are injected
			if t.Name == c.Name {
				s.images[c.Name] = c.Image
			}
		}
	}
	return s
}

// shapes are those of all pods of a set, sorted.
func shapes(pods []Pod, set *v1beta1.CloneSet) []shape {
	var list []shape
	for _, p := range pods {
		list = append(list, shapeOf(p.Pod, set))
	}
	slices.SortFunc(list, func(a, b shape) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	return list
}

// revisionShape is what OpenKruise reads of a revision; all of it is bytes that it compares.
type revisionShape struct {
	Name                string
	Number              int64
	Labels, Annotations map[string]string
	Data                string
	Owners              []string
}

func revisionShapes(list []Revision) []revisionShape {
	var shapes []revisionShape
	for _, r := range list {
		s := revisionShape{r.Name, r.Revision, maps.Clone(r.Labels), maps.Clone(r.Annotations), string(r.Data.Raw), nil}
		// What OpenKruise decided about image pre-download, which it decides anew where the label is missing.
		delete(s.Labels, "apps.kruise.io/image-predownload-ignored")
		// kubectl's own, which OpenKruise copies from the set at the time; and what we add for claim templates.
		delete(s.Annotations, "kubectl.kubernetes.io/last-applied-configuration")
		for k := range s.Annotations {
			if strings.HasPrefix(k, keys.OwnPrefix) {
				delete(s.Annotations, k)
			}
		}
		for _, o := range r.OwnerReferences {
			s.Owners = append(s.Owners, fmt.Sprintf("%s %s %s %s %v %v", o.APIVersion, o.Kind, o.Name, o.UID, *o.Controller, *o.BlockOwnerDeletion))
		}
		shapes = append(shapes, s)
	}
	slices.SortFunc(shapes, func(a, b revisionShape) int { return strings.Compare(a.Name, b.Name) })
	return shapes
}

// report is what the node daemon writes about containers and the env that they were started with.
func (s *stage) report() {
	s.edit(func(p *corev1.Pod) {
		var meta inplace.RuntimeMeta
		for i := range p.Spec.Containers {
			c := &p.Spec.Containers[i]
			for _, status := range p.Status.ContainerStatuses {
				if status.Name == c.Name {
					meta.Containers = append(meta.Containers, inplace.RuntimeContainer{Name: c.Name, ContainerID: status.ContainerID,
						Hashes: inplace.RuntimeHashes{PlainHash: inplace.PlainHash(c), ExtractedEnvFromMetadataHash: inplace.EnvHash(p, c)}})
				}
			}
		}
		text, err := json.Marshal(meta)
		if err != nil {
			s.t.Fatal(err)
		}
		if p.Annotations == nil {
			p.Annotations = map[string]string{}
		}
		p.Annotations[keys.RuntimeContainersMetaAnnotation] = string(text)
	})
}

// play makes passes, with kubelet and daemon doing their part, until nothing is written any more.
func (s *stage) play() *Plan {
	s.t.Helper()
	var p *Plan
	for range 30 {
		p = s.quiet()
		s.ready()
		s.report()
	}
	return p
}

// TestHandBack plays the recorded histories with our planner from nothing, and holds pods and revisions against those that
// OpenKruise wrote. What is equal there is settled for OpenKruise as it was: it compares revision data, labels, lifecycle
// states, gate conditions and the record of the update, and nothing else.
func TestHandBack(t *testing.T) {
	t.Parallel()
	type moment struct {
		at record
		// before is what users did before, besides changing the spec.
		before func(s *stage)
	}
	fx := []moment{{at: fxCreated}, {at: fxUpdated}}
	histories := map[string][]moment{
		"fx-plain": fx, "fx-web": fx, "fx-hot": fx,
		"gx-env": {{at: gxCreated}, {at: gxHolding}, {at: gxSettled}},
		"gx-beta": {{at: gxCreated}, {at: gxHolding, before: func(s *stage) {
			s.play()
			for i, v := range s.plan().Verdicts {
				if !v.Updated {
					s.specify(i)
					break
				}
			}
		}}, {at: gxSettled}},
		"gx-pvc": {{at: gxCreated}, {at: gxHolding}, {at: gxSettled, before: func(s *stage) {
			s.edit(func(p *corev1.Pod) { p.Finalizers = nil })
		}}},
		"gx-ud-one-dv8rq":  {{at: gxCreated}, {at: gxHolding}, {at: gxSettled}},
		"gx-ud-rest-h565g": {{at: gxCreated}, {at: gxHolding}, {at: gxSettled}},
	}
	for name, moments := range histories {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &stage{t: t, w: World{Now: fixtureTime, Gates: theirGates(t), OwnerAPIVersion: "apps.kruise.io/v1beta1"}}
			for _, m := range moments {
				set := recordedSet(t, m.at, name)
				want := takenOver(t, name, m.at, m.at)
				theirs := set.Status
				set.Status = v1beta1.CloneSetStatus{}
				if s.w.Set != nil {
					set.Status = s.w.Set.Status
				}
				s.w.Set = set
				if m.before != nil {
					m.before(s)
				}
				p := s.play()
				if diff := cmp.Diff(shapes(want.Pods, set), shapes(s.w.Pods, set), cmp.AllowUnexported(shape{}), cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("%s: pods (-OpenKruise +ours):\n%s", m.at, diff)
				}
				if diff := cmp.Diff(revisionShapes(want.Revisions), revisionShapes(s.w.Revisions), cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("%s: revisions (-OpenKruise +ours):\n%s", m.at, diff)
				}
				theirs.Conditions = nil
				if diff := cmp.Diff(theirs, p.Status); diff != "" {
					t.Errorf("%s: status (-OpenKruise +ours):\n%s", m.at, diff)
				}
			}
		})
	}
}
