package reconcile_test

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/reconcile"
)

// far is a server whose answers about single objects and about whole namespaces take their time.
type far struct{ reconcile.API }

func (f far) Get(ctx context.Context, kind schema.GroupKind, namespace, name string) (plan.Object, error) {
	time.Sleep(200 * time.Millisecond)
	return f.API.Get(ctx, kind, namespace, name)
}

func (f far) Metadata(ctx context.Context, kind schema.GroupKind, namespace string) ([]plan.Object, error) {
	time.Sleep(300 * time.Millisecond)
	return f.API.Metadata(ctx, kind, namespace)
}

// A pod that was taken out of the selector goes on running, so its claim must not be deleted for want of a pod
// (cloneset.md 10.4), whether the loop was there at the time or comes later.
func TestRunKeepsTheClaimsOfReleasedPods(t *testing.T) {
	t.Parallel()
	for name, watching := range map[string]bool{"while a loop runs": true, "before the loop begins": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				set := web("web", 2)
				set.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}}}
				w := newWorld(t, set)
				s := w.session("laptop/1")
				s.API = far{w.server}
				if result := w.drive(t.Context(), s, "web", reconcile.RunOptions{}); !result.Reached {
					t.Fatalf("not reached: %+v", result)
				}
				pod := w.server.Objects(plan.PodKind)[0]
				release := func() {
					w.server.Edit(plan.PodKind, "shop", pod.GetName(), func(obj plan.Object) {
						obj.SetLabels(map[string]string{
							"app": "debug", "apps.kruise.io/cloneset-instance-id": pod.GetLabels()["apps.kruise.io/cloneset-instance-id"]})
					})
				}
				if !watching {
					release()
				}
				ctx, stop := context.WithCancel(t.Context())
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					w.drive(ctx, s, "web", reconcile.RunOptions{Forever: true})
				}()
				time.Sleep(2 * time.Second)
				if watching {
					release()
				}
				until(t, "a replacement", func() bool { return len(w.pods("web")) == 2 && w.settled("web", 2) })
				stop()
				<-ended
				claim, err := w.server.Get(t.Context(), plan.ClaimKind, "shop", "data-"+pod.GetName())
				if err != nil {
					t.Fatal(err)
				}
				if owners := claim.GetOwnerReferences(); claim.GetDeletionTimestamp() != nil || len(owners) != 1 || owners[0].UID != pod.GetUID() {
					t.Errorf("claim of the released pod: deleted at %v, owners %v", claim.GetDeletionTimestamp(), owners)
				}
			})
		})
	}
}
