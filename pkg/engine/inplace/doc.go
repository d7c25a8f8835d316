// Package inplace decides and prepares the change of a running pod to a new revision without recreating it
// (inplace.md). It says whether a change is eligible, what is written, and when it is done; which pods are changed, and
// how many at a time, is the business of each workload.
//
// The life of one update:
//
//	Eligible   two revisions          -> Spec, or the Obstacle that forces a recreate
//	Start      pod, Spec              -> Writes: condition False, resize, pod
//	Refresh    pod, on every pass     -> Step: wait, end of grace, next batch of containers, condition True
//	Complete   pod                    -> whether the pod runs what it should, or why not yet
//
// All state lives in annotations of the pod, in OpenKruise's form (master of July 2026), so that either side can
// finish what the other began. Fields of our own stand beside OpenKruise's, which ignores them.
//
// Invariants:
//   - every container that takes part is changed in exactly one batch, the highest launch priority first, and no later
//     batch is touched before the one before it is complete and ready;
//   - a change that an unfinished update still owed to the pod is part of the update that replaces it;
//   - the gate condition turns True only through Refresh, for the very copy of the pod that was judged.
//
// The rules named "we should" in inplace.md are followed throughout. The functions are pure: time comes in as a value.
package inplace
