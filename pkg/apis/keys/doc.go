// Package keys names what is agreed on the wire: labels, annotations,
// readiness gates, lifecycle states, environment variables, leases and event
// sources. Values are those of OpenKruise, so that either side can take over a
// cluster from the other; keys of our own have the prefix OwnPrefix.
package keys
