package e2e

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
)

// elsewhere is an install namespace of somebody's choice.
const elsewhere = "elsewhere"

// foreign is what a running OpenKruise leaves to be seen: the Lease that its manager holds, or its Deployment.
var foreign = map[string]string{
	"lease": "apiVersion: coordination.k8s.io/v1\nkind: Lease\nmetadata: {name: kruise-manager, namespace: kruise-system}\nspec:\n" +
		"  holderIdentity: kruise-controller-manager-6b9f7c9d8-x2x4v_1c5f\n  leaseDurationSeconds: 15\n  renewTime: \"2999-01-01T00:00:00.000000Z\"\n",
	"deployment": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: kruise-controller-manager, namespace: kruise-system}\nspec:\n  replicas: 0\n" +
		"  selector: {matchLabels: {a: b}}\n  template:\n    metadata: {labels: {a: b}}\n    spec: {containers: [{name: manager, image: \"lab/app:1\"}]}\n",
}

// refusesOverAnother wants install and uninstall to touch nothing where OpenKruise is.
func (s *site) refusesOverAnother() {
	s.Helper()
	s.kubectl("create", "namespace", "kruise-system")
	for what, manifest := range foreign {
		s.applyIn("kruise-system", manifest)
		before := s.settledEverything(what)
		for _, verb := range [][]string{{"install", "--image", agentImage}, {"uninstall"}} {
			out, code := s.try("", append([]string{"kruise"}, verb...)...)
			if code != 1 || !strings.Contains(out, "OpenKruise is installed here (found the "+strings.ToUpper(what[:1])+what[1:]+" kruise-system/kruise-") {
				s.Errorf("%s over OpenKruise's %s: exit code %d\n%s", verb[0], what, code, out)
			}
		}
		for key := range s.everything() {
			if !before[key] {
				s.Errorf("made over OpenKruise's %s: %s", what, key)
			}
		}
		if out, code := s.try(manifest, "delete", "-f", "-"); code != 0 {
			s.Fatalf("delete %s: %s", what, out)
		}
	}
	s.kubectl("delete", "namespace", "kruise-system")
}

// settledEverything lists all objects once those are there that come by themselves: with the namespace, and with a Deployment.
func (s *site) settledEverything(what string) map[string]bool {
	s.Helper()
	names := []string{"serviceaccount/default", "configmap/kube-root-ca.crt"}
	if what == "deployment" {
		names = append(names, "replicaset --selector a=b")
	}
	s.until("what comes by itself is there", func() (bool, string) {
		for _, name := range names {
			out, code := s.try("", append(strings.Fields("get -o name -n kruise-system "), strings.Fields(name)...)...)
			if code != 0 || out == "" || strings.HasPrefix(out, "No resources") {
				return false, name + ": " + out
			}
		}
		return true, ""
	})
	return s.everything()
}

func (s *site) applyIn(namespace, manifest string) {
	s.Helper()
	if out, code := s.try(manifest, "apply", "-n", namespace, "-f", "-"); code != 0 {
		s.Fatalf("kubectl apply: exit code %d\n%s", code, out)
	}
}

// installsElsewhere installs with choices of every kind, upgrades to others, and looks at what each of them does.
func (s *site) installsElsewhere() {
	s.Helper()
	installs := func(args ...string) {
		s.Helper()
		s.kubectl(append([]string{"kruise", "install", "--namespace", elsewhere, "--image", agentImage, "--replicas", "1", "--force-conflicts"}, args...)...)
	}
	installs("--pod-failure-policy", "Fail", "--feature-gates", "InPlaceWorkloadVerticalScaling=true")
	if out, code := s.try("", "kruise", "install", "--image", agentImage); code != 1 || !strings.Contains(out, "namespace "+elsewhere) {
		s.Errorf("install in a second namespace: exit code %d\n%s", code, out)
	}
	s.kubectl("get", "daemonset", "kruise-daemon", "-n", elsewhere)
	s.resizes()
	s.refusesWithoutManagers()
	s.listsWhatMissedAStep()

	installs("--no-daemon")
	for _, name := range []string{"daemonset/kruise-daemon", "serviceaccount/kruise-daemon"} {
		if out, code := s.try("", "get", name, "-n", elsewhere); code == 0 {
			s.Errorf("an upgrade without it leaves %s\n%s", name, out)
		}
	}
	if rules := s.kubectl("get", "clusterrole", "kruise-manager-role", "-o", "jsonpath={.rules[*].resources}"); strings.Contains(rules, "resize") {
		s.Errorf("an upgrade without the gate leaves its rights: %s", rules)
	}
	s.checks("--wait")
	s.applyIn(shop, fmt.Sprintf(loosePod, "loose"))
	s.kubectl("delete", "pod", "loose", "-n", shop)
}

// resizes changes the resources of a set: its containers have them and go on running.
func (s *site) resizes() {
	s.Helper()
	s.apply(strings.Replace(alphaSet("sized", 2), "imagePullPolicy: IfNotPresent}", "imagePullPolicy: IfNotPresent, resources: {requests: {cpu: 50m}}}", 1), 0)
	s.settled("sized", "lab/app:1", 2)
	pods := s.identities("sized")
	s.kubectl("patch", "cloneset", "sized", "-n", shop, "--type=json", "-p", `[{"op":"replace","path":"/spec/template/spec/containers/0/resources/requests/cpu","value":"70m"}]`)
	s.until("the containers of sized have 70m", func() (bool, string) {
		seen := ""
		for _, p := range s.pods("sized") {
			for _, c := range p.Status.ContainerStatuses {
				if c.Resources != nil {
					seen += c.Resources.Requests.Cpu().String() + " "
				}
			}
		}
		return seen == "70m 70m ", seen
	})
	s.same("sized", "after a resize", pods)
	s.kubectl("delete", "cloneset", "sized", "-n", shop)
}

// refusesWithoutManagers takes the only manager away under the failure policy Fail: no pod comes up that its admission would
// have changed. Others do, and so does the manager itself.
func (s *site) refusesWithoutManagers() {
	s.Helper()
	s.kubectl("scale", "deployment/kruise-controller-manager", "-n", elsewhere, "--replicas=0")
	s.until("no manager is left", func() (bool, string) {
		list, err := s.client.CoreV1().Pods(elsewhere).List(s.Context(), metav1.ListOptions{LabelSelector: "control-plane=controller-manager"})
		return err == nil && len(list.Items) == 0, fmt.Sprint(err)
	})
	ordered := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "refused", Annotations: map[string]string{keys.LaunchPriorityAnnotation: keys.LaunchPriorityOrdered}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "lab/app:1"}, {Name: "log", Image: "lab/app:1"}}},
	}
	if _, err := s.client.CoreV1().Pods(shop).Create(s.Context(), ordered, metav1.CreateOptions{}); !apierrors.IsInternalError(err) || !strings.Contains(err.Error(), "mpod.kb.io") {
		s.Errorf("a pod with a launch order under the failure policy Fail without managers: %v", err)
	}
	s.applyIn(shop, fmt.Sprintf(loosePod, "plain")) // it does not concern the webhook
	s.kubectl("delete", "pod", "plain", "-n", shop)
	if out, code := s.try("", "kruise", "check"); code != 1 {
		s.Errorf("check without managers: exit code %d\n%s", code, out)
	}
	s.kubectl("scale", "deployment/kruise-controller-manager", "-n", elsewhere, "--replicas=1")
	s.checks("--wait")
}

// listsWhatMissedAStep wants check to name a pod that says that it came up without a step of its admission.
func (s *site) listsWhatMissedAStep() {
	s.Helper()
	s.applyIn(shop, fmt.Sprintf(loosePod, "hasty, annotations: {kubectl-kruise.github.io/missed-steps: launch-priority}"))
	if out, code := s.try("", "kruise", "check"); code != 0 || !strings.Contains(out, shop+"/hasty") {
		s.Errorf("check does not name the pod that missed a step: exit code %d\n%s", code, out)
	}
	s.kubectl("delete", "pod", "hasty", "-n", shop)
}
