package rollout

import (
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
)

func TestRulesThatGiveARight(t *testing.T) {
	t.Parallel()
	pods, status, set := right{"", "pods", "patch"}, right{"", "pods/status", "patch"}, right{"apps.kruise.io", "clonesets", "patch"}
	rule := func(groups, resources, verbs []string, names ...string) authorizationv1.ResourceRule {
		return authorizationv1.ResourceRule{APIGroups: groups, Resources: resources, Verbs: verbs, ResourceNames: names}
	}
	all := []string{"*"}
	tests := map[string]struct {
		right right
		rule  authorizationv1.ResourceRule
		want  bool
	}{
		"named exactly":                    {pods, rule([]string{""}, []string{"pods"}, []string{"get", "patch"}), true},
		"another verb":                     {pods, rule([]string{""}, []string{"pods"}, []string{"get"}), false},
		"another group":                    {pods, rule([]string{"apps"}, []string{"pods"}, all), false},
		"everything":                       {status, rule(all, all, all), true},
		"a resource is not its parts":      {status, rule([]string{""}, []string{"pods"}, all), false},
		"the subresource of all resources": {status, rule([]string{""}, []string{"*/status"}, all), true},
		"single pods do not help":          {pods, rule([]string{""}, []string{"pods"}, all, "web-1"), false},
		"the workload by its name":         {set, rule([]string{"apps.kruise.io"}, []string{"clonesets"}, all, "web"), true},
		"another workload by its name":     {set, rule([]string{"apps.kruise.io"}, []string{"clonesets"}, all, "api"), false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := test.right.in(test.rule, "web"); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}
