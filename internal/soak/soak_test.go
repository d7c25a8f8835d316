package soak

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-kruise/kubectl-kruise/internal/apiserver"
	"github.com/kubectl-kruise/kubectl-kruise/internal/faulty"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
)

// The environment says how long users go on (a duration); without it the test is skipped. The other two are for trials.
const (
	durationVariable = "KRUISE_SOAK"
	setsVariable     = "KRUISE_SOAK_SETS"
	podsVariable     = "KRUISE_SOAK_PODS"
)

func number(t *testing.T, variable string, otherwise int) int {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s is %q, want a number", variable, text)
	}
	return n
}

// Twenty CloneSets of a hundred pods reach their goals, whatever users, faults and kills do meanwhile, and no limit is
// broken at any moment that the API server's watch shows.
func TestSoak(t *testing.T) {
	if os.Getenv(durationVariable) == "" {
		t.Skipf("%s is not set; make test-integration and make soak do", durationVariable)
	}
	duration, err := time.ParseDuration(os.Getenv(durationVariable))
	if err != nil {
		t.Fatalf("%s: %v", durationVariable, err)
	}
	server := apiserver.New(t)
	seed := uint64(time.Now().UnixNano())
	d := newDice(seed)
	w := &world{t: t, program: program(t), server: server, recorder: newRecorder(t, server), dice: d, pods: number(t, podsVariable, 100), done: map[string]int{}}
	for i := range number(t, setsVariable, 20) {
		w.create(i)
	}
	kubeconfig, transport := wire(t, server, d)
	begin := time.Now()
	all := startDrivers(t, kubeconfig, d)
	w.reach("created")
	created := time.Since(begin)

	all.killing.Store(true)
	w.play(duration)
	all.killing.Store(false)
	calm := time.Now()
	w.calm()
	w.reach("as asked")

	w.recorder.mu.Lock()
	defer w.recorder.mu.Unlock()
	if w.recorder.failed != nil {
		t.Fatal(w.recorder.failed)
	}
	broken, updates := judgeAll(w.recorder.records, w.recorder.byUser)
	for _, line := range broken[:min(len(broken), 20)] {
		t.Error(line)
	}
	moved := 0
	for _, n := range updates {
		moved += n
	}
	t.Logf("seed %d: %d sets of %d pods, created in %s, %s of changes %v, at their goals %s later; %d kills, faults %v; %d events judged, %d updates in place, %d limits broken",
		seed, len(w.sets), w.pods, created.Round(time.Second), duration, w.done, time.Since(calm).Round(time.Second), all.kills.Load(), transport.Counts(),
		len(w.recorder.records), moved, len(broken))
	if all.kills.Load() == 0 || moved == 0 || len(transport.Counts()) < len(faulty.Faults(faulty.Write)) {
		t.Error("too little happened to prove anything")
	}
}

// world is the sets and their users.
type world struct {
	t        *testing.T
	server   *apiserver.Server
	recorder *recorder
	dice     *dice
	program  string
	pods     int
	sets     []string
	done     map[string]int // how often, by deed
}

// How pods are updated, set by set.
const inPlaceOnly = "InPlaceOnly" // makes no pods but those that are missing, and so takes no maxSurge

var policies = []string{"InPlaceIfPossible", "InPlaceIfPossible", inPlaceOnly, "ReCreate"}

func (w *world) create(number int) {
	w.t.Helper()
	policy := policies[number%len(policies)]
	name := strings.ToLower(fmt.Sprintf("web-%02d-%s", number, policy))
	labels := map[string]any{"app": name}
	strategy := map[string]any{"type": policy, "maxUnavailable": "20%"}
	set := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps.kruise.io/v1alpha1", "kind": "CloneSet", "metadata": map[string]any{"name": name},
		"spec": map[string]any{
			"replicas": int64(w.pods), "selector": map[string]any{"matchLabels": labels}, "updateStrategy": strategy,
			"template": map[string]any{"metadata": map[string]any{"labels": labels}, "spec": map[string]any{
				"terminationGracePeriodSeconds": int64(0),
				"nodeSelector":                  map[string]any{"type": "kwok"}, "tolerations": []any{map[string]any{"operator": "Exists"}},
				"containers": []any{map[string]any{"name": "app", "image": "app:0"}},
			}},
		},
	}}
	if _, err := w.server.Dynamic.Resource(apiserver.CloneSets).Namespace(w.server.Namespace).Create(w.t.Context(), set, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
	w.sets = append(w.sets, name)
}

// play lets users change things until the time is over.
func (w *world) play(duration time.Duration) {
	end := time.After(duration)
	images := 0
	for {
		select {
		case <-end:
			return
		case <-time.After(w.dice.between(100*time.Millisecond, 600*time.Millisecond)):
		}
		set := w.sets[w.dice.n(len(w.sets))]
		percent := func(low, high int) string { return strconv.Itoa(low+w.dice.n(high-low)) + "%" }
		switch w.dice.n(9) {
		case 0, 1, 2:
			images++
			w.image(set, fmt.Sprintf("app:%d", images))
		case 3:
			w.spec(set, "replicas", `{"replicas":%d}`, w.pods*9/10+w.dice.n(w.pods/5+1))
		case 4:
			w.spec(set, "partition", `{"updateStrategy":{"partition":%q}}`, percent(0, 60))
		case 5:
			surge := percent(0, 10)
			if strings.HasSuffix(set, strings.ToLower(inPlaceOnly)) {
				surge = "0%"
			}
			w.spec(set, "limits", `{"updateStrategy":{"maxUnavailable":%q,"maxSurge":%q}}`, percent(5, 40), surge)
		case 6:
			w.spec(set, "paused", `{"updateStrategy":{"paused":%t}}`, w.dice.n(2) == 0)
		case 7:
			w.specify(set)
		case 8:
			w.delete(set)
		}
	}
}

// calm asks every set for all its pods at the newest revision.
func (w *world) calm() {
	for _, set := range w.sets {
		w.spec(set, "calm", `{"updateStrategy":{"partition":0,"paused":false,"maxUnavailable":%q}}`, "30%")
	}
}

// spec changes a set as the merge patch of its spec says.
func (w *world) spec(set, deed, format string, args ...any) {
	w.t.Helper()
	w.patch(set, deed, types.MergePatchType, `{"spec":`+fmt.Sprintf(format, args...)+`}`)
}

// image makes a new revision of a set. A merge patch would replace the whole container.
func (w *world) image(set, image string) {
	w.t.Helper()
	w.patch(set, "image", types.JSONPatchType, fmt.Sprintf(`[{"op":"replace","path":"/spec/template/spec/containers/0/image","value":%q}]`, image))
}

func (w *world) patch(set, deed string, kind types.PatchType, patch string) {
	w.t.Helper()
	w.done[deed]++
	sets := w.server.Dynamic.Resource(apiserver.CloneSets).Namespace(w.server.Namespace)
	if _, err := sets.Patch(w.t.Context(), set, kind, []byte(patch), metav1.PatchOptions{}); err != nil {
		w.t.Fatalf("%s of %s: %v", deed, set, err)
	}
}

// specify marks a pod to be deleted by the driver.
func (w *world) specify(set string) {
	name, _ := w.recorder.some(set)
	if name == "" {
		return
	}
	patch := []byte(`{"metadata":{"labels":{"` + keys.SpecifiedDeleteLabel + `":"true"}}}`)
	if _, err := w.server.Kube.CoreV1().Pods(w.server.Namespace).Patch(w.t.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{}); err == nil {
		w.done["specified"]++
	}
}

// delete deletes a pod as a user does, past the driver.
func (w *world) delete(set string) {
	name, uid := w.recorder.some(set)
	if name == "" {
		return
	}
	w.recorder.userDeletes(uid)
	err := w.server.Kube.CoreV1().Pods(w.server.Namespace).Delete(w.t.Context(), name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(uid))})
	if err == nil {
		w.done["deleted"]++
	}
}

// settling is how long the sets may take to reach their goals once nothing changes any more.
const settling = 10 * time.Minute

// reach waits until every set is at its goal.
func (w *world) reach(goal string) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), settling)
	defer cancel()
	for _, set := range w.sets {
		object, err := w.server.Dynamic.Resource(apiserver.CloneSets).Namespace(w.server.Namespace).Get(ctx, set, metav1.GetOptions{})
		if err != nil {
			w.t.Fatal(err)
		}
		want, err := wanted(object)
		if err != nil {
			w.t.Fatal(err)
		}
		for short := "?"; short != ""; {
			select {
			case <-ctx.Done():
				w.t.Fatalf("not %s: %s\n%s", goal, short, w.why(set))
			case <-time.After(100 * time.Millisecond):
			}
			short = w.recorder.short(set, want)
		}
	}
}

// why asks the plugin why a set is not at its goal.
func (w *world) why(set string) string {
	out, err := exec.Command(w.program, "rollout", "why", "cloneset/"+set, "-n", w.server.Namespace, "--kubeconfig", os.Getenv(apiserver.Variable)).CombinedOutput()
	if err != nil {
		return fmt.Sprintf("%s\n%v", out, err)
	}
	return string(out)
}
