package e2e

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1alpha1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
)

func gvr(t *testing.T, groupVersion, resource string) schema.GroupVersionResource {
	t.Helper()
	gv, err := schema.ParseGroupVersion(groupVersion)
	if err != nil {
		t.Fatal(err)
	}
	return gv.WithResource(resource)
}

func withoutOrder(key string) string {
	words := strings.Split(key, " label ")
	slices.Sort(words[1:])
	return strings.Join(words, " ")
}

// template is that of every set here.
const template = `
  template:
    metadata: {labels: {app: %[1]s}}
    spec:
      terminationGracePeriodSeconds: 1
      topologySpreadConstraints:
      - {maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {app: %[1]s}}}
      containers:
      - {name: app, image: "lab/app:1", imagePullPolicy: IfNotPresent}
`

// S-SYS-1, S-SYS-2: the life of an installation on a cluster with two nodes, from one that has the kinds alone to one
// that has nothing left of it.
func TestInstallation(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.refusesOverAnother()
	before := s.everything()
	s.kubectl("create", "namespace", shop)
	s.kubectl("kruise", "install", "--crds-only")
	s.apply(alphaSet("web", 3), 0)
	s.kubectl("kruise", "rollout", "cloneset/web", "-n", shop)
	began := s.identities("web")

	s.installs(began)
	s.servesBoth()
	s.survivesItsLeader()
	s.startsInOrder()
	s.survivesADrain()
	s.survivesAnOutage()
	s.goesBack()
	s.installsElsewhere()
	s.leavesNothing(before)
	s.askedForWhatItMay()
}

func alphaSet(name string, replicas int) string {
	return fmt.Sprintf("apiVersion: apps.kruise.io/v1alpha1\nkind: CloneSet\nmetadata: {name: %[1]s}\nspec:\n  replicas: %[2]d\n"+
		"  selector: {matchLabels: {app: %[1]s}}\n  scaleStrategy: {maxUnavailable: 3}\n"+
		"  updateStrategy: {type: InPlaceIfPossible, maxUnavailable: 1, partition: 0, priorityStrategy: {weightPriority: [{weight: 5, matchSelector: {matchLabels: {a: b}}}]}}", name, replicas) +
		fmt.Sprintf(template, name)
}

func betaSet(name string, replicas int) string {
	return fmt.Sprintf("apiVersion: apps.kruise.io/v1beta1\nkind: CloneSet\nmetadata: {name: %[1]s}\nspec:\n  replicas: %[2]d\n"+
		"  selector: {matchLabels: {app: %[1]s}}\n  scaleStrategy: {enablePVCReuse: true, excludePreparingDelete: true}\n"+
		"  updateStrategy: {type: RollingUpdate, rollingUpdate: {podUpdatePolicy: InPlaceIfPossible, maxUnavailable: 1, partition: 1}}", name, replicas) +
		fmt.Sprintf(template, name)
}

// identities are what must not change: UIDs of the pods and how often their containers have been restarted.
func (s *site) identities(app string) map[string]string {
	s.Helper()
	all := map[string]string{}
	for _, p := range s.pods(app) {
		all[p.Name] = fmt.Sprintf("%s %v", p.UID, restarts(&p))
	}
	return all
}

// same fails unless the pods of a set are those of an earlier look.
func (s *site) same(app, when string, before map[string]string) {
	s.Helper()
	if diff := cmp.Diff(before, s.identities(app)); diff != "" {
		s.Fatalf("pods of %s %s: -before +after\n%s", app, when, diff)
	}
}

// owners are the API versions that the pods' owner references name.
func (s *site) owners(app string) []string {
	s.Helper()
	var versions []string
	for _, p := range s.pods(app) {
		for _, owner := range p.OwnerReferences {
			versions = append(versions, owner.APIVersion)
		}
	}
	slices.Sort(versions)
	return slices.Compact(versions)
}

func (s *site) stored() string {
	s.Helper()
	return s.kubectl("get", "crd", "clonesets.apps.kruise.io", "-o", "jsonpath={.status.storedVersions} {.spec.conversion.strategy}")
}

// installs takes a cluster from the kinds alone to the pair, without touching a pod: first without waiting, which leaves
// the kinds as they are, then the rest. Doing it again changes nothing.
func (s *site) installs(pods map[string]string) {
	s.Helper()
	s.kubectl("kruise", "install", "--image", agentImage, "--wait=false")
	if diff := cmp.Diff(`["v1alpha1"] None`, s.stored()); diff != "" {
		s.Errorf("stored versions before the managers answer: -want +got\n%s", diff)
	}
	for range 2 {
		s.kubectl("kruise", "install", "--image", agentImage)
		if diff := cmp.Diff(`["v1beta1"] Webhook`, s.stored()); diff != "" {
			s.Errorf("stored versions: -want +got\n%s", diff)
		}
		if diff := cmp.Diff([]string{"apps.kruise.io/v1beta1"}, s.owners("web")); diff != "" {
			s.Errorf("owner references: -want +got\n%s", diff)
		}
	}
	s.same("web", "after the installation", pods)
	s.checks("-n", shop) // at once: install has waited for a leader
}

// checks wants a check without a failure.
func (s *site) checks(args ...string) {
	s.Helper()
	if out, code := s.try("", append([]string{"kruise", "check"}, args...)...); code != 0 {
		s.Fatalf("check: exit code %d\n%s", code, out)
	}
}

// servesBoth reads sets of both versions in both, without loss.
func (s *site) servesBoth() {
	s.Helper()
	s.apply(betaSet("new", 2), 0)
	s.settled("new", "lab/app:1", 2)
	for _, name := range []string{"web", "new"} {
		s.until("both versions of "+name+" say the same", func() (bool, string) {
			a, b := &v1alpha1.CloneSet{}, &v1beta1.CloneSet{}
			s.read("v1alpha1", name, a)
			s.read("v1beta1", name, b)
			if a.ResourceVersion != b.ResourceVersion {
				return false, "it changes"
			}
			hub := v1alpha1.CloneSetToHub(a)
			for _, labels := range []map[string]string{b.Labels, hub.Labels} {
				delete(labels, "apps.kruise.io/cloneset-scaling-exclude-preparing-delete") // says the same as the field
			}
			diff := cmp.Diff(b.Spec, hub.Spec) + cmp.Diff(b.Labels, hub.Labels, cmpopts.EquateEmpty()) + cmp.Diff(b.Annotations, hub.Annotations)
			return diff == "", diff
		})
		s.writesBack(name)
	}
}

// writesBack writes a set back as it was read, in each version. The first time admission adds the defaults of that version
// that are missing; from then on nothing changes.
func (s *site) writesBack(name string) {
	s.Helper()
	for round := range 2 {
		for _, version := range []string{"v1alpha1", "v1beta1"} {
			before, after := &v1beta1.CloneSet{}, &v1beta1.CloneSet{}
			s.read("v1beta1", name, before)
			s.until(name+" is written back in "+version, func() (bool, string) {
				text := s.kubectl("get", "clonesets."+version+".apps.kruise.io", name, "-n", shop, "-o", "json")
				out, code := s.try(text, "replace", "-n", shop, "-f", "-")
				return code == 0, out
			})
			s.read("v1beta1", name, after)
			if diff := cmp.Diff(before.Spec, after.Spec); diff != "" && round > 0 {
				s.Errorf("%s written back in %s: -before +after\n%s", name, version, diff)
			}
		}
	}
}

func (s *site) read(version, name string, into any) {
	s.Helper()
	u, err := s.dynamic.Resource(gvr(s.T, "apps.kruise.io/"+version, "clonesets")).Namespace(shop).Get(s.Context(), name, metav1.GetOptions{})
	if err != nil {
		s.Fatal(err)
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, into); err != nil {
		s.Fatal(err)
	}
}

func (s *site) leader() string {
	s.Helper()
	lease, err := s.client.CoordinationV1().Leases("kruise-system").Get(s.Context(), "kruise-manager", metav1.GetOptions{})
	if err != nil || lease.Spec.HolderIdentity == nil {
		return ""
	}
	_, pod, _ := strings.Cut(*lease.Spec.HolderIdentity, "@")
	pod, _, _ = strings.Cut(pod, "/")
	return pod
}

// survivesItsLeader kills the leader in the middle of a rollout. The other manager goes on, and at no moment are more pods
// unavailable than allowed.
func (s *site) survivesItsLeader() {
	s.Helper()
	limit := s.watchUnavailable("web", 3)
	s.kubectl("patch", "cloneset", "web", "-n", shop, "--type=json", "-p", `[{"op":"replace","path":"/spec/template/spec/containers/0/image","value":"lab/app:2"}]`)
	s.until("the first pod is updated", func() (bool, string) {
		for _, p := range s.pods("web") {
			if p.Spec.Containers[0].Image == "lab/app:2" {
				return true, ""
			}
		}
		return false, "none"
	})
	first := s.leader()
	s.kubectl("delete", "pod", first, "-n", "kruise-system", "--grace-period=0", "--force")
	s.settled("web", "lab/app:2", 3)
	s.until("another manager leads", func() (bool, string) { now := s.leader(); return now != "" && now != first, now })
	if worst := limit(); worst > 1 {
		s.Errorf("%d pods of web were unavailable at once, want at most 1", worst)
	}
}

// watchUnavailable watches the pods of a set until the returned function is called, which says how many were unavailable
// at worst.
func (s *site) watchUnavailable(app string, n int) func() int {
	s.Helper()
	w, err := s.client.CoreV1().Pods(shop).Watch(s.Context(), metav1.ListOptions{LabelSelector: "app=" + app})
	if err != nil {
		s.Fatal(err)
	}
	worst, ready := 0, map[string]bool{}
	var done sync.WaitGroup
	done.Go(func() {
		full := false
		for e := range w.ResultChan() {
			pod, ok := e.Object.(*corev1.Pod)
			if !ok {
				continue
			}
			ready[pod.Name] = e.Type != "DELETED" && isReady(pod)
			good := 0
			for _, r := range ready {
				if r {
					good++
				}
			}
			if full = full || good == n; full {
				worst = max(worst, n-good)
			}
		}
	})
	return func() int {
		w.Stop()
		done.Wait()
		return worst
	}
}

// survivesADrain empties a node: pods of the sets come up on the other one, and admission is answered all the time.
func (s *site) survivesADrain() {
	s.Helper()
	node := s.pods("web")[0].Spec.NodeName
	s.kubectl("drain", node, "--ignore-daemonsets", "--delete-emptydir-data", "--force", "--timeout=90s")
	s.settled("web", "lab/app:2", 3)
	s.settled("new", "lab/app:1", 2)
	for _, p := range slices.Concat(s.pods("web"), s.pods("new")) {
		if p.Spec.NodeName == node {
			s.Errorf("%s is on the node that was drained", p.Name)
		}
	}
	s.kubectl("uncordon", node)
	s.kubectl("rollout", "status", "deployment/kruise-controller-manager", "-n", "kruise-system", "--timeout=90s")
}

const loosePod = "apiVersion: v1\nkind: Pod\nmetadata: {name: %s}\nspec:\n  terminationGracePeriodSeconds: 1\n  containers: [{name: app, image: \"lab/app:1\", imagePullPolicy: IfNotPresent}]\n"

// survivesAnOutage takes every replica away: what is refused then is what docs/install.md lists, and nothing else.
func (s *site) survivesAnOutage() {
	s.Helper()
	s.kubectl("scale", "deployment/kruise-controller-manager", "-n", "kruise-system", "--replicas=0")
	s.until("no manager is left", func() (bool, string) {
		list, err := s.client.CoreV1().Pods("kruise-system").List(s.Context(), metav1.ListOptions{LabelSelector: "control-plane=controller-manager"})
		return err == nil && len(list.Items) == 0, fmt.Sprint(err)
	})
	s.apply(fmt.Sprintf(loosePod, "loose"), 0)
	s.kubectl("label", "pod", "loose", "-n", shop, "a=b")
	s.kubectl("delete", "pod", "loose", "-n", shop)
	for what, args := range map[string][]string{
		"a new CloneSet":       {"create", "-n", shop, "-f", "-"},
		"a changed CloneSet":   {"patch", "clonesets.v1beta1.apps.kruise.io", "web", "-n", shop, "--type=merge", "-p", `{"spec":{"replicas":4}}`},
		"a check, in its code": {"kruise", "check"},
	} {
		if out, code := s.try(betaSet("late", 1), args...); code == 0 {
			s.Errorf("%s succeeds without a manager:\n%s", what, out)
		}
	}
	s.kubectl("get", "clonesets.v1beta1.apps.kruise.io", "-n", shop)
	s.kubectl("delete", "clonesets.v1beta1.apps.kruise.io", "new", "-n", shop)
	s.kubectl("kruise", "install", "--image", agentImage, "--force-conflicts")
	s.checks("--wait")
}

// goesBack uninstalls and keeps the kinds: every CloneSet is there as v1alpha1, no pod was touched, and the plugin drives
// from here. Meanwhile pods can be created at every moment (workloadspread.md H10).
func (s *site) goesBack() {
	s.Helper()
	pods := s.identities("web")
	if out, code := s.try("", "kruise", "uninstall"); code != 1 || !strings.Contains(out, "1 clonesets.apps.kruise.io") {
		s.Errorf("uninstall over objects: exit code %d\n%s", code, out)
	}
	refused := s.creating()
	s.kubectl("kruise", "uninstall", "--keep-crds")
	for _, err := range refused() {
		s.Errorf("a pod was refused while uninstalling: %v", err)
	}
	if diff := cmp.Diff(`["v1alpha1"] None`, s.stored()); diff != "" {
		s.Errorf("stored versions: -want +got\n%s", diff)
	}
	if diff := cmp.Diff([]string{"apps.kruise.io/v1alpha1"}, s.owners("web")); diff != "" {
		s.Errorf("owner references: -want +got\n%s", diff)
	}
	s.same("web", "after uninstall --keep-crds", pods)
	set := &v1alpha1.CloneSet{}
	s.read("v1alpha1", "web", set)
	if set.Spec.UpdateStrategy.MaxUnavailable == nil || set.Spec.UpdateStrategy.MaxUnavailable.IntValue() != 1 {
		s.Errorf("maxUnavailable of web is lost: %+v", set.Spec.UpdateStrategy)
	}
	s.kubectl("kruise", "rollout", "cloneset/web", "-n", shop, "--image", "app=lab/app:3", "--timeout", "90s")
}

// creating creates a pod again and again, in a dry run, until the returned function is called.
func (s *site) creating() func() []error {
	s.Helper()
	stop, errs := make(chan struct{}), []error{}
	var done sync.WaitGroup
	done.Go(func() {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "always"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "lab/app:1"}}}}
		for {
			if _, err := s.client.CoreV1().Pods(shop).Create(s.Context(), pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
				errs = append(errs, err)
			}
			select {
			case <-stop:
				return
			case <-time.After(100 * time.Millisecond):
			}
		}
	})
	return func() []error {
		close(stop)
		done.Wait()
		return errs
	}
}

// leavesNothing removes all of it.
func (s *site) leavesNothing(before map[string]bool) {
	s.Helper()
	s.kubectl("kruise", "uninstall", "--delete-objects")
	if left := s.pods("web"); len(left) > 0 {
		s.Errorf("%d pods of web are left", len(left))
	}
	s.kubectl("delete", "namespace", shop)
	s.until("nothing is left", func() (bool, string) {
		diff := cmp.Diff(slices.Sorted(maps.Keys(before)), slices.Sorted(maps.Keys(s.everything())))
		return diff == "", diff
	})
}
