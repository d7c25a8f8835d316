package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/template"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/install"
)

// fill does what Helm does with the few things that the chart uses, and returns the objects as YAML by kind and name.
func fill(t *testing.T, files map[string]string, release string, change map[string]any) map[string]string {
	t.Helper()
	values, about := map[string]any{}, struct {
		AppVersion string `json:"appVersion"`
	}{}
	for name, into := range map[string]any{"values.yaml": &values, "Chart.yaml": &about} {
		if err := yaml.Unmarshal([]byte(files[name]), into); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	maps.Copy(values, change)
	functions := template.FuncMap{
		"quote":      func(s string) string { return fmt.Sprintf("%q", s) },
		"regexMatch": regexp.MatchString,
		"fail":       func(why string) (string, error) { return "", errors.New(why) },
		"contains":   func(part, s string) bool { return strings.Contains(s, part) },
	}
	found := map[string]string{}
	for name, text := range files {
		if !strings.HasPrefix(name, "templates/") || !strings.HasSuffix(name, ".yaml") {
			continue
		}
		parsed, err := template.New(name).Funcs(functions).Option("missingkey=error").Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		data := map[string]any{"Values": values, "Chart": about, "Release": map[string]any{"Namespace": release}}
		if err := parsed.Execute(&out, data); err != nil {
			t.Fatal(err)
		}
		if strings.TrimSpace(out.String()) != "" {
			add(t, found, []byte(out.String()))
		}
	}
	return found
}

// add notes an object in its normal form, without what Helm alone needs.
func add(t *testing.T, found map[string]string, data []byte) {
	t.Helper()
	object := map[string]any{}
	if err := yaml.UnmarshalStrict(data, &object); err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
	meta := object["metadata"].(map[string]any)
	if annotations, ok := meta["annotations"].(map[string]any); ok {
		delete(annotations, keepAnnotation)
	}
	text, err := yaml.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	found[fmt.Sprintf("%s %s/%s", object["kind"], meta["namespace"], meta["name"])] = string(text)
}

func TestTheChartIsWhatInstallInstalls(t *testing.T) {
	t.Parallel()
	files, err := chart("v1.2.3", "registry.example/kruise-agent:v1")
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		values map[string]any
		change func(*install.Config)
	}{
		"defaults": {nil, func(*install.Config) {}},
		"all values": {
			map[string]any{"namespace": "kruise", "image": "other:1", "replicas": 3, "featureGates": "CloneSetShortHash=true", "daemon": false, "podFailurePolicy": "Fail"},
			func(c *install.Config) {
				c.Namespace, c.Image, c.Replicas, c.FeatureGates, c.Daemon, c.PodFailurePolicy = "kruise", "other:1", 3, "CloneSetShortHash=true", false, install.Fail
			},
		},
		"pods that are resized": {
			map[string]any{"featureGates": "InPlaceWorkloadVerticalScaling=true"}, func(c *install.Config) { c.FeatureGates = "InPlaceWorkloadVerticalScaling=true" },
		},
		"all gates": {map[string]any{"featureGates": "AllAlpha=true"}, func(c *install.Config) { c.FeatureGates = "AllAlpha=true" }},
		"all gates but one": {
			map[string]any{"featureGates": "AllAlpha=true,EnableExternalCerts=false"}, func(c *install.Config) { c.FeatureGates = "AllAlpha=true,EnableExternalCerts=false" },
		},
		"resized and other certificates": {
			map[string]any{"featureGates": "InPlaceWorkloadVerticalScaling=true,EnableExternalCerts=true"},
			func(c *install.Config) {
				c.FeatureGates = "InPlaceWorkloadVerticalScaling=true,EnableExternalCerts=true"
			},
		},
		"other certificates": {
			map[string]any{"featureGates": "EnableExternalCerts=true"}, func(c *install.Config) { c.FeatureGates = "EnableExternalCerts=true" },
		},
		"all pods": {
			map[string]any{"featureGates": "KruisePodReadinessGate=true"}, func(c *install.Config) { c.FeatureGates = "KruisePodReadinessGate=true" },
		},
		"no beta gates": {map[string]any{"featureGates": "AllBeta=false"}, func(c *install.Config) { c.FeatureGates = "AllBeta=false" }},
		"no beta gates but one": {
			map[string]any{"featureGates": "AllBeta=false,PodWebhook=true"}, func(c *install.Config) { c.FeatureGates = "AllBeta=false,PodWebhook=true" },
		},
		"no admission of pods": {
			map[string]any{"featureGates": "PodWebhook=false"}, func(c *install.Config) { c.FeatureGates = "PodWebhook=false" },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := install.Defaults()
			config.Image, config.Version = "registry.example/kruise-agent:v1", "v1.2.3"
			test.change(&config)
			objects, err := render(config)
			if err != nil {
				t.Fatal(err)
			}
			want := map[string]string{}
			for _, object := range objects {
				data, err := yaml.Marshal(object.Object)
				if err != nil {
					t.Fatal(err)
				}
				add(t, want, data)
			}
			if diff := cmp.Diff(want, fill(t, files, "default", test.values)); diff != "" {
				t.Errorf("-install +chart:\n%s", diff)
			}
		})
	}
}

// Spellings that the program reads and the chart would not see are refused.
func TestSpellingsOfGates(t *testing.T) {
	t.Parallel()
	rule := template.Must(template.New("gates").Funcs(template.FuncMap{
		"regexMatch": regexp.MatchString, "fail": func(why string) (string, error) { return "", errors.New(why) },
	}).Parse(gatesRule))
	for gates, good := range map[string]bool{
		"": true, "A=true": true, "A=true,B=false": true, "A=True": false, "A=1": false, "A = true": false, "A=true, B=true": false, "A": false, "A=true,": false,
	} {
		err := rule.Execute(io.Discard, map[string]any{"Values": map[string]any{"featureGates": gates}})
		if good != (err == nil) {
			t.Errorf("%q: %v", gates, err)
		}
	}
}

// A namespace that Helm installs into exists already and is not the chart's.
func TestTheNamespaceOfTheReleaseIsNotInTheChart(t *testing.T) {
	t.Parallel()
	files, err := chart("v1.2.3", "a")
	if err != nil {
		t.Fatal(err)
	}
	for name := range fill(t, files, "kruise-system", nil) {
		if strings.HasPrefix(name, "Namespace ") {
			t.Errorf("the chart has %s", name)
		}
	}
}

func TestTheVersionOfTheChart(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]string{"v1.2.3": "1.2.3", "v1.2.3-4-gabc": "1.2.3-4-gabc", "abc1234-dirty": "0.0.0"} {
		if !slices.Contains(strings.Split(about(version), "\n"), "version: "+want) {
			t.Errorf("version %s gives\n%s", version, about(version))
		}
	}
}
