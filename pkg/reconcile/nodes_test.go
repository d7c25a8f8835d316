package reconcile_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/cluster"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/reconcile"
)

// nodeReads counts the reads of nodes and may refuse them.
type nodeReads struct {
	reconcile.API
	refuse bool
	n      atomic.Int32
}

func (a *nodeReads) Metadata(ctx context.Context, kind schema.GroupKind, namespace string) ([]plan.Object, error) {
	if kind == cluster.NodeKind {
		if a.n.Add(1); a.refuse {
			return nil, errors.New("forbidden")
		}
	}
	return a.API.Metadata(ctx, kind, namespace)
}

// Two of three pods share a zone: one of them goes first, if the zones of nodes may be read. Where nobody asks for zones,
// nodes are not read.
func TestScaleInKeepsPodsSpreadOverZones(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spread, refuse bool
		reads          int32
		alone          bool
	}{
		"cloneset/9.4 the crowded zone":   {spread: true, reads: 1, alone: true},
		"without the right to read nodes": {spread: true, refuse: true, reads: 1},
		"without constraints":             {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				set := web("web", 3)
				if c.spread {
					set.Spec.Template.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{MaxSkew: 1,
						TopologyKey: "zone", WhenUnsatisfiable: corev1.ScheduleAnyway, LabelSelector: set.Spec.Selector}}
				}
				objects := []plan.Object{set}
				for node, zone := range map[string]string{"n1": "a", "n2": "b", "n3": "b"} {
					objects = append(objects, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node, Labels: map[string]string{"zone": zone}}})
				}
				w := newWorld(t, objects...)
				// The kubelet looks at pods by name, and by name the pod that is alone in its zone would go first.
				var order []string
				w.node = func(pod *corev1.Pod) string {
					if !slices.Contains(order, pod.Name) {
						order = append(order, pod.Name)
					}
					return "n" + strconv.Itoa(1+slices.Index(order, pod.Name))
				}
				s := w.session("laptop/1")
				api := &nodeReads{API: w.server, refuse: c.refuse}
				s.API = api
				if result := w.drive(t.Context(), s, "web", reconcile.RunOptions{}); !result.Reached {
					t.Fatalf("not created: %+v", result)
				}
				api.n.Store(0)
				w.edit("web", func(set *v1beta1.CloneSet) { two := int32(2); set.Spec.Replicas = &two })
				if result := w.drive(t.Context(), s, "web", reconcile.RunOptions{}); !result.Reached {
					t.Fatalf("not scaled in: %+v", result)
				}
				if n := api.n.Load(); n != c.reads {
					t.Errorf("nodes were read %d times, want %d", n, c.reads)
				}
				var left []string
				for _, obj := range w.server.Objects(plan.PodKind) {
					if obj.GetDeletionTimestamp() == nil {
						left = append(left, obj.(*corev1.Pod).Spec.NodeName)
					}
				}
				if kept := slices.Contains(left, "n1"); kept != c.alone || len(left) != 2 {
					t.Errorf("pods are left on %s", strings.Join(left, ", "))
				}
			})
		})
	}
}
