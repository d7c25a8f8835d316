// Package soak holds a long test: many CloneSets of many pods on fake nodes, changed at random by several users, driven by
// processes that are killed and whose requests fail. A judge that knows only what the API server's watch tells decides
// whether a limit was ever broken.
//
// `make test` runs its short form, `make soak` the long one.
package soak
