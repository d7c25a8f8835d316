// Package features names the feature gates of OpenKruise with their defaults
// (workloadspread.md C7). A set of gates is a small value: it can be compared
// with ==, used as a map key and copied freely.
package features
