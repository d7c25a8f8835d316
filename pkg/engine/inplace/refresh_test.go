package inplace

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/features"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
)

func metaLabel(key, value string) plan.MetaChange {
	return plan.MetaChange{Labels: map[string]*string{key: &value}}
}

func TestGrace(t *testing.T) {
	t.Parallel()
	pending := func(seconds int32) *corev1.Pod {
		spec := imageSpec("c1", "foo:2")
		spec.GraceSeconds, spec.Meta = seconds, metaLabel("general", "1")
		return begin(t, podOf(tmpl(ctr("c1", "foo:1"))), spec, onServer, start)
	}
	later := start.Add(10 * time.Second)

	t.Run("inplace/17", func(t *testing.T) {
		t.Parallel()
		s, err := Refresh(pending(30), nil, onServer, later)
		if diff := cmp.Diff(Step{Kind: StepGrace, Until: later.Add(20 * time.Second)}, s); diff != "" || err != nil {
			t.Errorf("%v (-want +got)\n%s", err, diff)
		}
	})
	t.Run("inplace/18", func(t *testing.T) {
		t.Parallel()
		kind, pod := step(t, pending(5), onServer, later)
		if kind != StepFinishGrace || specImage(pod, "c1") != "foo:2" || pod.Annotations[keys.InPlaceUpdateGraceAnnotation] != "" || pod.Labels["general"] != "1" {
			t.Errorf("%s: image %s, annotations %v, labels %v", kind, specImage(pod, "c1"), pod.Annotations, pod.Labels)
		}
		if diff := cmp.Diff([][]string{{"c1"}}, batches(t, pod)); diff != "" {
			t.Errorf("batches (-want +got)\n%s", diff)
		}
		if got := stateOf(t, pod).UpdateTimestamp; !got.Time.Equal(start) {
			t.Errorf("the update begins at %s", got)
		}
	})
	t.Run("inplace/19", func(t *testing.T) {
		t.Parallel()
		pod := pending(5)
		pod.Labels[keys.ControllerRevisionHashLabel] = "web-other"
		s, err := Refresh(pod, nil, onServer, later)
		if err != nil || s.Kind != StepDropGrace {
			t.Fatalf("%+v, %v", s, err)
		}
		if diff := cmp.Diff(`{"metadata":{"annotations":{"apps.kruise.io/inplace-update-grace":null}}}`, body(t, s.Change)); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	})
	t.Run("9 a label that holds the hash alone", func(t *testing.T) {
		t.Parallel()
		pod := pending(5)
		pod.Labels[keys.ControllerRevisionHashLabel] = "new"
		if kind, _ := step(t, pod, onServer, later); kind != StepFinishGrace {
			t.Errorf("got %s", kind)
		}
	})
	t.Run("4.1 the update is not complete meanwhile", func(t *testing.T) {
		t.Parallel()
		if done, why := Complete(pending(5), vertical()); done || why == "" {
			t.Errorf("complete %v: %s", done, why)
		}
	})
	t.Run("4.1 the state is missing", func(t *testing.T) {
		t.Parallel()
		pod := pending(5)
		delete(pod.Annotations, keys.InPlaceUpdateStateAnnotation)
		if _, err := Refresh(pod, nil, onServer, later); !errors.Is(err, errGraceWithoutState) {
			t.Errorf("error %v", err)
		}
	})
	t.Run("a grace annotation that OpenKruise wrote", func(t *testing.T) {
		t.Parallel()
		pod := pending(5)
		// {"metadata":{"creationTimestamp":null,"labels":{"a":"b"}}}
		pod.Annotations[keys.InPlaceUpdateGraceAnnotation] = `{"revision":"web-new","containerImages":{"c1":"foo:3"},` +
			`"containerRefMetadata":{"c1":{"creationTimestamp":null,"annotations":{"x":"y"}}},` +
			`"metaDataPatch":"eyJtZXRhZGF0YSI6eyJjcmVhdGlvblRpbWVzdGFtcCI6bnVsbCwibGFiZWxzIjp7ImEiOiJiIn19fQ==","updateEnvFromMetadata":true,"graceSeconds":5}`
		_, after := step(t, pod, onServer, later)
		if specImage(after, "c1") != "foo:3" || after.Labels["a"] != "b" || after.Annotations["x"] != "y" {
			t.Errorf("image %s, labels %v, annotations %v", specImage(after, "c1"), after.Labels, after.Annotations)
		}
	})
}

func TestRefresh(t *testing.T) {
	t.Parallel()
	unscheduled := podOf(tmpl(ctr("c1", "a")))
	unscheduled.Status = corev1.PodStatus{Phase: corev1.PodPending}
	noGate := podOf(tmpl(ctr("c1", "a")))
	noGate.Spec.ReadinessGates, noGate.Status.Conditions = nil, nil
	withReason := podOf(tmpl(ctr("c1", "a")))
	withReason.Status.Conditions[0].Reason = "Whatever"
	kruise := func(statusImage, statusID string) *corev1.Pod {
		pod := podOf(tmpl(ctr("c1", "foo:2")))
		pod.Status.Conditions[0].Status = corev1.ConditionFalse
		containerStatus(pod, "c1").Image, containerStatus(pod, "c1").ImageID = statusImage, statusID
		return withState(t, pod, keys.InPlaceUpdateStateAnnotation, State{
			Revision: "web-old", LastContainerStatuses: map[string]LastStatus{"c1": {ImageID: "img01"}}, UpdateImages: true,
		})
	}
	unreadable := podOf(tmpl(ctr("c1", "a")))
	setMap(&unreadable.Annotations, keys.InPlaceUpdateStateAnnotation, "{")
	for _, tc := range []struct {
		name  string
		pod   *corev1.Pod
		want  StepKind
		fails bool
	}{
		{"inplace/21", unscheduled, StepReady, false},
		{"PF-IP-9", unscheduled, StepReady, false},
		{"inplace/22", noGate, StepNone, false},
		{"inplace/23", kruise("foo:1", "img01"), StepPending, false},
		{"inplace/24", kruise("foo:1", "img02"), StepReady, false},
		{"inplace/60", kruise("foo:2", "img01"), StepReady, false},
		{"7.3 True with a reason is left alone", withReason, StepNone, false},
		{"7.2a", unreadable, StepNone, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s, err := Refresh(tc.pod, nil, Options{Gates: features.Defaults()}, start)
			if s.Kind != tc.want || (err != nil) != tc.fails {
				t.Fatalf("%+v, %v", s, err)
			}
			if tc.want != StepReady {
				if s.Change != nil || s.Resize != nil {
					t.Errorf("writes %+v %+v", s.Change, s.Resize)
				}
				return
			}
			want := []corev1.PodCondition{{Type: keys.InPlaceUpdateReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(start)}}
			if diff := cmp.Diff(want, s.Change.Conditions); diff != "" {
				t.Errorf("conditions (-want +got)\n%s", diff)
			}
			after := do(t, tc.pod, s.Change)
			if s, err := Refresh(after, nil, Options{Gates: features.Defaults()}, start); err != nil || s.Kind != StepNone {
				t.Errorf("the next pass wants %+v, %v", s, err)
			}
		})
	}
}

func TestNotReadyAgain(t *testing.T) {
	t.Parallel()
	pod := podOf(tmpl(ctr("c1", "a")))
	pod.Status.Conditions[0].Status = corev1.ConditionFalse
	writes, err := Start(pod, imageSpec("c1", "b"), plan.MetaChange{}, onServer, start)
	if err != nil || writes.NotReady == nil {
		t.Fatalf("3.3 the write is skipped because the copy shows False already (%v)", err)
	}
	if got := writes.NotReady.Conditions[0]; !got.LastTransitionTime.IsZero() {
		t.Errorf("3.3 a transition at %s without a change of status", got.LastTransitionTime)
	}
}

func TestRepair(t *testing.T) {
	t.Parallel()
	target := rev(t, "web-new", tmpl(ctr("c1", "a:2"), ctr("c2", "b")))
	pod := podOf(tmpl(ctr("c1", "a:1"), ctr("c2", "docker.io/library/b:latest"), ctr("injected", "x")))
	setMap(&pod.Annotations, keys.InPlaceUpdateStateAnnotation, "{")
	spec, err := Repair(pod, target, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(imageSpec("c1", "a:2"), spec); diff != "" {
		t.Fatalf("(-want +got)\n%s", diff)
	}
	after := begin(t, pod, spec, onServer, start)
	if _, _, err := ParseState(after); err != nil || specImage(after, "c1") != "a:2" {
		t.Errorf("the state stays broken: %v", err)
	}
	target.Data.Raw = nil
	if _, err := Repair(pod, target, Options{}); err == nil {
		t.Error("no error for a revision without a template")
	}
}
