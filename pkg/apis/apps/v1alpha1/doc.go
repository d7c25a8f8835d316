// Package v1alpha1 holds the wire types of the group apps.kruise.io in the
// founding documents' version, with their defaults and the conversion to and
// from v1beta1, which planners work on. Types that are the same in both
// versions are used from there.
//
// +kubebuilder:object:generate=true
// +groupName=apps.kruise.io
package v1alpha1
