package keys

// What stands in the cluster beside the pods of the manager (workloadspread.md C3, C4). The names are OpenKruise's, so
// that only one of the two can own them.
const (
	// WebhookService leads to the webhook server of every replica of the manager.
	WebhookService = "kruise-webhook-service"
	// WebhookSecret holds the certificates of the webhook server.
	WebhookSecret = "kruise-webhook-certs"
	// MutatingConfiguration and ValidatingConfiguration register the webhooks.
	MutatingConfiguration   = "kruise-mutating-webhook-configuration"
	ValidatingConfiguration = "kruise-validating-webhook-configuration"
	// ManagedByLabel with the value FieldManager marks what we installed.
	ManagedByLabel = "app.kubernetes.io/managed-by"
	// PartOfLabel has the same value, also where Helm has installed it and says that it manages it.
	PartOfLabel = "app.kubernetes.io/part-of"
)

// Ports of the manager.
const (
	WebhookServicePort int32 = 443
	WebhookPort        int32 = 9876
	HealthPort         int32 = 8000
	MetricsPort        int32 = 8080
)

// Paths of the webhook server, the same for both versions of a kind.
const (
	ConvertPath          = "/convert"
	MutatePodPath        = "/mutate-pod"
	MutateCloneSetPath   = "/mutate-apps-kruise-io-cloneset"
	ValidateCloneSetPath = "/validate-apps-kruise-io-cloneset"
)

// MissedStepsAnnotation on a pod lists the steps of admission that failed or took too long when it was made, separated by
// commas. The pod came up without them.
const MissedStepsAnnotation = OwnPrefix + "missed-steps"
