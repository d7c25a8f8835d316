// Package cluster observes and acts: it mirrors objects of an API server, carries out plans, and finds out who drives.
//
// What it promises:
//   - a write that returned is seen by the next read. A Mirror lays the objects that writes returned over what its watch
//     has delivered until the watch has caught up; nothing expires by time (design: read your own writes);
//   - what an Executor sends is an action of a plan, bound to the UID it was planned for, and never repeated blindly: a
//     conflict means observe again, and a write whose answer was lost leaves a doubt that has to be resolved by a read
//     before the next plan;
//   - dry-run is enforced in the Executor, below every command;
//   - every read is limited to the namespace, labels and name that the caller gives, so that rights in one namespace
//     suffice (design: who drives).
//
// What it refuses: patches and deletes without a UID, and writes of kinds that it was not connected for.
package cluster
