package install

import (
	"context"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/view"
)

// Question is what Check is asked.
type Question struct {
	// Version is that of this program.
	Version string
	// Install is where the pair is unless a registered webhook says otherwise, Namespace where the person works.
	Install, Namespace string
	Now                time.Time
}

// Check looks at what is installed. What may not be looked at is no failure; an error means that the cluster does not
// answer at all.
func (t *Target) Check(ctx context.Context, q Question) (*view.Check, error) {
	c := &view.Check{Meta: view.Of("Check"), InstallNamespace: q.Install, Namespace: q.Namespace}
	server, err := t.discovery.ServerVersion()
	if err != nil {
		return nil, fmt.Errorf("server version: %w", err)
	}
	present, err := t.Look(ctx, q.Now)
	if apierrors.IsForbidden(err) {
		c.Add(view.CheckPart{Name: "installation", Verdict: view.CheckUnknown, Text: err.Error(), Hint: "ask somebody who administers the cluster to check"})
		c.Add(t.rights(ctx, q.Namespace))
		c.Finish()
		return c, nil
	}
	if err != nil {
		return nil, err
	}
	if there := present.Namespace(); there != "" && present.Foreign == "" {
		c.InstallNamespace = there
	}
	manager, err := lookIn[appsv1.Deployment](ctx, t, deploymentResource, c.InstallNamespace, managerName)
	if err != nil && !apierrors.IsForbidden(err) {
		return nil, err
	}
	c.Add(versions(q.Version, server.GitVersion, manager))
	c.Add(kinds(present, manager != nil))
	switch {
	case present.Foreign != "":
		c.Add(view.CheckPart{Name: "managers", Verdict: view.CheckAbsent, Text: "OpenKruise drives here (found " + present.Foreign + "); this program delegates to it"})
	case manager == nil && present.Mutating == nil && present.Validating == nil:
		c.Add(view.CheckPart{Name: "managers", Verdict: view.CheckAbsent, Text: "none; kinds are driven from the machines of those who type"})
	default:
		t.pair(ctx, c, present, manager, q)
	}
	c.Add(t.rights(ctx, q.Namespace))
	c.Finish()
	return c, nil
}

// pair looks at what runs and at what was registered for it.
func (t *Target) pair(ctx context.Context, c *view.Check, p *Present, manager *appsv1.Deployment, q Question) {
	c.Add(t.managers(ctx, manager, c.InstallNamespace))
	c.Add(t.leading(ctx, q.Now))
	c.Add(registrations(p))
	c.Add(t.certificates(ctx, p, c.InstallNamespace, q.Now))
	c.Add(t.admission(ctx, p, q.Namespace))
	c.Add(t.daemons(ctx, c.InstallNamespace))
	part, missed := t.missed(ctx, p)
	c.Add(part)
	c.Missed = missed
}

func lookIn[T any](ctx context.Context, t *Target, resource schema.GroupVersionResource, namespace, name string) (*T, error) {
	object, err := t.get(ctx, resource, namespace, name)
	if object == nil || err != nil {
		return nil, err
	}
	return into[T](object)
}

func versions(plugin, server string, manager *appsv1.Deployment) view.CheckPart {
	part := view.CheckPart{Name: "versions", Verdict: view.CheckOK, Text: fmt.Sprintf("plugin %s, server %s", or(plugin, "unknown"), server)}
	if manager == nil {
		return part
	}
	installed := manager.Labels[versionLabel]
	part.Text = fmt.Sprintf("plugin %s, managers %s, server %s", or(plugin, "unknown"), or(installed, "unknown"), server)
	if installed != labelValue(plugin) {
		part.Verdict, part.Hint = view.CheckWarning, "kubectl kruise install --image IMAGE, to bring the managers to the version of this plugin"
	}
	return part
}

func or(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// kinds says in which versions the kinds are served, and whether they can be used. managed says that there is somebody who
// converts.
func kinds(p *Present, managed bool) view.CheckPart {
	part := view.CheckPart{Name: "kinds", Verdict: view.CheckOK}
	known, err := CRDs(Full)
	if err != nil {
		return failed(part, err.Error(), "")
	}
	var parts []string
	for _, crd := range known {
		live := p.CRDs[crd.Name]
		if live == nil {
			return failed(part, crd.Name+" is not there", "kubectl kruise install --crds-only, or with --image")
		}
		var served []string
		stored := ""
		for _, v := range live.Spec.Versions {
			if v.Served {
				served = append(served, v.Name)
			}
			if v.Storage {
				stored = v.Name
			}
		}
		parts = append(parts, fmt.Sprintf("%s served as %s, stored as %s", live.Spec.Names.Plural, strings.Join(served, " and "), stored))
		for _, condition := range live.Status.Conditions {
			if condition.Type == "Established" && condition.Status != "True" {
				return failed(part, crd.Name+": "+condition.Message, "kubectl describe crd "+crd.Name)
			}
		}
		if converts(live) && !managed && p.Mutating == nil {
			return failed(part, fmt.Sprintf("%s convert by a webhook that is not there: what is stored as %s cannot be read in another version", live.Spec.Names.Plural, stored),
				"kubectl kruise install --image IMAGE; then, to be without managers, kubectl kruise uninstall --keep-crds")
		}
		if old := others(live.Status.StoredVersions, stored); len(old) > 0 {
			part.Verdict, part.Hint = view.CheckWarning, "kubectl kruise install again, to rewrite what is stored as "+strings.Join(old, ", ")
		}
	}
	part.Text = strings.Join(parts, "; ")
	return part
}

func others(all []string, but string) []string {
	var list []string
	for _, s := range all {
		if s != but {
			list = append(list, s)
		}
	}
	return list
}

func failed(part view.CheckPart, text, hint string) view.CheckPart {
	part.Verdict, part.Text, part.Hint = view.CheckFailed, text, hint
	return part
}

// unreadable is the verdict when something could not be read: unknown without permission, else a failure.
func unreadable(part view.CheckPart, err error) view.CheckPart {
	if apierrors.IsForbidden(err) {
		part.Verdict, part.Text = view.CheckUnknown, err.Error()
		return part
	}
	return failed(part, err.Error(), "")
}

func (t *Target) managers(ctx context.Context, manager *appsv1.Deployment, namespace string) view.CheckPart {
	part := view.CheckPart{Name: "managers", Verdict: view.CheckOK}
	if manager == nil {
		return failed(part, "the Deployment "+namespace+"/"+managerName+" is not there, and requests are sent to it",
			"kubectl kruise install again; or, if nothing may be written, kubectl kruise uninstall --keep-crds")
	}
	part = counted(part, manager)
	if part.Verdict == view.CheckOK || part.Hint != "" {
		return part
	}
	if why := t.ailments(ctx, namespace); why != "" {
		part.Text += ": " + why
	}
	part.Hint = "kubectl describe pods -n " + namespace + " -l control-plane=" + managerPlane
	return part
}

// counted judges by the Deployment's own status.
func counted(part view.CheckPart, manager *appsv1.Deployment) view.CheckPart {
	want, namespace := int32(1), manager.Namespace
	if manager.Spec.Replicas != nil {
		want = *manager.Spec.Replicas
	}
	status := manager.Status
	part.Text = fmt.Sprintf("%d of %d ready in %s", min(status.ReadyReplicas, want), want, namespace)
	behind := status.ObservedGeneration < manager.Generation || status.UpdatedReplicas < want || status.Replicas > status.UpdatedReplicas
	switch {
	case want == 0:
		return failed(part, "the Deployment "+namespace+"/"+managerName+" is scaled to 0", "kubectl scale deployment/"+managerName+" -n "+namespace+" --replicas=2")
	case status.ReadyReplicas >= want && !behind:
		return part
	case behind:
		part.Text += fmt.Sprintf("; of what was installed last %d run, and it has not replaced the rest", status.UpdatedReplicas)
	}
	part.Verdict = view.CheckWarning
	if status.ReadyReplicas == 0 || behind {
		part.Verdict = view.CheckFailed
	}
	return part
}

func (t *Target) leading(ctx context.Context, now time.Time) view.CheckPart {
	part := view.CheckPart{Name: "leader", Verdict: view.CheckOK}
	lease, err := t.leader(ctx)
	if err != nil {
		return unreadable(part, err)
	}
	if lease == nil {
		return failed(part, "nobody has ever led", "kubectl logs -n "+keys.InstallNamespace+" deploy/"+managerName)
	}
	holder, live := holding(lease, now)
	if !live {
		return failed(part, "nobody leads: the Lease "+keys.InstallNamespace+"/"+keys.ManagerLease+" is not held", "kubectl logs -n "+keys.InstallNamespace+" deploy/"+managerName)
	}
	part.Text = strings.TrimPrefix(holder, keys.HolderPrefix)
	if lease.Spec.AcquireTime != nil {
		part.Text += " since " + lease.Spec.AcquireTime.Local().Format("2006-01-02 15:04")
	}
	return part
}

// daemons counts the nodes that have a daemon that is ready.
func (t *Target) daemons(ctx context.Context, namespace string) view.CheckPart {
	part := view.CheckPart{Name: "daemon", Verdict: view.CheckOK}
	set, err := lookIn[appsv1.DaemonSet](ctx, t, daemonSetResource, namespace, daemonName)
	if err != nil {
		return unreadable(part, err)
	}
	if set == nil {
		part.Verdict, part.Text = view.CheckAbsent, "not installed (--no-daemon)"
		return part
	}
	nodes, err := t.at(nodeResource, "").List(ctx, metav1.ListOptions{})
	if err != nil {
		return unreadable(part, err)
	}
	pods, err := t.at(podResource, namespace).List(ctx, metav1.ListOptions{LabelSelector: componentLabel + "=" + daemonPlane})
	if err != nil {
		return unreadable(part, err)
	}
	ready := map[string]bool{}
	for i := range pods.Items {
		if pod, err := into[corev1.Pod](&pods.Items[i]); err == nil && isReady(pod) {
			ready[pod.Spec.NodeName] = true
		}
	}
	var without []string
	for _, node := range nodes.Items {
		if !ready[node.GetName()] {
			without = append(without, node.GetName())
		}
	}
	part.Text = fmt.Sprintf("ready on %d of %d nodes", len(nodes.Items)-len(without), len(nodes.Items))
	if len(without) > 0 {
		part.Text += "; not on " + few(without)
		part.Verdict, part.Hint = view.CheckWarning, "kubectl describe pods -n "+namespace+" -l control-plane="+daemonPlane
	}
	return part
}

func isReady(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// few lists some of many.
func few(list []string) string {
	const most = 5
	if len(list) <= most {
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(list[:most], ", "), len(list)-most)
}
