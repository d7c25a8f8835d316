package view

import (
	"fmt"
	"strings"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
)

// Why says in words why a target has its fate; the planner's own note completes it.
func Why(r plan.Reason) string {
	words := map[plan.Reason]string{
		plan.ReasonUpToDate:       "up to date",
		plan.ReasonPartition:      "the partition keeps it",
		plan.ReasonPaused:         "updates are paused",
		plan.ReasonOnDelete:       "the strategy OnDelete updates it when somebody deletes it",
		plan.ReasonMaxUnavailable: "waits: maxUnavailable is used up",
		plan.ReasonScaleLimit:     "waits: scaleStrategy.maxUnavailable is used up",
		plan.ReasonNotReady:       "not ready",
		plan.ReasonMinReady:       "ready, not yet for minReadySeconds",
		plan.ReasonUpdating:       "updating in place",
		plan.ReasonGrace:          "the grace period of its update runs",
		plan.ReasonHook:           "a lifecycle hook holds it",
		plan.ReasonDeleting:       "is being deleted",
		plan.ReasonFinished:       "has finished and is no replica",
		plan.ReasonSpecified:      "chosen for deletion",
		plan.ReasonScaleIn:        "more pods than wanted",
		plan.ReasonScaleOut:       "fewer pods than wanted",
		plan.ReasonRevision:       "at another revision than wanted",
		plan.ReasonRollback:       "goes back to the current revision",
		plan.ReasonNotEligible:    "cannot be updated in place",
		plan.ReasonBookkeeping:    "its labels or conditions are brought up to date",
		plan.ReasonSelector:       "its labels left the selector",
		plan.ReasonNameTaken:      "its name is still taken",
		plan.ReasonBadSpec:        "a stored value cannot be understood",
		plan.ReasonOrder:          "waits: another step comes first",
	}
	if w, ok := words[r]; ok {
		return w
	}
	return string(r)
}

// Does says in one or two words what a fate does to a target; empty when it does nothing that a person needs to see.
func Does(f plan.Fate) string {
	return map[plan.Fate]string{
		plan.UpdateInPlace: "in place",
		plan.Recreate:      "to recreate",
		plan.Remove:        "delete",
		plan.Make:          "create",
		plan.Release:       "release",
	}[f]
}

// sentence joins a reason and a planner's note.
func sentence(r plan.Reason, note string) string {
	why, note := Why(r), Clean(note)
	switch {
	case note == "":
		return why
	case r == plan.ReasonUpToDate || r == "":
		return note
	}
	return why + ": " + note
}

// count puts a number and a noun together.
func count[N int | int32](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// names lists a few names and says how many more there are.
func names(list []string) string {
	const most = 4
	if len(list) <= most {
		return Clean(strings.Join(list, ", "))
	}
	return fmt.Sprintf("%s and %d more", Clean(strings.Join(list[:most-1], ", ")), len(list)-most+1)
}
