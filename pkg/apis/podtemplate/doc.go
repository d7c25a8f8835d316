// Package podtemplate knows the values that stand for unset fields of a pod
// template or claim template (cloneset.md 13.1 item 2).
//
// They serve two purposes: admission writes them into new templates, and
// planners apply them to copies of two templates before comparing them. The
// bytes of a revision, its hash and the pods made from it never come from a
// defaulted template. Whether a template makes a valid pod is asked of the API
// server, not decided here.
//
// Functions named Set change their argument; nothing else is touched.
package podtemplate
