package install

import (
	"strings"
	"testing"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/view"
)

// Kinds that convert by a webhook need somebody who does it.
func TestKindsWithoutAConverter(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name       string
		rendering  Rendering
		registered bool
		managed    bool
		want       string
	}{
		{"kinds alone", CRDsOnly, false, false, view.CheckOK},
		{"complete", Full, true, true, view.CheckOK},
		{"managers that are not ready, before admission is registered", Full, false, true, view.CheckOK},
		{"nobody", Full, false, false, view.CheckFailed},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			part := kinds(state(t, test.rendering, test.registered, ""), test.managed)
			if part.Verdict != test.want || (test.want == view.CheckFailed) != strings.Contains(part.Text, "a webhook that is not there") {
				t.Errorf("%s: %s, want %s", part.Verdict, part.Text, test.want)
			}
		})
	}
}
