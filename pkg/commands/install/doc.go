// Package install is the verb `install`: it puts the definitions of the kinds into the cluster by server-side apply.
//
// It never takes a version away that is in use: over definitions that already serve v1beta1, or that convert by a webhook,
// it changes nothing and says so.
package install
