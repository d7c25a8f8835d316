// Package view holds what people and machines are shown: snapshots as plain values with a versioned JSON form, and the
// rows and sentences made from them. The terminal, line mode and JSON show the same snapshot, so they cannot disagree.
//
// It is pure: no I/O, no clock. Every text that came from a server or a pod passes Clean before a person sees it, so that
// nothing in a cluster can move the cursor or hide a line. The JSON forms are an API (docs/views.md): fields are only ever
// added.
package view
