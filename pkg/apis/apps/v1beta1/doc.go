// Package v1beta1 holds the wire types of the group apps.kruise.io in the
// version that planners work on, with their defaults. It performs no I/O and never changes an argument unless the
// function's name says so.
//
// The comments on fields are the descriptions in the CRDs. What the fields mean
// is fixed in cloneset.md: identity in 1, spec in 2, status in 4, lifecycle in
// 8, priority and scatter in 9.3, conditions in 11.
//
// +kubebuilder:object:generate=true
// +groupName=apps.kruise.io
package v1beta1
