package view

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestACheckInWords(t *testing.T) {
	t.Parallel()
	c := &Check{Parts: []CheckPart{
		{Name: "managers", Verdict: CheckOK, Text: "2 of 2 ready"},
		{Name: "leader", Verdict: CheckFailed, Text: "nobody\x1b[2J leads", Hint: "kubectl logs"},
	}}
	c.Finish()
	if c.OK {
		t.Error("a check with a failed part is ok")
	}
	want := "managers  ok      2 of 2 ready\n" +
		"leader    failed  nobody" + Clean("\x1b") + "[2J leads\n" +
		"                  next: kubectl logs\n"
	if diff := cmp.Diff(want, c.Text()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestACheckShowsAFewOfManyPods(t *testing.T) {
	t.Parallel()
	c := &Check{Parts: []CheckPart{{Name: "pods", Verdict: CheckWarning}}}
	for i := range 12 {
		c.Missed = append(c.Missed, MissedPod{Namespace: "shop", Name: fmt.Sprintf("web-%02d", i), Steps: "all"})
	}
	c.Finish()
	if !c.OK {
		t.Error("a warning makes the check fail")
	}
	text := c.Text()
	if !strings.Contains(text, "missed  shop/web-09  all\nand 2 more pods, see -o json\n") || strings.Contains(text, "web-10") {
		t.Errorf("got:\n%s", text)
	}
}
