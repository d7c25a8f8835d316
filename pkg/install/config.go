package install

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/features"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
)

// FailurePolicy says what becomes of a request when the webhook does not answer.
type FailurePolicy string

// The failure policies.
const (
	Ignore FailurePolicy = "Ignore"
	Fail   FailurePolicy = "Fail"
)

// Config is what a user can choose of the in-cluster pair.
type Config struct {
	// Namespace is where it runs.
	Namespace string
	// Image is the image of kruise-agent.
	Image string
	// Replicas is the number of managers; all of them answer admission, one of them leads.
	Replicas int32
	// FeatureGates are passed on to manager and daemon as they are.
	FeatureGates string
	// Daemon says whether the node daemon is part of it.
	Daemon bool
	// PodFailurePolicy is that of pod mutation. Ignore lets a cluster without a single replica accept pods.
	PodFailurePolicy FailurePolicy
	// Version is the version of the program that renders, for people.
	Version string
}

// Defaults is the choice of somebody who says nothing, but for the image.
func Defaults() Config {
	return Config{Namespace: keys.InstallNamespace, Replicas: 2, Daemon: true, PodFailurePolicy: Ignore}
}

// Objects that carry our marks. The names are those of OpenKruise wherever two managers must not stand side by side.
const (
	managerName    = "kruise-controller-manager"
	daemonName     = "kruise-daemon"
	managerAccount = "kruise-manager"
	daemonAccount  = "kruise-daemon"
	managerRole    = "kruise-manager-role"
)

// Labels of everything that is installed.
const (
	versionLabel   = "app.kubernetes.io/version"
	componentLabel = "control-plane"
)

func labels() map[string]string {
	return map[string]string{keys.ManagedByLabel: keys.FieldManager, keys.PartOfLabel: keys.FieldManager}
}

// Stage is how far an installation is.
type Stage int

const (
	// Running is what has to serve before the API server may be told to ask it: everything but the webhook
	// configurations, and the CRDs as CRDsOnly has them.
	Running Stage = iota
	// Complete is everything.
	Complete
)

// Manifests are the objects of the in-cluster pair, in the order in which they are applied. The CRDs and the webhook
// configurations carry no CA bundle: the manager fills it in where it is missing.
func Manifests(config Config, stage Stage) ([]runtime.Object, error) {
	rendering := Full
	if stage == Running {
		rendering = CRDsOnly
	}
	crds, err := CRDsIn(config.Namespace, rendering)
	if err != nil {
		return nil, fmt.Errorf("definitions of the kinds: %w", err)
	}
	gates, err := features.Parse(config.FeatureGates)
	if err != nil {
		return nil, fmt.Errorf("feature gates: %w", err)
	}
	list := []runtime.Object{namespace(config.Namespace)}
	if config.Namespace != keys.InstallNamespace {
		list = append(list, namespace(keys.InstallNamespace)) // the leader's Lease is there, where everybody looks for it
	}
	for _, crd := range crds {
		crd.Labels = labels()
		list = append(list, crd)
	}
	list = append(list, rights(config, gates)...)
	list = append(list, service(config), budget(config), deployment(config))
	if config.Daemon {
		list = append(list, daemonSet(config))
	}
	if stage == Complete {
		list = append(list, mutating(config, gates), validating(config))
	}
	return list, nil
}
