// Package batch decides how a rollout goes on in batches: which batch is due, what it may update, and when it is over.
//
// The cursor of a run stands in an annotation of the workload, together with everything that another operator needs to go
// on in the same way. Next is a pure function of that cursor and of what the cluster shows: observation in, decision out.
// Whoever carries a decision out writes the new cursor and the new partition in one patch that is bound to the version of
// the workload that was judged, so that a batch is recorded with the step that begins it, and two operators can never
// both begin one.
//
// Invariants:
//   - the partition never lets more pods move than the recorded batch allows;
//   - it moves in the direction of the run only: nothing that is updated is asked to go back, also when the number of
//     replicas changes;
//   - a batch that needs an approval is not begun without one for exactly that revision and batch;
//   - the same state gives the same decision.
package batch
