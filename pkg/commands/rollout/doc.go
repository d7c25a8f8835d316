// Package rollout is the verb `rollout` with what belongs to it: it records what a user wants of a workload, then drives
// it there or watches whoever drives.
//
// It promises: every value is judged against the live object before anything is written; what is written is one patch of
// the fields that differ; typing the same again, here or on another machine, goes on where the other stopped.
package rollout
