package rollout

import (
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/features"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/commands/cli"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/reconcile"
)

// kind is a kind of workload that the verb knows by name.
type kind struct {
	schema.GroupKind
	// names are what a user may type, the plural first.
	names []string
	// loop is what drives the kind; nil for a kind that is not supported yet.
	loop *reconcile.Kind
}

// kinds lists what a user may name. A kind without a loop is recognised so that the refusal can be a clear one.
func kinds() []kind {
	group := v1beta1.GroupName
	return []kind{
		{GroupKind: plan.CloneSetKind, names: []string{v1beta1.CloneSetResource, "cloneset", "clone"}, loop: reconcile.CloneSet()},
		{GroupKind: schema.GroupKind{Group: "apps", Kind: "Deployment"}, names: []string{"deployments", "deployment", "deploy"}},
		{GroupKind: schema.GroupKind{Group: "apps", Kind: "StatefulSet"}, names: []string{"statefulsets", "statefulset", "sts"}},
		{GroupKind: schema.GroupKind{Group: "apps", Kind: "DaemonSet"}, names: []string{"daemonsets", "daemonset", "ds"}},
		{GroupKind: schema.GroupKind{Group: "apps", Kind: "ReplicaSet"}, names: []string{"replicasets", "replicaset", "rs"}},
		{GroupKind: schema.GroupKind{Group: group, Kind: "StatefulSet"}, names: []string{"statefulsets", "statefulset", "asts"}},
		{GroupKind: schema.GroupKind{Group: group, Kind: "DaemonSet"}, names: []string{"daemonsets", "daemonset", "ads"}},
		{GroupKind: schema.GroupKind{Group: group, Kind: "UnitedDeployment"}, names: []string{"uniteddeployments", "uniteddeployment", "ud"}},
		{GroupKind: schema.GroupKind{Group: group, Kind: "SidecarSet"}, names: []string{"sidecarsets", "sidecarset"}},
	}
}

// target is the workload that a command line names.
type target struct {
	kind kind
	name string
	// gates say what has to be known of the cluster besides.
	gates features.Gates
}

// String is the target as people type it: cloneset/web.
func (t target) String() string { return strings.ToLower(t.kind.Kind) + "/" + t.name }

// full is the target as kubectl names it in results: cloneset.apps.kruise.io/web.
func (t target) full() string {
	return strings.ToLower(t.kind.Kind) + "." + t.kind.Group + "/" + t.name
}

// parseTarget reads TYPE/NAME or TYPE NAME.
func parseTarget(cmd *cobra.Command, args []string) (target, error) {
	typed, name, ok := "", "", false
	switch len(args) {
	case 1:
		typed, name, ok = strings.Cut(args[0], "/")
	case 2:
		typed, name, ok = args[0], args[1], !strings.Contains(args[0]+args[1], "/")
	}
	if !ok || typed == "" || name == "" || strings.Contains(name, "/") {
		return target{}, cli.Usagef("%s %q: want TYPE/NAME, e.g. cloneset/web", cmd.CommandPath(), strings.Join(args, " "))
	}
	k, err := findKind(typed)
	return target{kind: k, name: name}, err
}

// findKind finds a kind by its singular, plural or short name, optionally with the group or with version and group:
// clonesets, cloneset.apps.kruise.io, clonesets.v1alpha1.apps.kruise.io. The version is only checked: which one is used
// depends on what the cluster serves.
func findKind(typed string) (kind, error) {
	word, rest, _ := strings.Cut(strings.ToLower(typed), ".")
	for _, k := range kinds() {
		if !contains(k.names, word) || !groupMatches(k, rest) {
			continue
		}
		if k.loop == nil {
			return kind{}, cli.Usagef("%s is not supported yet; supported: %s", typed, supported())
		}
		return k, nil
	}
	return kind{}, cli.Usagef("unknown type %q; supported: %s", typed, supported())
}

func groupMatches(k kind, rest string) bool {
	if rest == "" || rest == k.Group {
		return true
	}
	version, group, _ := strings.Cut(rest, ".")
	return group == k.Group && (k.loop == nil || contains(k.loop.Versions, version))
}

func contains(list []string, word string) bool {
	for _, w := range list {
		if w == word {
			return true
		}
	}
	return false
}

func supported() string {
	var names []string
	for _, k := range kinds() {
		if k.loop != nil {
			names = append(names, strings.ToLower(k.Kind))
		}
	}
	return strings.Join(names, ", ")
}
