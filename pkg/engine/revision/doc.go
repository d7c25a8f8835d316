// Package revision finds, names, makes and trims the ControllerRevisions of a workload (cloneset.md 9.0). It is shared
// by all kinds whose revisions hold a pod template.
//
// It follows OpenKruise (master of July 2026) byte by byte where bytes matter: the data of a revision, its name, and
// the hash of the claim templates are those that OpenKruise computes from the same object, so that either side can take
// over a workload from the other without a rollout. The bytes are those of the Kubernetes 1.32 API types, which write
// two zero values that newer ones leave out or could leave out: a null creationTimestamp and empty resources.
//
// It differs on purpose in three points: templates that differ only by defaults are equal; keys of our own on the
// workload are not copied to its revisions; and a revision that we make keeps a copy of the claim templates.
//
// Everything is pure. Choose decides from the revisions that it is shown; when the server knows more (a create answers
// that the name exists), the executor observes again and Choose sees the clash.
package revision
