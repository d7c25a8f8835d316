package install

import (
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/features"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/launchorder"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/podready"
)

const podWebhook = "mpod.kb.io"

// How long the API server waits for an answer (workloadspread.md C3).
const (
	podTimeout  int32 = 10
	kindTimeout int32 = 30
)

var (
	mutatingType   = metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "MutatingWebhookConfiguration"}
	validatingType = metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "ValidatingWebhookConfiguration"}

	reviewVersions = []string{"v1", "v1beta1"}

	// What is being deleted is neither defaulted nor validated any more, so that a deletion can end without the webhook.
	notGoing = admissionv1.MatchCondition{
		Name: "is-not-being-deleted", Expression: "request.operation == 'DELETE' || !has(object.metadata.deletionTimestamp)",
	}
	// Only the deletion of what asks for protection has to be looked at.
	protected = admissionv1.MatchCondition{
		Name: "deletion-of-protected-alone",
		Expression: "request.operation != 'DELETE' || " +
			"has(oldObject.metadata.labels) && 'policy.kruise.io/delete-protection' in oldObject.metadata.labels",
	}
)

// concerns are the pods that a step of their admission may do something to or say something about; the API server need not
// ask about the others, which then cost nothing and come up while nobody answers, whatever the failure policy. A test of
// kruise-agent holds this against what the steps do.
func concerns(gates features.Gates) []admissionv1.MatchCondition {
	ready := podready.Concerns(gates)
	if ready == "" {
		return nil
	}
	return []admissionv1.MatchCondition{{Name: "concerns-a-step", Expression: ready + " || " + launchorder.Concerns}}
}

// mutating registers the kinds' webhook and, unless its gate is off, that of pods.
func mutating(config Config, gates features.Gates) *admissionv1.MutatingWebhookConfiguration {
	list := &admissionv1.MutatingWebhookConfiguration{
		TypeMeta: mutatingType, ObjectMeta: metav1.ObjectMeta{Name: keys.MutatingConfiguration, Labels: labels()},
		Webhooks: []admissionv1.MutatingWebhook{{
			Name: podWebhook, ClientConfig: server(config, keys.MutatePodPath),
			Rules:                   rulesFor(corev1.GroupName, []string{"v1"}, "pods", admissionv1.Create),
			NamespaceSelector:       elsewhere(config),
			MatchConditions:         concerns(gates),
			FailurePolicy:           ptr.To(admissionv1.FailurePolicyType(config.PodFailurePolicy)),
			ReinvocationPolicy:      ptr.To(admissionv1.NeverReinvocationPolicy),
			SideEffects:             ptr.To(admissionv1.SideEffectClassNone),
			TimeoutSeconds:          ptr.To(podTimeout),
			AdmissionReviewVersions: reviewVersions,
		}, {
			Name: "mcloneset.kb.io", ClientConfig: server(config, keys.MutateCloneSetPath),
			Rules:                   rulesFor("apps.kruise.io", []string{alpha, beta}, "clonesets", admissionv1.Create, admissionv1.Update),
			FailurePolicy:           ptr.To(admissionv1.Fail),
			MatchConditions:         []admissionv1.MatchCondition{notGoing},
			SideEffects:             ptr.To(admissionv1.SideEffectClassNone),
			TimeoutSeconds:          ptr.To(kindTimeout),
			AdmissionReviewVersions: reviewVersions,
		}},
	}
	if !gates.Enabled(features.PodWebhook) {
		list.Webhooks = list.Webhooks[1:]
	}
	return list
}

func validating(config Config) *admissionv1.ValidatingWebhookConfiguration {
	return &admissionv1.ValidatingWebhookConfiguration{
		TypeMeta: validatingType, ObjectMeta: metav1.ObjectMeta{Name: keys.ValidatingConfiguration, Labels: labels()},
		Webhooks: []admissionv1.ValidatingWebhook{{
			Name: "vcloneset.kb.io", ClientConfig: server(config, keys.ValidateCloneSetPath),
			Rules: rulesFor("apps.kruise.io", []string{alpha, beta}, "clonesets",
				admissionv1.Create, admissionv1.Update, admissionv1.Delete),
			FailurePolicy:           ptr.To(admissionv1.Fail),
			MatchConditions:         []admissionv1.MatchCondition{notGoing, protected},
			SideEffects:             ptr.To(admissionv1.SideEffectClassNone),
			TimeoutSeconds:          ptr.To(kindTimeout),
			AdmissionReviewVersions: reviewVersions,
		}},
	}
}

func server(config Config, path string) admissionv1.WebhookClientConfig {
	return admissionv1.WebhookClientConfig{Service: &admissionv1.ServiceReference{
		Namespace: config.Namespace, Name: keys.WebhookService, Path: &path, Port: ptr.To(keys.WebhookServicePort),
	}}
}

func rulesFor(group string, versions []string, resource string, operations ...admissionv1.OperationType) []admissionv1.RuleWithOperations {
	return []admissionv1.RuleWithOperations{{
		Operations: operations,
		Rule: admissionv1.Rule{
			APIGroups: []string{group}, APIVersions: versions, Resources: []string{resource}, Scope: ptr.To(admissionv1.NamespacedScope),
		},
	}}
}

// elsewhere leaves out the namespaces without which the webhook cannot come back (workloadspread.md C3).
func elsewhere(config Config) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
		Key: corev1.LabelMetadataName, Operator: metav1.LabelSelectorOpNotIn,
		Values: []string{config.Namespace, metav1.NamespaceSystem},
	}}}
}
