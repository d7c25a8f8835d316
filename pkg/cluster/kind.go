package cluster

import (
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
)

// Kind tells how objects of one kind are read and written on one cluster.
type Kind struct {
	schema.GroupKind
	// Version is the version on the wire: one that the cluster serves.
	Version string
	// Resource is the plural name in request paths.
	Resource string
	// NewList makes an empty list of wire objects.
	NewList func() runtime.Object
	// New makes an empty wire object.
	New func() plan.Object
	// Hub turns a wire object into the version that planners see; nil when they are the same.
	Hub func(plan.Object) (plan.Object, error)
	// AddToScheme registers the wire types.
	AddToScheme func(*runtime.Scheme) error
}

// APIVersion is the kind's group and version as objects name it.
func (k Kind) APIVersion() string {
	return schema.GroupVersion{Group: k.Group, Version: k.Version}.String()
}

// LeaseKind is the kind of the objects that say who drives.
var LeaseKind = schema.GroupKind{Group: "coordination.k8s.io", Kind: "Lease"}

// eventKind is the kind of what the Recorder writes.
// NodeKind is the kind of nodes, of which only labels are read.
var NodeKind = schema.GroupKind{Kind: "Node"}

var eventKind = schema.GroupKind{Kind: "Event"}

var webhookKind = schema.GroupKind{Group: "admissionregistration.k8s.io", Kind: "MutatingWebhookConfiguration"}

// builtinKinds are served by every cluster in one version.
func builtinKinds() []Kind {
	return []Kind{
		configMaps(),
		{
			GroupKind: plan.PodKind, Version: "v1", Resource: "pods", AddToScheme: corev1.AddToScheme,
			New:     func() plan.Object { return &corev1.Pod{} },
			NewList: func() runtime.Object { return &corev1.PodList{} },
		},
		{
			GroupKind: plan.ClaimKind, Version: "v1", Resource: "persistentvolumeclaims", AddToScheme: corev1.AddToScheme,
			New:     func() plan.Object { return &corev1.PersistentVolumeClaim{} },
			NewList: func() runtime.Object { return &corev1.PersistentVolumeClaimList{} },
		},
		{
			GroupKind: NodeKind, Version: "v1", Resource: "nodes", AddToScheme: corev1.AddToScheme,
			New:     func() plan.Object { return &corev1.Node{} },
			NewList: func() runtime.Object { return &corev1.NodeList{} },
		},
		{
			GroupKind: eventKind, Version: "v1", Resource: "events", AddToScheme: corev1.AddToScheme,
			New:     func() plan.Object { return &corev1.Event{} },
			NewList: func() runtime.Object { return &corev1.EventList{} },
		},
		{
			GroupKind: plan.ControllerRevisionKind, Version: "v1", Resource: "controllerrevisions", AddToScheme: appsv1.AddToScheme,
			New:     func() plan.Object { return &appsv1.ControllerRevision{} },
			NewList: func() runtime.Object { return &appsv1.ControllerRevisionList{} },
		},
		{
			GroupKind: LeaseKind, Version: "v1", Resource: "leases", AddToScheme: coordinationv1.AddToScheme,
			New:     func() plan.Object { return &coordinationv1.Lease{} },
			NewList: func() runtime.Object { return &coordinationv1.LeaseList{} },
		},
		{
			GroupKind: webhookKind, Version: "v1", Resource: "mutatingwebhookconfigurations", AddToScheme: admissionv1.AddToScheme,
			New:     func() plan.Object { return &admissionv1.MutatingWebhookConfiguration{} },
			NewList: func() runtime.Object { return &admissionv1.MutatingWebhookConfigurationList{} },
		},
	}
}
