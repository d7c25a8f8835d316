package sim

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
)

// Script plays a history written by hand, one verb per line, and returns a transcript: each line of the script after "> "
// and below it what happened. Lines that begin with # and empty lines are copied. A verb that fails says so in the
// transcript; the script goes on.
//
// Pods are named pod-1, pod-2 and so on in the order of their creation, both in the script and in the transcript.
type Script struct {
	Run *Run
	// Namespace is where names in the script are looked up.
	Namespace string
	// Verbs are those of the kind, beside the common ones.
	Verbs map[string]Verb
	// Pace is what the verb pace changes.
	Pace Pace

	out   strings.Builder
	names []string // real names of pods by order of creation
}

// Verb carries out one line of a script. What it says goes to the transcript.
type Verb func(s *Script, args []string) error

// Say adds a line to the transcript.
func (s *Script) Say(format string, args ...any) {
	for _, line := range strings.Split(s.alias(fmt.Sprintf(format, args...)), "\n") {
		s.out.WriteString("  " + line + "\n")
	}
}

// Play plays a script on a run that has not begun.
func (s *Script) Play(text string) string {
	s.Run.Trace = s.Say
	s.Run.Cluster.Observe(func(w Write) error {
		if w.Kind == plan.PodKind && w.Before == nil {
			s.names = append(s.names, w.After.GetName())
		}
		return nil
	})
	s.Run.Start()
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			s.out.WriteString(line + "\n")
			continue
		}
		s.out.WriteString("> " + line + "\n")
		if err := s.line(strings.Fields(line)); err != nil {
			s.Say("%v", err)
		}
		if err := s.Run.Broken(); err != nil {
			s.Say("broken: %v", err)
			break
		}
	}
	return s.out.String()
}

func (s *Script) line(words []string) error {
	verb, ok := s.Verbs[words[0]]
	if !ok {
		verb, ok = common[words[0]]
	}
	if !ok {
		return fmt.Errorf("there is no verb %q, want one of %s", words[0], strings.Join(append(sortedKeys(common), sortedKeys(s.Verbs)...), ", "))
	}
	return verb(s, words[1:])
}

// alias writes real names of pods as pod-1 and so on.
func (s *Script) alias(text string) string {
	for i := len(s.names) - 1; i >= 0; i-- {
		text = strings.ReplaceAll(text, s.names[i], fmt.Sprintf("pod-%d", i+1))
	}
	return text
}

// Real is the real name of pod-N.
func (s *Script) Real(alias string) (string, error) {
	var n int
	if _, err := fmt.Sscanf(alias, "pod-%d", &n); err != nil || n < 1 || n > len(s.names) {
		return "", fmt.Errorf("there is no pod %q", alias)
	}
	return s.names[n-1], nil
}

// common are the verbs of every kind.
var common = map[string]Verb{
	// tick DURATION lets time go by.
	"tick": func(s *Script, args []string) error {
		d, err := duration(args, 0)
		if err != nil {
			return err
		}
		return s.Run.Until(s.Run.Cluster.Elapsed()+d, 1000)
	},
	// settle lets time go by until nothing happens any more.
	"settle": func(s *Script, _ []string) error { return s.Run.Settle(1000) },
	// crash POD ends its containers, unready POD lets its probe fail, fail POD ends it for good, delete POD deletes it.
	"crash":   onPod((*Cluster).Crash),
	"unready": onPod((*Cluster).Unready),
	"fail":    onPod((*Cluster).Fail),
	"delete": onPod(func(c *Cluster, namespace, name string) error {
		return c.Delete("somebody", plan.PodKind, namespace, name)
	}),
	// label POD KEY=VALUE sets a label and KEY- removes it; annotate does the same with annotations.
	"label": onMeta(func(obj plan.Object, m map[string]string) { obj.SetLabels(m) }, func(obj plan.Object) map[string]string {
		return obj.GetLabels()
	}),
	"annotate": onMeta(func(obj plan.Object, m map[string]string) { obj.SetAnnotations(m) }, func(obj plan.Object) map[string]string {
		return obj.GetAnnotations()
	}),
	// image NAME works|pull-fails|crashes says what an image does.
	"image": func(s *Script, args []string) error {
		troubles := map[string]Trouble{"works": "", "pull-fails": PullFails, "crashes": Crashes}
		if len(args) != 2 {
			return errors.New("want: image NAME works|pull-fails|crashes")
		}
		trouble, ok := troubles[args[1]]
		if !ok {
			return errors.New("want: image NAME works|pull-fails|crashes")
		}
		s.Run.Cluster.SetImage(args[0], trouble)
		return nil
	},
	// node NAME gone|back lets a node vanish or come back.
	"node": func(s *Script, args []string) error {
		if len(args) != 2 || args[1] != "gone" && args[1] != "back" {
			return errors.New("want: node NAME gone|back")
		}
		s.Run.Cluster.SetNodeGone(args[0], args[1] == "gone")
		return nil
	},
	// pace STEP=DURATION… says how long steps take from now on.
	"pace": (*Script).pace,
	// fault NAME [DURATION] [KIND] [+N] lets the next write, or the N-th after it, go wrong.
	"fault": (*Script).fault,
	// show lists pods.
	"show": func(s *Script, _ []string) error { s.show(); return nil },
}

func duration(args []string, i int) (time.Duration, error) {
	if i >= len(args) {
		return 0, errors.New("want a duration")
	}
	return time.ParseDuration(args[i])
}

func onPod(do func(c *Cluster, namespace, name string) error) Verb {
	return func(s *Script, args []string) error {
		if len(args) != 1 {
			return errors.New("want one pod")
		}
		name, err := s.Real(args[0])
		if err != nil {
			return err
		}
		return do(s.Run.Cluster, s.Namespace, name)
	}
}

func onMeta(set func(plan.Object, map[string]string), get func(plan.Object) map[string]string) Verb {
	return func(s *Script, args []string) error {
		if len(args) != 2 {
			return errors.New("want a pod and KEY=VALUE or KEY-")
		}
		name, err := s.Real(args[0])
		if err != nil {
			return err
		}
		key, value, add := strings.Cut(args[1], "=")
		return s.Run.Cluster.Change("somebody", plan.PodKind, s.Namespace, name, func(obj plan.Object) {
			m := map[string]string{}
			for k, v := range get(obj) {
				m[k] = v
			}
			if add {
				m[key] = value
			} else {
				delete(m, strings.TrimSuffix(key, "-"))
			}
			set(obj, m)
		})
	}
}

func (s *Script) pace(args []string) error {
	steps := map[string]*Range{
		"schedule": &s.Pace.Schedule, "start": &s.Pace.Start, "ready": &s.Pace.Ready, "observe": &s.Pace.Observe,
		"restart": &s.Pace.Restart, "gate": &s.Pace.Gate, "terminate": &s.Pace.Terminate, "retry": &s.Pace.Retry,
		"node-lost": &s.Pace.NodeLost, "evict": &s.Pace.Evict,
	}
	for _, arg := range args {
		name, text, _ := strings.Cut(arg, "=")
		step, ok := steps[name]
		if !ok {
			return fmt.Errorf("there is no step %q, want one of %s", name, strings.Join(sortedKeys(steps), ", "))
		}
		d, err := time.ParseDuration(text)
		if err != nil {
			return err
		}
		*step = Fixed(d)
	}
	s.Run.Cluster.SetStages(PodStages(s.Pace))
	return nil
}

// kindsByWord are the kinds whose watch a script can lose.
var kindsByWord = map[string]schema.GroupKind{
	"pods": plan.PodKind, "revisions": plan.ControllerRevisionKind, "claims": plan.ClaimKind, "clonesets": plan.CloneSetKind,
}

// fault reads: fault NAME… with words in any order after the name.
func (s *Script) fault(args []string) error {
	text := strings.Join(args, " ")
	f := Fault{At: s.Run.writes, Kind: -1, For: 10 * time.Second, Watch: plan.PodKind}
	for k := range FaultKinds {
		if rest, ok := strings.CutPrefix(text, FaultKind(k).String()); ok {
			f.Kind, args = FaultKind(k), strings.Fields(rest)
		}
	}
	if f.Kind < 0 {
		return fmt.Errorf("there is no such fault, want one of %s", strings.Join(faultNames[:], ", "))
	}
	for _, word := range args {
		var n int
		if d, err := time.ParseDuration(word); err == nil && word[0] != '+' {
			f.For = d
		} else if kind, ok := kindsByWord[word]; ok {
			f.Watch = kind
		} else if _, err := fmt.Sscanf(word, "+%d", &n); err == nil {
			f.At += n
		} else {
			return fmt.Errorf("%q is no duration, no +N and none of %s", word, strings.Join(sortedKeys(kindsByWord), ", "))
		}
	}
	s.Run.Faults = append(s.Run.Faults, f)
	return nil
}

// show lists pods: name, phase, whether it is ready, images, labels of interest.
func (s *Script) show() {
	pods := slices.Clone(s.Run.Cluster.List(plan.PodKind))
	order := func(o plan.Object) int { return slices.Index(s.names, o.GetName()) }
	slices.SortFunc(pods, func(a, b plan.Object) int { return order(a) - order(b) })
	if len(pods) == 0 {
		s.Say("no pods")
	}
	for _, obj := range pods {
		pod := obj.(*corev1.Pod)
		state := string(pod.Status.Phase)
		if pod.DeletionTimestamp != nil {
			state = "Terminating"
		}
		ready := "not ready"
		if isTrue(pod, corev1.PodReady) {
			ready = "ready"
		}
		words := []string{pod.Name, state, ready}
		for i := range pod.Spec.Containers {
			words = append(words, pod.Spec.Containers[i].Name+"="+pod.Spec.Containers[i].Image)
		}
		if n := restarts(pod); n > 0 {
			words = append(words, fmt.Sprintf("restarts=%d", n))
		}
		for i := range pod.Status.ContainerStatuses {
			if why := waitsFor(&pod.Status.ContainerStatuses[i]); why != "" {
				words = append(words, why)
			}
		}
		if state := pod.Labels[keys.LifecycleStateLabel]; state != "" {
			words = append(words, state)
		}
		s.Say("%s", strings.Join(words, " "))
	}
}
