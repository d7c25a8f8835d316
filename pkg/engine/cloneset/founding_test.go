package cloneset

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
)

// demo is the founding documents' CloneSet.
func demo(c *v1beta1.CloneSet) {
	c.Name = "cs-demo"
	c.Spec.Selector.MatchLabels = map[string]string{"app": "cs"}
	c.Spec.Template.Labels = map[string]string{"app": "cs"}
	c.Spec.Template.Spec.Containers = []corev1.Container{{Name: "nginx", Image: "nginx:alpine", ImagePullPolicy: corev1.PullIfNotPresent,
		Ports: []corev1.ContainerPort{{ContainerPort: 80}}}}
}

func (s *stage) events(reason string) []string {
	var list []string
	for _, e := range s.seen {
		if e.Reason == reason {
			list = append(list, e.Type+" "+e.Message)
		}
	}
	return list
}

// uids are those of the pods, by name.
func (s *stage) uids() map[string]types.UID {
	m := map[string]types.UID{}
	for _, p := range s.w.Pods {
		m[p.Name] = p.UID
	}
	return m
}

// What a planner can show of scenarios.md; the rest is shown end to end.
func TestFoundingDocuments(t *testing.T) {
	t.Parallel()
	t.Run("S-CS-1", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, 3, demo)
		st := s.settle().Status
		for _, n := range []int32{st.Replicas, st.UpdatedReplicas, st.UpdatedReadyReplicas, st.UpdatedAvailableReplicas, st.ReadyReplicas} {
			if n != 3 {
				t.Errorf("status %+v, want 3 in each column", st)
				break
			}
		}
		var want []string
		for _, p := range s.w.Pods {
			want = append(want, "Normal succeed to create pod "+p.Name)
			if id := strings.TrimPrefix(p.Name, "cs-demo-"); len(id) != 5 {
				t.Errorf("pod name %s", p.Name)
			}
			if o := p.OwnerReferences; len(o) != 1 || o[0].Kind != "CloneSet" || o[0].Name != "cs-demo" || !*o[0].Controller {
				t.Errorf("owners %+v", o)
			}
		}
		if diff := cmp.Diff(want, s.events("SuccessfulCreate")); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	})
	for _, limit := range []string{"1", "20%"} {
		t.Run("S-CS-2 "+limit, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, 3, demo)
			s.settle()
			s.tick(time.Hour)
			s.change(replicas(5), func(c *v1beta1.CloneSet) {
				c.Spec.MinReadySeconds, c.Spec.ScaleStrategy.MaxUnavailable = 60, value(limit)
			})
			s.expect("one pod", did(s.pass()), "create 1")
			want := []string{"Warning scaleUp is limited because of scaleStrategy.maxUnavailable, limit: 1"}
			if diff := cmp.Diff(want, s.events("ScaleUpLimited")); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			s.quiet()
			s.ready()
			s.quiet()
			s.ready()
			s.tick(59 * time.Second)
			s.expect("after 59 s", did(s.quiet()), "")
			s.tick(time.Second)
			s.expect("after 60 s", did(s.pass()), "create 1")
		})
	}
	t.Run("S-CS-2 unset", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, 3, demo)
		s.settle()
		s.change(replicas(5))
		s.expect("both at once", did(s.pass()), "create 2")
	})
	chosen := map[string]func(s *stage, name string){
		"S-CS-4": func(s *stage, name string) {
			s.change(func(c *v1beta1.CloneSet) { c.Spec.ScaleStrategy.PodsToDelete = []string{name} })
		},
		"S-CS-5": func(s *stage, _ string) { s.specify(1) },
	}
	for id, choose := range chosen {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, 3, demo, maxUnavailable("1"))
			s.settle()
			before, name := s.uids(), s.w.Pods[1].Name
			choose(s, name)
			s.expect("first that pod goes", did(s.pass()), "delete 1")
			s.expect("then one is made", did(s.pass()), "create 1")
			s.settle()
			after := s.uids()
			if _, there := after[name]; there || len(after) != 3 {
				t.Errorf("pods %v, %s should be gone", after, name)
			}
			kept := 0
			for n, uid := range before {
				if after[n] == uid {
					kept++
				}
			}
			if kept != 2 {
				t.Errorf("%d of the others are left, want 2", kept)
			}
			if got := s.w.Set.Spec.ScaleStrategy.PodsToDelete; len(got) != 0 {
				t.Errorf("podsToDelete at the end: %v", got)
			}
		})
		t.Run(id+" within the limits and through the hook", func(t *testing.T) {
			t.Parallel()
			s := newStage(t, 3, demo, preDelete, maxUnavailable("0"), maxSurge("1"))
			s.settle()
			name := s.w.Pods[1].Name
			choose(s, name)
			s.expect("first one more", did(s.pass()), "create 1")
			s.expect("which has to serve", did(s.quiet()), "")
			for _, v := range s.plan().Verdicts {
				if v.Updated && !v.Available && v.Name != name {
					s.serve(v.Name)
				}
			}
			s.pass()
			if got := s.pod(name).Labels[keys.LifecycleStateLabel]; got != keys.StatePreparingDelete {
				t.Errorf("state %s, want it to wait for its hook", got)
			}
			s.unlabel(hookLabel, name)
			s.expect("the hook lets go", did(s.pass()), "delete 1")
			s.settle()
		})
	}
	t.Run("S-CS-6", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, 3, demo, policy(inPlace))
		s.settle()
		before := s.uids()
		s.change(image("nginx:1.27"))
		rev := s.settle().Status.UpdateRevision
		if diff := cmp.Diff(before, s.uids()); diff != "" {
			t.Errorf("pods (-want +got):\n%s", diff)
		}
		got := s.events("SuccessfulUpdatePodInPlace")
		for _, p := range s.w.Pods {
			if want := fmt.Sprintf("Normal successfully update pod %s in-place(revision %s)", p.Name, rev); !slices.Contains(got, want) {
				t.Errorf("no event %q in %q", want, got)
			}
			if p.Spec.Containers[0].Image != "nginx:1.27" {
				t.Errorf("pod %s has image %s", p.Name, p.Spec.Containers[0].Image)
			}
		}
	})
	t.Run("S-CS-9", func(t *testing.T) {
		t.Parallel()
		for _, row := range []struct {
			partition    string
			old, updated int
		}{{"2", 2, 2}, {"50%", 2, 2}, {"75%", 3, 1}, {"", 0, 4}} {
			s := newStage(t, 4, demo)
			s.settle()
			s.change(image("nginx:1.27"))
			if row.partition != "" {
				s.change(partition(row.partition))
			}
			s.settle()
			s.expectCounts(row.old, row.updated)
			values := map[string]int{}
			for _, p := range s.w.Pods {
				values[p.Labels[keys.ControllerRevisionHashLabel]]++
			}
			if want := min(row.old, 1) + 1; len(values) != want {
				t.Errorf("partition %q: %d values of controller-revision-hash, want %d", row.partition, len(values), want)
			}
		}
	})
	t.Run("S-CS-10 scatter", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, 6, demo, policy(inPlace), maxUnavailable("100%"))
		s.settle()
		for i := range 3 {
			name := s.w.Pods[i].Name
			s.edit(func(p *corev1.Pod) {
				if p.Name == name {
					p.Labels["class"] = "a"
				}
			})
		}
		s.change(image("nginx:1.27"), func(c *v1beta1.CloneSet) {
			rolling(c).ScatterStrategy = v1beta1.UpdateScatterStrategy{{Key: "class", Value: "a"}}
		})
		var order string
		for _, stage := range s.plan().Stages {
			for _, a := range stage.Actions {
				if stage.Name == StageUpdate {
					order += map[string]string{"a": "a", "": "-"}[s.pod(a.On.Name).Labels["class"]]
				}
			}
		}
		if order != "a--a-a" {
			t.Errorf("updated in the order %s, want the class spread from the first to the last", order)
		}
	})
	t.Run("S-CS-10 paused", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, 3, demo, paused)
		s.settle()
		s.change(image("nginx:1.27"))
		s.settleReady()
		s.expectCounts(3, 0)
		s.change(func(c *v1beta1.CloneSet) { rolling(c).Paused = false })
		s.settle()
		s.expectCounts(0, 3)
	})
}

// Which changes go in place, and what becomes of the others.
func TestFoundingDocumentsChanges(t *testing.T) {
	t.Parallel()
	base := func(c *v1beta1.CloneSet) {
		c.Spec.Template.Labels["mode"] = "one"
		c.Spec.Template.Annotations = map[string]string{"note": "one"}
		c.Spec.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "MODE", ValueFrom: &corev1.EnvVarSource{
			FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.labels['mode']"}}}}
	}
	for _, row := range []struct {
		name    string
		change  option
		inPlace bool
		path    string
	}{
		{"label", func(c *v1beta1.CloneSet) { c.Spec.Template.Labels["tier"] = "two" }, true, ""},
		{"annotation", func(c *v1beta1.CloneSet) { c.Spec.Template.Annotations = map[string]string{"note": "two"} }, true, ""},
		{"image", image("nginx:1.27"), true, ""},
		{"env from a label", func(c *v1beta1.CloneSet) { c.Spec.Template.Labels["mode"] = "two" }, true, ""},
		{"env", env("A", "1"), false, "env"},
		{"port", func(c *v1beta1.CloneSet) { c.Spec.Template.Spec.Containers[0].Ports[0].ContainerPort = 81 }, false, "ports"},
	} {
		t.Run("S-CS-7 "+row.name, func(t *testing.T) {
			t.Parallel()
			for way, want := range map[v1beta1.PodUpdatePolicy]string{
				inPlace:                            map[bool]string{true: "in-place 1", false: "recreate 1"}[row.inPlace],
				v1beta1.InPlaceOnlyPodUpdatePolicy: map[bool]string{true: "in-place 1"}[row.inPlace],
				v1beta1.ReCreatePodUpdatePolicy:    "recreate 1",
				v1beta1.PodUpdatePolicy(""):        "recreate 1",
			} {
				s := newStage(t, 1, demo, base, policy(way))
				s.settle()
				s.change(row.change)
				p := s.pass()
				s.expect(string(way), did(p), want)
				if refused := p.Stopped == plan.ReasonNotEligible || slices.ContainsFunc(p.Waits, func(w plan.Wait) bool {
					return w.Reason == plan.ReasonNotEligible && strings.Contains(w.Note, row.path)
				}); refused != (want == "") {
					t.Errorf("%s: stopped %q, waits %+v", way, p.Stopped, p.Waits)
				}
			}
		})
	}
	t.Run("S-CS-7 a replaced pod loses its claims", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, 2, demo, stored("1Gi", true))
		s.settle()
		before := s.claimNames()
		s.change(image("nginx:1.27"))
		s.settle()
		if got := s.claimNames(); len(got) != 4 || slices.ContainsFunc(got, func(n string) bool { return slices.Contains(before, n) }) {
			t.Errorf("claims %v, before %v", got, before)
		}
	})
}

// PF-CS-12: a map that is absent equals an empty one, and is made only to write something into it.
func TestAbsentMaps(t *testing.T) {
	t.Parallel()
	moments := map[string]func(t *testing.T) *stage{
		"PF-CS-12 creation":    func(t *testing.T) *stage { return newStage(t, 2, policy(inPlace)) },
		"PF-CS-12 in place":    func(t *testing.T) *stage { return grown(t, 2, policy(inPlace)) },
		"PF-CS-12 replacement": func(t *testing.T) *stage { return grown(t, 2) },
		"PF-CS-12 the way back": func(t *testing.T) *stage {
			s := grown(t, 2, policy(inPlace))
			s.settle()
			s.change(image("v1"))
			return s
		},
		"PF-CS-12 refreshing": func(t *testing.T) *stage {
			s := newStage(t, 2, policy(inPlace))
			s.pass()
			s.ready()
			return s
		},
	}
	for name, moment := range moments {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := moment(t)
			with := func(m map[string]string) []string {
				w := s.w
				w.Set = s.w.Set.DeepCopy()
				w.Set.Annotations, w.Set.Labels, w.Set.Spec.Template.Annotations = m, m, m
				w.Pods, w.Revisions = nil, nil
				for _, p := range s.w.Pods {
					p := Pod{Pod: p.Pod.DeepCopy()}
					p.Annotations = m
					w.Pods = append(w.Pods, p)
				}
				for _, r := range s.w.Revisions {
					r := Revision{ControllerRevision: r.ControllerRevision.DeepCopy()}
					r.Annotations = m
					w.Revisions = append(w.Revisions, r)
				}
				before := fmt.Sprint(w.Set, w.Pods, w.Revisions)
				p, err := Decide(w)
				if err != nil {
					t.Fatal(err)
				}
				if fmt.Sprint(w.Set, w.Pods, w.Revisions) != before {
					t.Error("what was planned from has changed")
				}
				var list []string
				for _, a := range p.Actions() {
					text := fmt.Sprintf("%s %s %s/%s", a.Verb, a.On.Kind.Kind, a.On.Name, a.Subresource)
					if a.Change != nil {
						body, err := a.Change.Body()
						if err != nil {
							t.Fatal(err)
						}
						text += " " + string(body)
					}
					list = append(list, text)
				}
				if len(list) == 0 {
					t.Error("nothing is done, so nothing is tested")
				}
				return list
			}
			if diff := cmp.Diff(with(map[string]string{}), with(nil)); diff != "" {
				t.Errorf("actions (-empty +absent):\n%s", diff)
			}
		})
	}
}

// PF-IP-6: what turns conditions of a pod is a patch of ours alone, at the version that was judged; Ready only ever turns
// False, together with a gate of ours.
func TestConditionsOfPodsAreWrittenNarrowly(t *testing.T) {
	t.Parallel()
	hooked := func(c *v1beta1.CloneSet) { c.Spec.Lifecycle.InPlaceUpdate.MarkPodNotReady = true }
	for name, options := range map[string][]option{
		"PF-IP-6 in place":  {policy(inPlace)},
		"PF-IP-6 with hook": {policy(inPlace), inPlaceHook, hooked},
		"PF-IP-6 deletion":  {preDeleteNotReady},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, 2, append(options, maxUnavailable("1"))...)
			written := map[string]bool{}
			pass := func() {
				s.edit(func(p *corev1.Pod) { p.ResourceVersion = "judged" })
				for _, a := range s.pass().Actions() {
					change, ok := a.Change.(*plan.PodChange)
					if !ok || len(change.Conditions) == 0 {
						continue
					}
					if a.Subresource != plan.StatusSubresource || a.ResourceVersion != "judged" {
						t.Errorf("conditions are written to %q at version %q", a.Subresource, a.ResourceVersion)
					}
					if len(change.Images)+len(change.Resources) > 0 {
						t.Errorf("with the conditions come %v %v", change.Images, change.Resources)
					}
					ours := false
					for _, c := range change.Conditions {
						written[string(c.Type)+"="+string(c.Status)] = true
						ours = ours || c.Type == keys.InPlaceUpdateReady || c.Type == keys.KruisePodReady
					}
					if !ours {
						t.Errorf("conditions %+v, none of them ours", change.Conditions)
					}
				}
			}
			for range 12 {
				pass()
				s.ready()
				s.edit(func(p *corev1.Pod) {
					if condition(p, corev1.ContainersReady) == nil {
						p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.ContainersReady, Status: corev1.ConditionTrue})
					}
				})
			}
			s.change(image("v2"))
			for i := range 12 {
				if i == 6 {
					s.unlabel(hookLabel)
				}
				pass()
				s.ready()
			}
			for got := range written {
				switch got {
				case "InPlaceUpdateReady=True", "InPlaceUpdateReady=False", "KruisePodReady=True", "KruisePodReady=False", "Ready=False":
				default:
					t.Errorf("%s was written", got)
				}
			}
			if !written["Ready=False"] {
				t.Errorf("no pod was taken out of service, only %v", written)
			}
		})
	}
}
