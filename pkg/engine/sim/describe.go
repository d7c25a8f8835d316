package sim

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
)

// Describe says in one line what an action does, and why it did not if there is a reason. Values of annotations are left
// out; they are long and full of times.
func Describe(a *plan.Action, why Reason) string {
	var b strings.Builder
	if a.Verb == plan.Record {
		fmt.Fprintf(&b, "event %s: %s", a.Event.Reason, a.Event.Message)
		return b.String()
	}
	fmt.Fprintf(&b, "%s %s %s", a.Verb, a.On.Kind.Kind, a.On.Name)
	if a.Subresource != "" {
		fmt.Fprintf(&b, "/%s", a.Subresource)
	}
	switch change := a.Change.(type) {
	case nil:
	case *plan.PodChange:
		list := metaWords(&change.Meta)
		for _, container := range sortedKeys(change.Images) {
			list = append(list, container+"="+change.Images[container])
		}
		for _, container := range sortedKeys(change.Resources) {
			list = append(list, "resources of "+container)
		}
		for i := range change.Conditions {
			c := &change.Conditions[i]
			list = append(list, fmt.Sprintf("%s=%s", c.Type, c.Status))
		}
		b.WriteString(": " + strings.Join(list, ", "))
	case *plan.ObjectChange:
		b.WriteString(": " + strings.Join(metaWords(&change.Meta), ", "))
	default:
		b.WriteString(": " + a.Why)
	}
	if why != "" {
		fmt.Fprintf(&b, " -> %s", why)
	}
	return b.String()
}

func metaWords(m *plan.MetaChange) []string {
	var list []string
	for _, k := range sortedKeys(m.Labels) {
		if v := m.Labels[k]; v == nil {
			list = append(list, "-"+short(k))
		} else {
			list = append(list, short(k)+"="+*v)
		}
	}
	for _, k := range sortedKeys(m.Annotations) {
		if m.Annotations[k] == nil {
			list = append(list, "-@"+short(k))
		} else {
			list = append(list, "@"+short(k))
		}
	}
	for _, f := range m.AddFinalizers {
		list = append(list, "finalizer "+short(f))
	}
	for _, f := range m.RemoveFinalizers {
		list = append(list, "no finalizer "+short(f))
	}
	if m.SetOwner != nil {
		list = append(list, "owner "+m.SetOwner.Name)
	}
	if m.RemoveOwner != "" {
		list = append(list, "no owner")
	}
	return list
}

// short is a key without its domain.
func short(key string) string { return key[strings.LastIndexByte(key, '/')+1:] }

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
