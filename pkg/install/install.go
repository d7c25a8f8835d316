package install

import (
	"context"
	"fmt"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/features"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
)

// Options are how an installation is carried out.
type Options struct {
	// Now is the clock at the begin.
	Now time.Time
	// Wait is how long the manager has to become ready. Zero does not wait: then nothing that needs the manager is done,
	// and admission is registered by the next run.
	Wait time.Duration
	// Force takes fields from other managers.
	Force bool
}

// Outcome is what an installation did.
type Outcome struct {
	// Objects are what was applied last.
	Objects []*unstructured.Unstructured
	// Complete says that admission and conversion are registered.
	Complete bool
	Moved    Moved
}

// Install puts the pair into the cluster, or brings what is there to the given configuration.
//
// Admission is registered and both versions of the kinds are served only once the manager answers: until then the API
// server would refuse what it may not convert. Then the stored objects are written anew, so that all of them are v1beta1.
func (t *Target) Install(ctx context.Context, config Config, options Options) (*Outcome, error) {
	began := time.Now()
	present, err := t.Look(ctx, options.Now)
	if err != nil {
		return nil, err
	}
	if err := t.mayInstall(ctx, config, present); err != nil {
		return nil, err
	}
	how := applying{namespace: config.Namespace, wait: options.Wait, force: options.Force}
	if options.Wait == 0 {
		how.wait = time.Second
	}
	if !present.Complete() {
		objects, err := present.render(config, Running, nil)
		if err != nil {
			return nil, err
		}
		t.Say("%d objects to apply, then %d managers to wait for", len(objects), config.Replicas)
		if err := t.serving(ctx, objects, how, options); err != nil || options.Wait == 0 {
			return &Outcome{Objects: objects}, err
		}
		t.Say("the managers are ready; registering admission and conversion")
	}
	ca, err := t.authority(ctx, config, present)
	if err != nil {
		return nil, err
	}
	objects, err := present.render(config, Complete, ca)
	if err != nil {
		return nil, err
	}
	if err := t.serving(ctx, objects, how, options); err != nil {
		return nil, err
	}
	moved, err := t.move(ctx, beta)
	if err == nil && options.Wait > 0 {
		t.led(ctx, options.Now.Add(time.Since(began)))
	}
	return &Outcome{Objects: objects, Complete: true, Moved: moved}, err
}

// leadTime is how long a new leader is waited for: longer than the Lease of one that died.
const leadTime = 20 * time.Second

// led waits until a manager leads. It is no failure when none does: check says so.
func (t *Target) led(ctx context.Context, now time.Time) {
	began := time.Now()
	_ = wait.PollUntilContextTimeout(ctx, settlePoll, leadTime, true, func(ctx context.Context) (bool, error) {
		lease, err := t.leader(ctx)
		if err != nil || lease == nil {
			return false, nil
		}
		_, live := holding(lease, now.Add(time.Since(began)))
		return live, nil
	})
}

// mayInstall refuses what would take something of somebody else's, and what could not come up. Nothing has been written by
// then.
func (t *Target) mayInstall(ctx context.Context, config Config, p *Present) error {
	if err := p.refuse(config); err != nil {
		return err
	}
	list, err := t.get(ctx, configMapResource, config.Namespace, inventoryName)
	if err != nil {
		return err
	}
	if list != nil && !isOurs(list) {
		return fmt.Errorf("the ConfigMap %s/%s is somebody else's, and the list of what is installed has to be there; next: rename it, or install with another --namespace", config.Namespace, inventoryName)
	}
	gates, err := features.Parse(config.FeatureGates)
	if err == nil && gates.Enabled(features.EnableExternalCerts) {
		_, err = t.authority(ctx, config, p)
	}
	return err
}

// refuse says why a configuration must not be installed over what is there.
func (p *Present) refuse(config Config) error {
	if p.Foreign != "" {
		return fmt.Errorf("%w (found %s) and drives already: kubectl kruise works with it as it is, nothing has to be installed; "+
			"to replace it, uninstall it first and keep its CRDs", ErrForeign, p.Foreign)
	}
	if there := p.Namespace(); there != "" && there != config.Namespace {
		return fmt.Errorf("it is installed in namespace %s already, whole or in part; next: kubectl kruise install --namespace %s, or kubectl kruise uninstall --keep-crds", there, there)
	}
	return nil
}

// serving applies objects and waits for them. When the managers do not become ready it says why, in the words of their
// containers.
func (t *Target) serving(ctx context.Context, objects []*unstructured.Unstructured, how applying, options Options) error {
	err := t.apply(ctx, objects, how)
	late, ok := err.(*NotReadyError)
	switch {
	case !ok:
		return err
	case options.Wait == 0:
		return nil
	}
	if why := t.ailments(ctx, how.namespace); why != "" {
		return fmt.Errorf("%w after %s: %s; nothing that works was taken away; next: kubectl kruise install again once it is mended", late, options.Wait, why)
	}
	return fmt.Errorf("%w after %s; next: kubectl kruise check", late, options.Wait)
}

// render makes the objects for a stage, but nothing goes back: what serves both versions or is registered already stays
// so, with the CA that the API server trusts now.
func (p *Present) render(config Config, stage Stage, ca []byte) ([]*unstructured.Unstructured, error) {
	list, err := Manifests(config, Complete)
	if err != nil {
		return nil, err
	}
	alone, err := CRDsIn(config.Namespace, CRDsOnly)
	if err != nil {
		return nil, err
	}
	early := map[string]*apiextensionsv1.CustomResourceDefinition{}
	for _, crd := range alone {
		early[crd.Name] = crd
	}
	kept := list[:0]
	for _, object := range list {
		if crd, ok := object.(*apiextensionsv1.CustomResourceDefinition); ok && stage == Running && !converts(p.CRDs[crd.Name]) && !p.ahead(crd.Name) {
			early[crd.Name].Labels = crd.Labels
			object = early[crd.Name]
		}
		kept = append(kept, object)
	}
	objects, err := Applied(kept)
	if err != nil {
		return nil, err
	}
	gates, err := features.Parse(config.FeatureGates)
	if err != nil {
		return nil, err
	}
	var result []*unstructured.Unstructured
	for _, object := range objects {
		if stage == Running && !p.registered(object) {
			continue
		}
		result = append(result, p.trust(object, ca, gates.Enabled(features.EnableExternalCerts)))
	}
	return result, nil
}

// ahead says of a definition that v1beta1 objects may be stored.
func (p *Present) ahead(name string) bool {
	return p.CRDs[name] != nil && CRDsOnlyRefused(p.CRDs[name]) != ""
}

// registered says of a webhook configuration whether the cluster has it already; anything else counts as registered.
func (p *Present) registered(object *unstructured.Unstructured) bool {
	switch object.GetName() {
	case keys.MutatingConfiguration:
		return p.Mutating != nil
	case keys.ValidatingConfiguration:
		return p.Validating != nil
	}
	return true
}
