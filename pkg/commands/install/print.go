package install

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/commands/cli"
)

// outcome is one object and what happened to it.
type outcome struct {
	object *unstructured.Unstructured
	did    string
}

func rendered(objects []*unstructured.Unstructured) []outcome {
	list := make([]outcome, len(objects))
	for i, o := range objects {
		list[i] = outcome{object: o, did: "would be applied"}
	}
	return list
}

func (o *options) print(deps *cli.Deps, list []outcome) error {
	objects := make([]any, len(list))
	for i, one := range list {
		objects[i] = one.object.Object
	}
	switch o.output {
	case cli.JSON:
		return cli.JSON.Write(deps.Out, map[string]any{"apiVersion": "v1", "kind": "List", "items": objects})
	case cli.YAML:
		for _, object := range objects {
			fmt.Fprintln(deps.Out, "---")
			if err := cli.YAML.Write(deps.Out, object); err != nil {
				return err
			}
		}
		return nil
	}
	for _, one := range list {
		line := nameOf(one.object)
		if o.output == cli.Text {
			line += " " + one.did + cli.DryRunNote(o.dryRun)
		}
		if _, err := fmt.Fprintln(deps.Out, line); err != nil {
			return err
		}
	}
	return nil
}

// nameOf is kind, group and name, as kubectl prints it.
func nameOf(object *unstructured.Unstructured) string {
	kind := strings.ToLower(object.GetKind())
	if group := object.GroupVersionKind().Group; group != "" {
		kind += "." + group
	}
	return kind + "/" + object.GetName()
}
