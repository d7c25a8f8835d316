// Package budget turns the int-or-percent fields of workloads into numbers of pods.
//
// There is one decimal parser for all fields (cloneset.md 2.1); what differs between fields is the rounding and what an
// absent value means, and each field has a function of its own for that.
//
// Invariants:
//   - arithmetic is exact: "33.3%" of 1,000,000 has no floating point in it;
//   - a value that cannot be understood is an error that names the field and the value. The number returned beside the
//     error is the one that disrupts least, never "update everything".
package budget
