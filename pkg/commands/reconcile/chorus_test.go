package reconcile

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/commands/cli"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/view"
)

func TestWaitsAreToldInOrder(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	now, out := start, &bytes.Buffer{}
	c := &chorus{printer: &cli.Printer{Results: out, Progress: out}, now: func() time.Time { return now }, start: start,
		all: true, voices: map[view.Subject]*view.Narrator{}}
	for i := range 12 {
		head := view.Head{At: start, Subject: view.Subject{Kind: "CloneSet", Namespace: "shop", Name: fmt.Sprintf("web-%02d", i)}}
		c.hear(view.Planned{Head: head, Object: &v1beta1.CloneSet{}, Plan: &plan.Plan{}})
		c.hear(view.Waiting{Head: head, Waits: []plan.Wait{{Reason: plan.ReasonNotReady}}})
	}
	out.Reset()
	now = start.Add(time.Minute)
	c.tick()
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 12 || !slices.IsSorted(lines) {
		t.Errorf("lines:\n%s", out)
	}
}
