// Package plan holds the words that every planner speaks: Plan, Stage, Action, Change, Verdict and Wait.
//
// A planner is a pure function from a snapshot of the world to a Plan. The plan is a value: it can be printed, compared,
// played in a simulator or handed to an executor. What is not an Action cannot change the cluster.
//
// Invariants:
//   - an Action is complete: nobody has to look anything up to carry it out;
//   - every Change has two equal forms, the patch on the wire (Body) and its effect in memory (Apply);
//   - a bad state of the cluster is a Wait or a Verdict with a reason, never an error.
package plan
