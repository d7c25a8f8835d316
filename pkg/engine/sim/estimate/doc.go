// Package estimate plays a rollout before it happens: with the real planner, on copies of the real objects, in virtual
// time. It says for each batch which pods move and how, how many are unavailable at the worst moment, and about how long
// it takes.
//
// The pods' own past tells the pace: how long they took from a node to running containers, and from there to ready. What
// the past does not tell comes from the simulator's default pace. Pods that are ill now are taken to recover like those
// that start; what people or other controllers have to do (hooks, deletions by hand) does not happen, and ends the
// estimate with the reason.
//
// The same case always gives the same estimate.
package estimate
