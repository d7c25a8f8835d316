package view_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/view"
)

func TestTemplatesAreComparedByStablePaths(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ rule, from, to, paths, text string }{
		{"the same has no differences", `{"a":1}`, `{"a":1}`, "", ""},
		{"containers go by name, whatever their place",
			`{"spec":{"containers":[{"name":"nginx","image":"nginx:1.26"}]}}`,
			`{"spec":{"containers":[{"name":"agent","image":"agent:1"},{"name":"nginx","image":"nginx:1.27"}]}}`,
			"spec.containers[nginx].image spec.containers[agent]",
			"spec.containers\n  [nginx].image  nginx:1.26 -> nginx:1.27\n  [agent]        added: {\"image\":\"agent:1\",\"name\":\"agent\"}"},
		{"another order is a difference",
			`{"containers":[{"name":"a"},{"name":"b"}]}`, `{"containers":[{"name":"b"},{"name":"a"}]}`,
			"containers (order)", "containers (order)  a, b -> b, a"},
		{"env, mounts and ports go by their keys",
			`{"containers":[{"name":"a","env":[{"name":"X","value":"1"}],"ports":[{"containerPort":80}],"volumeMounts":[{"mountPath":"/a","name":"v"}]}]}`,
			`{"containers":[{"name":"a","env":[{"name":"X","value":"2"}],"ports":[{"containerPort":81}],"volumeMounts":[{"mountPath":"/a","name":"w"}]}]}`,
			"containers[a].env[X].value containers[a].ports[80] containers[a].ports[81] containers[a].volumeMounts[/a].name",
			"containers[a]\n  env[X].value           1 -> 2\n  ports\n    [80]  removed: {\"containerPort\":80}\n    [81]  added: {\"containerPort\":81}\n  volumeMounts[/a].name  v -> w"},
		{"entries without keys go by their place", `{"args":["a","b"]}`, `{"args":["a","c","d"]}`, "args[1] args[2]", "args\n  [1]  b -> c\n  [2]  added: d"},
		{"keys that come twice are no keys", `{"ports":[{"containerPort":1,"protocol":"TCP"},{"containerPort":1,"protocol":"UDP"}]}`,
			`{"ports":[{"containerPort":1,"protocol":"TCP"},{"containerPort":2,"protocol":"UDP"}]}`, "ports[1].containerPort", "ports[1].containerPort  1 -> 2"},
		{"annotations are quoted", `{"metadata":{"annotations":{}}}`, `{"metadata":{"annotations":{"a.b/c":"x"}}}`,
			`metadata.annotations."a.b/c"`, `metadata.annotations."a.b/c"  added: x`},
		{"texts from elsewhere are made safe", `{"a":"x"}`, `{"a":"\u001b[31m\ny"}`, "a", `a  x -> \u001b[31m y`},
	} {
		diffs, err := view.DiffJSON([]byte(c.from), []byte(c.to))
		if err != nil {
			t.Errorf("%s: %v", c.rule, err)
			continue
		}
		var paths []string
		for _, d := range diffs {
			paths = append(paths, d.Path)
		}
		if diff := cmp.Diff(c.paths, strings.Join(paths, " ")); diff != "" {
			t.Errorf("%s: paths %s", c.rule, diff)
		}
		if diff := cmp.Diff(c.text, strings.Join(view.DiffText(diffs), "\n")); diff != "" {
			t.Errorf("%s: text %s", c.rule, diff)
		}
	}
	if _, err := view.DiffJSON([]byte("{"), []byte("{}")); err == nil {
		t.Error("a document that is no JSON is compared")
	}
}
