package install

import (
	"context"
	"fmt"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/launchorder"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/podready"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/view"
)

// missed finds the pods that came up without a step of their admission: because a step failed, which the pod says itself,
// or because nobody answered, which shows in pods of our kinds that lack the readiness gate, and in pods that ask for a
// launch order and have none.
func (t *Target) missed(ctx context.Context, p *Present) (view.CheckPart, []view.MissedPod) {
	part := view.CheckPart{Name: "pods", Verdict: view.CheckOK, Text: "none has missed a step of its admission"}
	if p.Mutating == nil || !asks(p, podWebhook) {
		part.Verdict, part.Text = view.CheckAbsent, "their admission is not registered"
		return part, nil
	}
	registered := p.Mutating.CreationTimestamp
	var missed []view.MissedPod
	err := t.eachPod(ctx, func(pod *unstructured.Unstructured) {
		if at := pod.GetNamespace(); at == p.Namespace() || at == metav1.NamespaceSystem {
			return
		}
		if steps := missedSteps(pod, registered); steps != "" {
			missed = append(missed, view.MissedPod{Namespace: pod.GetNamespace(), Name: pod.GetName(), Steps: steps})
		}
	})
	if err != nil {
		return unreadable(part, err), nil
	}
	if len(missed) > 0 {
		slices.SortFunc(missed, func(a, b view.MissedPod) int {
			return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name)
		})
		part.Verdict, part.Text = view.CheckWarning, fmt.Sprintf("%d came up without all steps of their admission", len(missed))
		part.Hint = "delete these pods when it suits you; those that replace them get what they missed"
	}
	return part, missed
}

// waiting are the pods of all namespaces that wait for levels of their launch order, by namespace and name. Who may not read
// all pods is told of none.
func (t *Target) waiting(ctx context.Context) ([]string, error) {
	var list []string
	err := t.eachPod(ctx, func(object *unstructured.Unstructured) {
		pod := &corev1.Pod{}
		if runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, pod) == nil && launchorder.Pending(pod) {
			list = append(list, pod.Namespace+"/"+pod.Name)
		}
	})
	if apierrors.IsForbidden(err) {
		return nil, nil
	}
	slices.Sort(list)
	return list, err
}

// eachPod hands over the pods of all namespaces.
func (t *Target) eachPod(ctx context.Context, do func(*unstructured.Unstructured)) error {
	options := metav1.ListOptions{Limit: pageSize}
	for {
		list, err := t.at(podResource, "").List(ctx, options)
		if err != nil {
			return err
		}
		for i := range list.Items {
			do(&list.Items[i])
		}
		if options.Continue = list.GetContinue(); options.Continue == "" {
			return nil
		}
	}
}

// missedSteps says which steps a pod that was made since a moment has missed; empty for none.
func missedSteps(object *unstructured.Unstructured, registered metav1.Time) string {
	if steps := object.GetAnnotations()[keys.MissedStepsAnnotation]; steps != "" {
		return steps
	}
	if object.GetCreationTimestamp().Time.Before(registered.Time.Add(1)) {
		return ""
	}
	pod := &corev1.Pod{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, pod); err != nil {
		return ""
	}
	if podready.OfWorkload(pod) && !gated(pod) {
		return "all"
	}
	if asks, _, err := launchorder.Mutate(pod.DeepCopy(), launchorder.Options{}); err == nil && asks && !launchorder.Ordered(pod) {
		return "launch-priority"
	}
	return ""
}

// rights asks whether the person may do what a rollout takes (docs/rbac.md).
func (t *Target) rights(ctx context.Context, namespace string) view.CheckPart {
	part := view.CheckPart{Name: "rights", Verdict: view.CheckOK, Text: "yours suffice for rollouts in namespace " + namespace}
	var lacking []string
	for _, r := range rolloutRules() {
		for _, resource := range r.Resources {
			for _, verb := range r.Verbs {
				name, sub, _ := strings.Cut(resource, "/")
				review := &authorizationv1.SelfSubjectAccessReview{
					TypeMeta: metav1.TypeMeta{APIVersion: authorizationv1.SchemeGroupVersion.String(), Kind: "SelfSubjectAccessReview"},
					Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
						Namespace: namespace, Verb: verb, Group: r.APIGroups[0], Resource: name, Subresource: sub,
					}},
				}
				allowed, err := t.allowed(ctx, review)
				if err != nil {
					return unreadable(part, err)
				}
				if !allowed {
					lacking = append(lacking, verb+" "+resource)
				}
			}
		}
	}
	if len(lacking) > 0 {
		part.Verdict, part.Text = view.CheckWarning, "in namespace "+namespace+" you may not "+few(lacking)
		part.Hint = "ask for the Role in docs/rbac.md"
	}
	return part
}

func (t *Target) allowed(ctx context.Context, review *authorizationv1.SelfSubjectAccessReview) (bool, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(review)
	if err != nil {
		return false, err
	}
	resource := schema.GroupVersionResource{Group: authorizationv1.GroupName, Version: "v1", Resource: "selfsubjectaccessreviews"}
	answer, err := t.at(resource, "").Create(ctx, &unstructured.Unstructured{Object: content}, metav1.CreateOptions{})
	if err != nil {
		return false, err
	}
	allowed, _, err := unstructured.NestedBool(answer.Object, "status", "allowed")
	return allowed, err
}
