package rollout

import (
	"errors"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/commands/cli"
)

func TestTargetsAsTheyAreTyped(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"cloneset/web", "clonesets/web", "clone/web", "CloneSet/web", "cloneset.apps.kruise.io/web",
		"clonesets.v1alpha1.apps.kruise.io/web", "cloneset.v1beta1.apps.kruise.io/web", "cloneset web"} {
		got, err := parseTarget(&cobra.Command{Use: "rollout"}, strings.Fields(line))
		if err != nil || got.String() != "cloneset/web" || got.full() != "cloneset.apps.kruise.io/web" {
			t.Errorf("%q: got %s, %v", line, got, err)
		}
	}
}

func TestTargetsThatAreRefused(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"web":                               "want TYPE/NAME, e.g. cloneset/web",
		"/web":                              "want TYPE/NAME",
		"cloneset/":                         "want TYPE/NAME",
		"cloneset/web/x":                    "want TYPE/NAME",
		"cloneset/web other":                "want TYPE/NAME",
		"cloneset a b":                      "want TYPE/NAME",
		"deploy/web":                        "deploy is not supported yet; supported: cloneset",
		"statefulsets/web":                  "statefulsets is not supported yet",
		"statefulset.apps.kruise.io/web":    "not supported yet",
		"daemonset.v1beta1.apps.kruise.io/": "want TYPE/NAME",
		"cloneset.apps/web":                 `unknown type "cloneset.apps"; supported: cloneset`,
		"cloneset.v1.apps.kruise.io/web":    "unknown type",
		"pod/web":                           "unknown type",
	}
	for line, want := range tests {
		_, err := parseTarget(&cobra.Command{Use: "rollout"}, strings.Fields(line))
		var coded *cli.Error
		if !errors.As(err, &coded) || coded.Code != cli.Usage || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want a usage error with %q", line, err, want)
		}
	}
}
