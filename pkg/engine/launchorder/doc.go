// Package launchorder starts the containers of a pod in an order, whatever owns the pod (launchorder.md 1).
//
// The kubelet does not create a container whose environment refers to a key that its ConfigMap lacks, and tries again
// later. So every container of an ordered pod gets a variable from a key of the pod's own ConfigMap, its barrier, and the
// keys are added level by level: the next one when every container of all higher levels is ready.
//
// Mutate prepares a pod before it is created, in a webhook or by whoever creates the pod. Decide plans for one pod and
// its barrier; it opens at most one level at a time, so that a caller that acts and looks again loses nothing when it
// stops in between. Both follow OpenKruise's rules and bytes. Where they do better, the comment names launchorder.md 1.6.
//
// What they do not do: start the containers themselves, touch init containers (and so native sidecars, which the kubelet
// starts before all others anyway), or stop anything. Only the barrier's keys are added, never one taken back, and a
// ConfigMap of that name that is no barrier is left alone.
//
// It is a shared part of the engine: every kind that creates pods prepares them with Mutate.
package launchorder
