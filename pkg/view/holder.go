package view

import (
	"strings"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
)

// Holder turns the holder of a Lease of ours, kubectl-kruise/<user>@<host>/<random>, into <user>@<host>. Other holders
// stay as they are.
func Holder(identity string) string {
	rest, ours := strings.CutPrefix(identity, keys.HolderPrefix)
	if !ours {
		return Clean(identity)
	}
	if i := strings.LastIndexByte(rest, '/'); i > 0 {
		rest = rest[:i]
	}
	return Clean(rest)
}
