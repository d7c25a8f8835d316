package install_test

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/install"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// manifests renders a configuration.
func manifests(t *testing.T, config install.Config, stage install.Stage) []*unstructured.Unstructured {
	t.Helper()
	list, err := install.Manifests(config, stage)
	if err != nil {
		t.Fatal(err)
	}
	objects, err := install.Applied(list)
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

func chosen(change func(*install.Config)) install.Config {
	config := install.Defaults()
	config.Image, config.Version = "registry.example/kruise-agent:v1", "v1"
	change(&config)
	return config
}

// The definitions have tests of their own; here they would only be long.
func withoutDefinitions(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	return slices.DeleteFunc(objects, func(o *unstructured.Unstructured) bool { return o.GetKind() == "CustomResourceDefinition" })
}

func TestManifests(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		stage  install.Stage
		change func(*install.Config)
	}{
		"defaults": {install.Complete, func(*install.Config) {}},
		"all-choices": {install.Complete, func(c *install.Config) {
			c.Namespace, c.Replicas, c.Daemon = "kruise", 3, false
			c.FeatureGates, c.PodFailurePolicy, c.Version = "PodWebhook=false,InPlaceWorkloadVerticalScaling=true", install.Fail, "v1+dirty"
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := install.Documents(withoutDefinitions(manifests(t, chosen(test.change), test.stage)))
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join("testdata", "manifests", name+".golden.yaml")
			if *update {
				if err := os.WriteFile(file, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("%s (-want +got), to be rewritten by -update:\n%s", file, diff)
			}
		})
	}
}

// Before the managers answer nothing may make the API server ask them.
func TestTheFirstStageAsksNobody(t *testing.T) {
	t.Parallel()
	for _, o := range manifests(t, chosen(func(*install.Config) {}), install.Running) {
		if strings.Contains(o.GetKind(), "Webhook") {
			t.Errorf("%s %s is in the first stage", o.GetKind(), o.GetName())
		}
		if _, found, _ := unstructured.NestedMap(o.Object, "spec", "conversion"); found {
			t.Errorf("%s converts in the first stage", o.GetName())
		}
	}
}

func TestUnknownGatesAreRefused(t *testing.T) {
	t.Parallel()
	if _, err := install.Manifests(chosen(func(c *install.Config) { c.FeatureGates = "NoSuchGate=true" }), install.Complete); err == nil {
		t.Error("an unknown gate is rendered")
	}
}

// Rights are only as wide as the names that are written to.
func TestRightsHaveNoWildcards(t *testing.T) {
	t.Parallel()
	for _, o := range manifests(t, chosen(func(*install.Config) {}), install.Complete) {
		rules, found, err := unstructured.NestedSlice(o.Object, "rules")
		if err != nil || !found {
			continue
		}
		for _, rule := range rules {
			for field, values := range rule.(map[string]any) {
				if slices.Contains(values.([]any), any("*")) {
					t.Errorf("%s %s: %s has a wildcard", o.GetKind(), o.GetName(), field)
				}
			}
		}
	}
}
