// Package clustertest is an API server in memory for tests of what stands on package cluster, and a wrapper that makes any
// API fail on purpose.
//
// The server keeps resourceVersions, UIDs, preconditions, label filters of watches, patches of all types and graceful
// deletion of pods. It has no admission, defaults or schemas: that a patch is accepted by a real server must be shown on
// a real server.
package clustertest
