// Package order decides which pod comes first: to be updated (cloneset.md 9.3) or to be deleted (cloneset.md 9.4).
//
// Functions work on indexes into one slice of Pod, so that one view of all pods serves every question and nothing is
// copied. What is compared is packed into a few words per pod before sorting: 50,000 pods are sorted without reading a
// condition, a label or a map inside the comparison.
//
// Invariants:
//   - every order is total: ties are broken by name, where OpenKruise's unstable sort leaves them open;
//   - pods are never changed, only the slice of indexes is.
package order
