package launchorder

import "github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"

// Concerns is the CEL expression over a new pod, object, that says whether Mutate may change it, refuse it or warn. A
// webhook need not be asked about other pods.
const Concerns = "has(object.metadata.annotations) && '" + keys.LaunchPriorityAnnotation + "' in object.metadata.annotations || " +
	"object.spec.containers != null && object.spec.containers.exists(" + asks + ") || " +
	"has(object.spec.initContainers) && object.spec.initContainers.exists(" + asks + ")"

const asks = "c, has(c.env) && c.env.exists(e, e.name == '" + keys.PriorityEnv + "')"
