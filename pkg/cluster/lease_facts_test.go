package cluster_test

import (
	"context"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/cluster"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
)

// configured is a cluster with a webhook configuration and nothing else.
type configured struct{ labels map[string]string }

func (c configured) Get(_ context.Context, kind schema.GroupKind, _, name string) (plan.Object, error) {
	if kind.Kind != "MutatingWebhookConfiguration" || name != "kruise-mutating-webhook-configuration" {
		return nil, apierrors.NewNotFound(schema.GroupResource{Group: kind.Group, Resource: kind.Kind}, name)
	}
	return &admissionv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: c.labels}}, nil
}

// Our own webhooks are no sign of OpenKruise: while none of our managers runs, verbs drive.
func TestWhoseWebhooks(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		labels map[string]string
		want   bool
	}{
		{"without labels", nil, true},
		{"managed by Helm", map[string]string{keys.ManagedByLabel: "Helm"}, true},
		{"ours", map[string]string{keys.ManagedByLabel: keys.FieldManager}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			facts, err := cluster.ReadLeases(t.Context(), configured{tc.labels}, "team", "web")
			if err != nil || facts.Webhooks != tc.want {
				t.Errorf("OpenKruise's webhooks: %v (%v), want %v", facts.Webhooks, err, tc.want)
			}
		})
	}
}
