// Package sim is a small cluster in memory with a virtual clock. It carries out plan.Action values as an API server would,
// lets pods live as a kubelet would, and shows the cluster to drivers the way informers do: late, or not at all for a while.
//
// The parts, from the bottom up:
//   - Cluster stores objects and applies writes, with UIDs, resourceVersions, generations, status subresources, graceful
//     deletion and garbage collection;
//   - Stage says how pods live: a match, a delay and a next step, as data;
//   - View is what a client sees of the cluster: watch events that are delayed or lost, under an overlay of its own writes;
//   - Driver plans from a view and carries plans out like the real executor: chains, stages, conflicts, doubts;
//   - Run plays a history: drivers, timed events and faults at given writes, until everything has come to rest;
//   - Script plays a history written by hand and returns its transcript.
//
// It knows no workload: kinds come in as Kind values and planners as functions.
//
// Invariants:
//   - stored objects are immutable. A write makes a shallow copy and replaces what changes, so that an old snapshot stays
//     valid for nothing. Whoever hands an object in gives it away;
//   - the same seed and the same calls give the same history: there is no other source of chance, and nothing depends on
//     the order of a map.
package sim
