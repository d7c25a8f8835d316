// Package commands is the root of the plugin's verbs: global flags, help, and the way from an error to an exit code. Each
// verb group has a folder of its own: flags become options, options run; there is no algorithm here.
package commands
