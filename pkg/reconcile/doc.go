// Package reconcile is the loop observe -> plan -> act, for one subject until its goal holds (Claim.Run) or for all
// subjects for as long as it is let (Session.All).
//
// The loop is level-based: an event only says that it is time to look; what to do follows from what the cluster says
// then. It reacts to watch events and to the clock of the plan, it does not poll. Nothing that it needs to go on is kept
// outside the cluster, so a process that dies loses nothing.
//
// What it promises:
//   - it writes pods only while nobody else drives, and stops at a safe point when another driver turns up or its Lease
//     is lost (design: who drives);
//   - it plans only on what is not older than its own writes, and after a write without an answer only once it is known
//     what became of it;
//   - when its context ends it begins no action, lets those under way finish, and says how it stands;
//   - a reader of its events cannot hold it up.
//
// Kinds of workloads are entries in a registry (Kind); the loop itself knows none of them.
package reconcile
