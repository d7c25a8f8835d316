package rollout

import (
	"context"
	"fmt"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// right is a write that driving needs.
type right struct{ group, resource, verb string }

// rights are the writes that a rollout cannot do without, whatever the change is (docs/rbac.md).
func rights() []right {
	return []right{
		{"apps.kruise.io", "clonesets", "patch"},
		{"apps.kruise.io", "clonesets/status", "patch"},
		{"", "pods", "create"},
		{"", "pods", "patch"},
		{"", "pods", "delete"},
		{"", "pods/status", "patch"},
		{"apps", "controllerrevisions", "create"},
		{"coordination.k8s.io", "leases", "create"},
		{"coordination.k8s.io", "leases", "patch"},
	}
}

// mayDrive asks the server for the user's rights in the namespace and refuses a rollout that would stop half way. Where
// the server cannot list all rights, the writes themselves will tell.
func (s *subject) mayDrive(ctx context.Context) error {
	review, err := s.reviewer.SelfSubjectRulesReviews().Create(ctx, &authorizationv1.SelfSubjectRulesReview{
		Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: s.namespace},
	}, metav1.CreateOptions{})
	if err != nil || review.Status.Incomplete {
		return nil
	}
	var lacking []string
	for _, r := range rights() {
		if !slices.ContainsFunc(review.Status.ResourceRules, func(rule authorizationv1.ResourceRule) bool { return r.in(rule, s.target.name) }) {
			lacking = append(lacking, r.verb+" "+r.resource)
		}
	}
	if len(lacking) == 0 {
		return nil
	}
	return fmt.Errorf("no permission in namespace %s to %s; nothing is written", s.namespace, strings.Join(lacking, ", "))
}

// in says that a rule gives the right. A rule for single names counts if it is about the workload's own objects.
func (r right) in(rule authorizationv1.ResourceRule, name string) bool {
	has := func(list []string, word string) bool {
		return slices.Contains(list, word) || slices.Contains(list, "*")
	}
	_, subresource, below := strings.Cut(r.resource, "/")
	resource := has(rule.Resources, r.resource) || below && slices.Contains(rule.Resources, "*/"+subresource)
	named := len(rule.ResourceNames) == 0 || r.group == "apps.kruise.io" && slices.Contains(rule.ResourceNames, name)
	return resource && named && has(rule.Verbs, r.verb) && has(rule.APIGroups, r.group)
}
