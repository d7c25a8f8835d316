package reconcile

import (
	"bytes"
	"regexp"
	"slices"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
)

// moment is a time in a patch, which differs from look to look although the same is meant.
var moment = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)

// sameWrites says that two lists of stages write the same, whatever the clock and the versions of objects are.
func sameWrites(a, b []plan.Stage) bool {
	return len(a) > 0 && slices.EqualFunc(a, b, func(a, b plan.Stage) bool {
		return a.Name == b.Name && slices.EqualFunc(a.Actions, b.Actions, sameWrite)
	})
}

func sameWrite(a, b plan.Action) bool {
	if a.Verb != b.Verb || a.On != b.On || a.Subresource != b.Subresource || (a.Event == nil) != (b.Event == nil) ||
		a.Event != nil && *a.Event != *b.Event || (a.Then == nil) != (b.Then == nil) {
		return false
	}
	if a.Then != nil && !sameWrite(*a.Then, *b.Then) {
		return false
	}
	return bytes.Equal(bodyOf(a), bodyOf(b))
}

// bodyOf is what a patch sends, without its times.
func bodyOf(a plan.Action) []byte {
	if a.Change == nil {
		return nil
	}
	body, err := a.Change.Body()
	if err != nil {
		return nil // the executor will tell
	}
	return moment.ReplaceAll(body, []byte("T"))
}
