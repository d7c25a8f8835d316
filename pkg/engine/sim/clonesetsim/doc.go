// Package clonesetsim plays CloneSets on the simulated cluster: the kind for package sim, a driver that builds the
// planner's world from a view, and verbs for scripts.
package clonesetsim
