// Package v1beta1 holds the wire types of the group apps.kruise.io in the
// version that planners work on, with their in-memory defaults and their
// validation. It performs no I/O and never changes an argument unless the
// function's name says so.
//
// +kubebuilder:object:generate=true
// +groupName=apps.kruise.io
package v1beta1
