// Package cloneset plans CloneSets: from a snapshot of one set, its revisions and its pods it derives what to write now.
//
// Decide makes one pass of cloneset.md 7: claim, revisions, scale, refresh, update, status. It does no I/O and reads no
// clock; equal worlds give equal plans. A pass scales or updates, never both: the numbers of 9.1 rest on that.
//
// What holds at every pass, whatever the world looks like:
//   - pods that are unavailable by our doing stay within maxUnavailable;
//   - updates leave at least partition pods at other revisions;
//   - nothing is updated while the set is paused or its strategy is OnDelete;
//   - pods are written with their UID, and judgements that must not outlive the pod they were made on with its
//     resourceVersion.
//
// The rules follow OpenKruise's CloneSet; where they differ on purpose the comment says so.
package cloneset
