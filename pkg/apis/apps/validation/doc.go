// Package validation judges workloads before they are written: by a verb now,
// by admission where the webhook is installed (cloneset.md 13.2).
//
// Objects are judged as they will be stored, so callers apply the defaults
// first. Errors carry the field's path in the version that was judged. The
// functions change nothing and look nothing up but the pods that PodLookup
// gives them. Whether the template makes a valid pod is asked of the API server
// by a dry-run create; only what the server would not say is judged here.
//
// Stricter than OpenKruise: the rules that it applies to v1alpha1 alone hold
// for v1beta1 too, and scaleStrategy.maxUnavailable is read. More lenient:
// v1alpha1 takes the type OnDelete, maxUnavailable may be 0 with a surge, and
// the block of an OnDelete set needs no partition.
package validation
