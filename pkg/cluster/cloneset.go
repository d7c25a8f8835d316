package cluster

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1alpha1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
)

// CloneSets is the kind CloneSet as a cluster serves it in the given version, see Discover.
func CloneSets(version string) (Kind, error) {
	kind := Kind{GroupKind: plan.CloneSetKind, Version: version, Resource: v1beta1.CloneSetResource}
	switch version {
	case v1beta1.SchemeGroupVersion.Version:
		kind.AddToScheme = v1beta1.AddToScheme
		kind.New = func() plan.Object { return &v1beta1.CloneSet{} }
		kind.NewList = func() runtime.Object { return &v1beta1.CloneSetList{} }
		kind.Hub = func(obj plan.Object) (plan.Object, error) { return obj, nil }
	case v1alpha1.SchemeGroupVersion.Version:
		kind.AddToScheme = v1alpha1.AddToScheme
		kind.New = func() plan.Object { return &v1alpha1.CloneSet{} }
		kind.NewList = func() runtime.Object { return &v1alpha1.CloneSetList{} }
		kind.Hub = cloneSetToHub
	default:
		return Kind{}, fmt.Errorf("version %q of CloneSet is not known", version)
	}
	return kind, nil
}

func cloneSetToHub(obj plan.Object) (plan.Object, error) {
	switch set := obj.(type) {
	case *v1alpha1.CloneSet:
		return v1alpha1.CloneSetToHub(set), nil
	case *v1beta1.CloneSet:
		return set, nil
	}
	return nil, fmt.Errorf("%T is not a CloneSet", obj)
}
