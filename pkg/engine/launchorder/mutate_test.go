package launchorder

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
)

// envOf shows the variables of all containers: "c1: test p_0", a barrier as its key and, if it is not pod web's, its name.
func envOf(p *corev1.Pod) []string {
	var list []string
	for _, c := range p.Spec.Containers {
		line := c.Name + ":"
		for _, e := range c.Env {
			if ref := barrierRef(&e); ref != nil {
				line += " " + strings.TrimPrefix(ref.Name+"/", "web-barrier/") + ref.Key
				continue
			}
			line += " " + e.Name
			if e.Name == keys.PriorityEnv {
				line += "=" + e.Value
			}
		}
		list = append(list, line)
	}
	return list
}

func TestMutate(t *testing.T) {
	t.Parallel()
	test := variable("test", "foo")
	p := keys.PriorityEnv
	notInitial := func(q *corev1.Pod) {
		q.Spec.InitContainers = []corev1.Container{{Name: "i", Env: []corev1.EnvVar{priority("3")}}}
	}
	generated := func(q *corev1.Pod) { q.Name, q.GenerateName = "", "web-" }
	long := func(q *corev1.Pod) { q.Name, q.GenerateName = "", strings.Repeat("a", 70) }
	for _, tt := range []struct {
		name     string
		pod      *corev1.Pod
		changed  bool
		podName  string
		env      []string
		warnings []string
		err      string
	}{
		{"launchorder/1 the barrier is appended", pod(ctr("c1", test), ctr("c2", priority("10"), test)), true, "web",
			[]string{"c1: test p_0", "c2: " + p + "=10 test p_10"}, nil, ""},
		{"launchorder/2 a generated name is known before the barrier is", pod(generated, ctr("c1"), ctr("c2", priority("10"))), true, "web-x2b5n",
			[]string{"c1: web-x2b5n-barrier/p_0", "c2: " + p + "=10 web-x2b5n-barrier/p_10"}, nil, ""},
		{"1.2.5 Kubernetes cuts a long prefix", pod(long, ordered, ctr("a"), ctr("b")), true, strings.Repeat("a", 58) + "x2b5n",
			[]string{"a: " + strings.Repeat("a", 58) + "x2b5n-barrier/p_0", "b: " + strings.Repeat("a", 58) + "x2b5n-barrier/p_-1"}, nil, ""},
		{"launchorder/3 without priorities", pod(ctr("c1", test), ctr("c2")), false, "web", []string{"c1: test", "c2:"}, nil, ""},
		{"launchorder/4 the order of the list", pod(ordered, ctr("a", test), ctr("b"), ctr("c", test, test)), true, "web",
			[]string{"a: test p_0", "b: p_-1", "c: test test p_-2"}, nil, ""},
		{"launchorder/5 in lower case", pod(annotation(keys.LaunchPriorityAnnotation, "ordered"), ctr("a"), ctr("b")), false, "web",
			[]string{"a:", "b:"}, []string{`annotation apps.kruise.io/container-launch-priority "ordered" is ignored: want Ordered`}, ""},
		{"1.1 another value leaves the variables to decide", pod(annotation(keys.LaunchPriorityAnnotation, "no"), ctr("a"), ctr("b", priority("1"))), true, "web",
			[]string{"a: p_0", "b: " + p + "=1 p_1"}, []string{`annotation apps.kruise.io/container-launch-priority "no" is ignored: want Ordered`}, ""},
		{"launchorder/6 one container with a priority", pod(ctr("a", priority("5"))), false, "web", []string{"a: " + p + "=5"},
			[]string{"the launch priority is ignored: the pod has one container"}, ""},
		{"1.2.1 one container, not a number", pod(ctr("a", priority("abc"))), false, "web", []string{"a: " + p + "=abc"},
			[]string{"the launch priority is ignored: the pod has one container"}, ""},
		{"1.2.1 one container, Ordered", pod(ordered, ctr("a")), false, "web", []string{"a:"},
			[]string{"the launch priority is ignored: the pod has one container"}, ""},
		{"launchorder/7 equal priorities", pod(ctr("a", priority("5")), ctr("b", priority("5"))), false, "web", []string{"a: " + p + "=5", "b: " + p + "=5"},
			[]string{p + " is ignored: all containers have priority 5 and start together"}, ""},
		{"launchorder/8 PF-LP-2 not a number", pod(ctr("a"), ctr("b", priority("abc"))), false, "web", []string{"a:", "b: " + p + "=abc"}, nil,
			`container "b": KRUISE_CONTAINER_PRIORITY "abc": want an integer from -2147483647 to 2147483647`},
		{"1.2.3 out of range", pod(ctr("a"), ctr("b", priority("2147483648"))), false, "web", []string{"a:", "b: " + p + "=2147483648"}, nil,
			`container "b": KRUISE_CONTAINER_PRIORITY "2147483648": want an integer from -2147483647 to 2147483647`},
		{"1.2.3 below the range", pod(ctr("a"), ctr("b", priority("-2147483648"))), false, "web", []string{"a:", "b: " + p + "=-2147483648"}, nil,
			`container "b": KRUISE_CONTAINER_PRIORITY "-2147483648": want an integer from -2147483647 to 2147483647`},
		{"1.2.3 a value from elsewhere", pod(ctr("a"), ctr("b", corev1.EnvVar{Name: p, ValueFrom: &corev1.EnvVarSource{}})), false, "web",
			[]string{"a:", "b: " + p + "="}, nil, `container "b": KRUISE_CONTAINER_PRIORITY from elsewhere: want an integer from -2147483647 to 2147483647`},
		{"S-LP-2 the ends of the range", pod(ctr("a", priority("-2147483647")), ctr("b", priority("2147483647"))), true, "web",
			[]string{"a: " + p + "=-2147483647 p_-2147483647", "b: " + p + "=2147483647 p_2147483647"}, nil, ""},
		{"1.2.3 the last one counts", pod(ctr("a"), ctr("b", priority("x"), priority("-2"))), true, "web",
			[]string{"a: p_0", "b: " + p + "=x " + p + "=-2 p_-2"}, nil, ""},
		{"launchorder/9 PF-LP-2 both ways at once", pod(ordered, ctr("a", priority("1")), ctr("b", priority("2"))), true, "web",
			[]string{"a: " + p + "=1 p_0", "b: " + p + "=2 p_-1"},
			[]string{p + " of a, b is ignored: annotation apps.kruise.io/container-launch-priority starts the containers in the order of the list"}, ""},
		{"launchorder/10 a sidecar that was injected in front", pod(ordered, ctr("sidecar"), ctr("app")), true, "web", []string{"sidecar: p_0", "app: p_-1"}, nil, ""},
		{"1.6 a barrier of another pod is replaced in its place", pod(ordered, ctr("a", barrierOn("old-barrier", "p_7"), test), ctr("b", barrierOn("x", "p_1"), barrierOn("y", "p_1"))),
			true, "web", []string{"a: p_0 test", "b: p_-1"}, nil, ""},
		{"1.2 init containers never count", pod(notInitial, ctr("a"), ctr("b")), false, "web", []string{"a:", "b:"},
			[]string{p + " of init container i is ignored: init containers start before all others"}, ""},
		{"1.2 a name that leaves no room for the barrier's", pod(func(q *corev1.Pod) { q.Name = strings.Repeat("n", 246) }, ordered, ctr("a"), ctr("b")), false,
			strings.Repeat("n", 246), []string{"a:", "b:"}, nil, "metadata.name: want at most 245 characters for a pod with a launch order, it has 246"},
		{"1.2.5 without any name", pod(func(q *corev1.Pod) { q.Name = "" }, ordered, ctr("a"), ctr("b")), false, "", []string{"a:", "b:"}, nil, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			before, shallow := tt.pod.DeepCopy(), *tt.pod
			changed, warnings, err := Mutate(&shallow, Options{Suffix: "x2b5n"})
			message := ""
			if err != nil {
				message = err.Error()
			}
			if diff := cmp.Diff(tt.err, message); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tt.warnings, warnings); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tt.env, envOf(&shallow)); diff != "" {
				t.Error(diff)
			}
			if changed != tt.changed || shallow.Name != tt.podName || shallow.GenerateName != before.GenerateName {
				t.Errorf("changed %v, name %q, generateName %q", changed, shallow.Name, shallow.GenerateName)
			}
			if diff := cmp.Diff(before, tt.pod); diff != "" {
				t.Errorf("the original was changed: %s", diff)
			}
			again := shallow
			if _, _, err := Mutate(&again, Options{Suffix: "other"}); err == nil {
				if diff := cmp.Diff(&shallow, &again); diff != "" {
					t.Errorf("not the same at the second time: %s", diff)
				}
			}
		})
	}
}

func TestTheBarrierIsRequired(t *testing.T) {
	t.Parallel()
	p := pod(ordered, ctr("a"), ctr("b"))
	if _, _, err := Mutate(p, Options{}); err != nil {
		t.Fatal(err)
	}
	if ref := barrierRef(&p.Spec.Containers[1].Env[0]); ref == nil || ref.Optional != nil {
		t.Errorf("T3: %v", ref)
	}
}

func TestACopiedPodIsNotTakenForACompletedOne(t *testing.T) {
	t.Parallel()
	p := pod(ordered, completes, annotation(keys.LaunchLevelAnnotation, "0"), ctr("a"), ctr("b"))
	original := p.Annotations
	if _, _, err := Mutate(p, Options{}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{keys.LaunchPriorityAnnotation: "Ordered"}, p.Annotations); diff != "" {
		t.Error(diff)
	}
	if len(original) != 3 {
		t.Error("the annotations of the original were changed")
	}
}

func TestASidecarAddedLaterIsTakenIn(t *testing.T) {
	t.Parallel()
	p := pod(ordered, ctr("app"), ctr("log"))
	if _, _, err := Mutate(p, Options{}); err != nil {
		t.Fatal(err)
	}
	p.Spec.Containers = append([]corev1.Container{{Name: "mesh"}}, p.Spec.Containers...)
	if _, _, err := Mutate(p, Options{}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"mesh: p_0", "app: p_-1", "log: p_-2"}, envOf(p)); diff != "" {
		t.Error(diff)
	}
}
