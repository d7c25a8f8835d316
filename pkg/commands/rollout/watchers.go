package rollout

import (
	"context"
	"fmt"
	"slices"
	"strings"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	autoscalingclient "k8s.io/client-go/kubernetes/typed/autoscaling/v2"
	policyclient "k8s.io/client-go/kubernetes/typed/policy/v1"
	"k8s.io/client-go/rest"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/view"
)

// neighbours reads the objects beside the workload that have a say about it.
type neighbours struct {
	autoscalers autoscalingclient.HorizontalPodAutoscalersGetter
	budgets     policyclient.PodDisruptionBudgetsGetter
}

func newNeighbours(config *rest.Config) (*neighbours, error) {
	autoscalers, err := autoscalingclient.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	budgets, err := policyclient.NewForConfig(config)
	return &neighbours{autoscalers, budgets}, err
}

// watchers lists who else owns, limits or scales the workload. What may not be read is said to be unknown.
func (s *subject) watchers(ctx context.Context) []view.Watcher {
	list := ownersOf(s.set)
	hpas, err := s.neighbours.autoscalers.HorizontalPodAutoscalers(s.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		list = append(list, unreadable("hpa", err))
	} else {
		for i := range hpas.Items {
			if w, ok := s.autoscaler(&hpas.Items[i]); ok {
				list = append(list, w)
			}
		}
	}
	pdbs, err := s.neighbours.budgets.PodDisruptionBudgets(s.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return append(list, unreadable("pdb", err))
	}
	for i := range pdbs.Items {
		if w, ok := budgetOf(&pdbs.Items[i], s.set); ok {
			list = append(list, w)
		}
	}
	return list
}

func unreadable(kind string, err error) view.Watcher {
	note := "unknown: " + err.Error()
	if apierrors.IsForbidden(err) {
		note = "unknown: may not be read"
	}
	return view.Watcher{Kind: kind, Note: note}
}

// autoscaler says that an autoscaler scales the workload.
func (s *subject) autoscaler(hpa *autoscalingv2.HorizontalPodAutoscaler) (view.Watcher, bool) {
	ref := hpa.Spec.ScaleTargetRef
	group, _, _ := strings.Cut(ref.APIVersion, "/")
	if ref.Kind != s.target.kind.Kind || ref.Name != s.target.name || group != s.target.kind.Group {
		return view.Watcher{}, false
	}
	least := int32(1)
	if hpa.Spec.MinReplicas != nil {
		least = *hpa.Spec.MinReplicas
	}
	return view.Watcher{Kind: "hpa", Name: hpa.Name, Note: fmt.Sprintf("min %d, max %d", least, hpa.Spec.MaxReplicas)}, true
}

// budgetOf says that a disruption budget covers the pods.
func budgetOf(pdb *policyv1.PodDisruptionBudget, set *v1beta1.CloneSet) (view.Watcher, bool) {
	selector, err := metav1.LabelSelectorAsSelector(pdb.Spec.Selector)
	if err != nil || !selector.Matches(labels.Set(set.Spec.Template.Labels)) {
		return view.Watcher{}, false
	}
	return view.Watcher{Kind: "pdb", Name: pdb.Name, Note: fmt.Sprintf("allows %d", pdb.Status.DisruptionsAllowed)}, true
}

// ownersOf finds owners, and tools that apply the workload from somewhere else: what they do not know of they take back.
func ownersOf(set *v1beta1.CloneSet) []view.Watcher {
	var list []view.Watcher
	for _, o := range set.OwnerReferences {
		list = append(list, view.Watcher{Kind: "owner", Name: strings.ToLower(o.Kind) + "/" + o.Name})
	}
	mark := func(kind, name string) {
		if name != "" && !slices.ContainsFunc(list, func(w view.Watcher) bool { return w.Kind == kind }) {
			list = append(list, view.Watcher{Kind: kind, Name: name, Note: "may take the change back"})
		}
	}
	mark("argocd", firstPart(set.Annotations["argocd.argoproj.io/tracking-id"], ":"))
	mark("argocd", set.Labels["argocd.argoproj.io/instance"])
	mark("flux", set.Labels["kustomize.toolkit.fluxcd.io/name"])
	mark("flux", set.Labels["helm.toolkit.fluxcd.io/name"])
	mark("helm", set.Annotations["meta.helm.sh/release-name"])
	return list
}

func firstPart(text, separator string) string {
	part, _, _ := strings.Cut(text, separator)
	return part
}
