// Package webhook answers the API server: what becomes of a pod that is being made, whether a CloneSet may be written and
// with which defaults, and what an object is called in another version. The answers are computed by the engine and by
// apis; here they are only decoded, put in order and encoded.
//
// What it promises:
//   - A pod is answered within a second, whatever it holds. A step that fails or takes too long is left out, the answer
//     says so, and the pod carries keys.MissedStepsAnnotation. Only Options.Strict refuses such a pod.
//   - Patches and conversions touch what they have to. Fields that this build does not know survive.
//   - Objects in the namespaces of Options.Left are admitted as they are.
//   - Nothing is written to the cluster, so every request has the same answer however often it comes.
package webhook
