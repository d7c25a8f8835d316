package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupName is the API group of the workload kinds.
const GroupName = "apps.kruise.io"

// Names of the CloneSet kind and of its resource.
const (
	CloneSetKind     = "CloneSet"
	CloneSetResource = "clonesets"
)

// SchemeGroupVersion is the group and version of the types in this package.
var SchemeGroupVersion = schema.GroupVersion{Group: GroupName, Version: "v1beta1"}

// AddToScheme registers the types of this package.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(SchemeGroupVersion, &CloneSet{}, &CloneSetList{})
	metav1.AddToGroupVersion(scheme, SchemeGroupVersion)
	return nil
}
