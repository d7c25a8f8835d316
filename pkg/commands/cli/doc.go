// Package cli is what every verb is given and what it answers with: streams, the way to the cluster, the clock, the
// environment, and errors that carry an exit code.
//
// It promises that nothing in a verb reaches around it: there are no package variables, no exit and no direct use of the
// process's streams below main. It holds no verb and no algorithm.
package cli
