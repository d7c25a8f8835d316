// Package install knows what is put into a cluster. The manifests are values:
// making them needs no cluster and writes nothing.
//
// The CRDs come in two renderings (see Rendering), both made from one generated
// file per kind, so that they cannot drift apart.
package install

//go:generate ../../hack/generate.sh
