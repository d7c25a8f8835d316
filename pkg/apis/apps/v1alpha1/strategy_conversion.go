package v1alpha1

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
)

// strategyToHub converts the update strategy and settles the annotations of
// the new object. It may keep parts of its first argument.
func strategyToHub(in CloneSetUpdateStrategy, out metav1.Object) v1beta1.CloneSetUpdateStrategy {
	annotations := out.GetAnnotations()
	policy, hasBlock := annotations[keys.OnDeletePolicyAnnotation]
	delete(annotations, keys.OnDeletePolicyAnnotation)
	delete(annotations, keys.OnDeleteStrategyAnnotation)

	if in.Type == OnDeleteCloneSetUpdateStrategyType {
		hub := v1beta1.CloneSetUpdateStrategy{Type: v1beta1.OnDeleteCloneSetUpdateStrategyType}
		if hasBlock {
			hub.RollingUpdate = blockToHub(in, v1beta1.PodUpdatePolicy(policy), annotations)
		} else {
			keepFields(in, &annotations)
			out.SetAnnotations(annotations)
		}
		return hub
	}
	return v1beta1.CloneSetUpdateStrategy{
		Type:          v1beta1.RollingUpdateCloneSetUpdateStrategyType,
		RollingUpdate: blockToHub(in, policyOf(in.Type), annotations),
	}
}

// strategyFromHub converts the update strategy and settles the annotations of
// the new object. It may keep parts of its first argument.
func strategyFromHub(in v1beta1.CloneSetUpdateStrategy, out metav1.Object) CloneSetUpdateStrategy {
	annotations := out.GetAnnotations()
	kept := annotations[keys.OnDeleteStrategyAnnotation]
	delete(annotations, keys.OnDeleteStrategyAnnotation)
	delete(annotations, keys.OnDeletePolicyAnnotation)
	defer func() { out.SetAnnotations(annotations) }()

	onDelete := in.Type == v1beta1.OnDeleteCloneSetUpdateStrategyType
	if onDelete && in.RollingUpdate == nil {
		return restoreFields(kept)
	}
	block := in.RollingUpdate
	if block == nil {
		block = &v1beta1.RollingUpdateCloneSetStrategy{}
	}
	strategy := CloneSetUpdateStrategy{
		Type:                  typeOf(block.PodUpdatePolicy),
		Partition:             block.Partition,
		MaxUnavailable:        block.MaxUnavailable,
		MaxSurge:              block.MaxSurge,
		Paused:                block.Paused,
		PriorityStrategy:      block.PriorityStrategy,
		ScatterStrategy:       block.ScatterStrategy,
		InPlaceUpdateStrategy: inPlaceFromHub(block.InPlaceUpdateStrategy, &annotations),
	}
	if onDelete {
		strategy.Type = OnDeleteCloneSetUpdateStrategyType
		put(&annotations, keys.OnDeletePolicyAnnotation, string(block.PodUpdatePolicy))
	}
	return strategy
}

func blockToHub(in CloneSetUpdateStrategy, policy v1beta1.PodUpdatePolicy, annotations map[string]string) *v1beta1.RollingUpdateCloneSetStrategy {
	return &v1beta1.RollingUpdateCloneSetStrategy{
		PodUpdatePolicy:       policy,
		Partition:             in.Partition,
		MaxUnavailable:        in.MaxUnavailable,
		MaxSurge:              in.MaxSurge,
		Paused:                in.Paused,
		PriorityStrategy:      in.PriorityStrategy,
		ScatterStrategy:       in.ScatterStrategy,
		InPlaceUpdateStrategy: inPlaceToHub(in.InPlaceUpdateStrategy, annotations),
	}
}

// keepFields remembers what an OnDelete set says apart from its type.
func keepFields(in CloneSetUpdateStrategy, annotations *map[string]string) {
	in.Type = ""
	// Numbers, strings and maps of strings always encode. A list without entries says as much as none.
	if data, err := json.Marshal(in); err == nil && string(data) != "{}" {
		put(annotations, keys.OnDeleteStrategyAnnotation, string(data))
	}
}

// restoreFields is the reverse of keepFields. An annotation that somebody
// spoiled counts as absent.
func restoreFields(kept string) CloneSetUpdateStrategy {
	var strategy CloneSetUpdateStrategy
	if kept != "" && json.Unmarshal([]byte(kept), &strategy) != nil {
		strategy = CloneSetUpdateStrategy{}
	}
	strategy.Type = OnDeleteCloneSetUpdateStrategyType
	return strategy
}

// policyOf is the policy of a type other than OnDelete.
func policyOf(t CloneSetUpdateStrategyType) v1beta1.PodUpdatePolicy {
	switch t {
	case InPlaceIfPossibleCloneSetUpdateStrategyType, InPlaceOnlyCloneSetUpdateStrategyType:
		return v1beta1.PodUpdatePolicy(t)
	default:
		return v1beta1.ReCreatePodUpdatePolicy
	}
}

// typeOf is the reverse of policyOf.
func typeOf(policy v1beta1.PodUpdatePolicy) CloneSetUpdateStrategyType {
	switch policy {
	case v1beta1.InPlaceIfPossiblePodUpdatePolicy, v1beta1.InPlaceOnlyPodUpdatePolicy:
		return CloneSetUpdateStrategyType(policy)
	default:
		return ReCreateCloneSetUpdateStrategyType
	}
}

// put sets a key, making the map when there is none.
func put(m *map[string]string, key, value string) {
	if *m == nil {
		*m = map[string]string{}
	}
	(*m)[key] = value
}
