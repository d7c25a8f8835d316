package reconcile

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/cluster"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
)

const (
	// nodesLast is how long labels of nodes are good for; they seldom change.
	nodesLast = 5 * time.Minute
	// nodesAgain is how soon they are read again for a pod on a node that is not among them.
	nodesAgain = 10 * time.Second
)

// spreads says that a set tells how its pods are to be spread, so that the nodes' labels matter to which go first
// (cloneset.md 9.4).
func spreads(subject plan.Object) bool {
	set, ok := subject.(*v1beta1.CloneSet)
	return ok && len(set.Spec.Template.Spec.TopologySpreadConstraints) > 0
}

// NodeLabels reads the labels of all nodes by name. Nodes belong to nobody's namespace, so many may not read them: then
// there are none, and pods are spread over nodes alone.
func NodeLabels(ctx context.Context, api API) map[string]map[string]string {
	list, err := api.Metadata(ctx, cluster.NodeKind, "")
	if err != nil {
		return nil
	}
	labels := make(map[string]map[string]string, len(list))
	for _, node := range list {
		labels[node.GetName()] = node.GetLabels()
	}
	return labels
}

// nodes keeps the labels of nodes for all subjects of a loop.
type nodes struct {
	mu     sync.Mutex
	labels map[string]map[string]string
	read   time.Time
}

// of gives the labels, read again when they are old or do not name the node of a pod.
func (n *nodes) of(ctx context.Context, api API, pods []plan.Object, now time.Time) map[string]map[string]string {
	n.mu.Lock()
	defer n.mu.Unlock()
	old := n.read.IsZero() || now.Sub(n.read) >= nodesLast
	if !old && n.labels != nil && now.Sub(n.read) >= nodesAgain {
		for _, obj := range pods {
			if pod, ok := obj.(*corev1.Pod); ok && pod.Spec.NodeName != "" && n.labels[pod.Spec.NodeName] == nil {
				old = true
				break
			}
		}
	}
	if old {
		n.labels, n.read = NodeLabels(ctx, api), now
	}
	return n.labels
}
