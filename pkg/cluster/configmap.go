package cluster

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
)

// configMaps is the kind of the barriers of launch orders.
func configMaps() Kind {
	return Kind{
		GroupKind: plan.ConfigMapKind, Version: "v1", Resource: "configmaps", AddToScheme: corev1.AddToScheme,
		New:     func() plan.Object { return &corev1.ConfigMap{} },
		NewList: func() runtime.Object { return &corev1.ConfigMapList{} },
	}
}
