package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/install"
)

const chartName = "kubectl-kruise"

// Values that stand for a template while the manifests are rendered. None of them occurs otherwise.
const (
	namespaceMark = "chart-namespace"
	imageMark     = "chart-image"
	policyMark    = "chart-policy"
	versionMark   = "chart-version"
	replicasMark  = 424242
)

const gatesValue = "{{ .Values.featureGates }}"

// templates are what the marks stand for.
var templates = strings.NewReplacer(
	namespaceMark, "{{ .Values.namespace }}",
	imageMark, "{{ .Values.image }}",
	policyMark, "{{ .Values.podFailurePolicy }}",
	versionMark, "{{ .Chart.AppVersion | quote }}",
	strconv.Itoa(replicasMark), "{{ .Values.replicas }}",
	"--feature-gates=", "--feature-gates="+gatesValue,
)

// chart makes the files of the chart by their path in it.
func chart(version, image string) (map[string]string, error) {
	config := install.Config{
		Namespace: namespaceMark, Image: imageMark, Replicas: replicasMark, Daemon: true, PodFailurePolicy: policyMark, Version: versionMark,
	}
	objects, err := render(config)
	if err != nil {
		return nil, err
	}
	variants := gateVariants()
	for i := range variants {
		config.FeatureGates = variants[i].gate
		if variants[i].objects, err = render(config); err != nil {
			return nil, err
		}
	}
	files := map[string]string{"values.yaml": values(image), "Chart.yaml": about(version), "templates/NOTES.txt": notes, "templates/gates.yaml": gatesRule}
	for i, object := range objects {
		text, err := document(object)
		if err != nil {
			return nil, err
		}
		if text, err = choose(text, variants, i); err != nil {
			return nil, err
		}
		if condition := onlyIf(object); condition != "" {
			text = "{{- if " + condition + " }}\n" + text + "{{- end }}\n"
		}
		files[path(object)] = text
	}
	return files, nil
}

// variant is what an installation with a gate of another value looks like.
type variant struct {
	gate, condition string
	objects         []*unstructured.Unstructured
}

// gateVariants are the gates that change objects, and pairs of them that change the same one. The first that holds decides.
func gateVariants() []variant {
	says := func(setting string) string { return fmt.Sprintf("(contains %q .Values.featureGates)", setting) }
	// on and off are conditions: somebody says so, or says it of all gates of the stage and not otherwise of this one.
	on := func(gate string) string {
		return fmt.Sprintf("(or %s (and %s (not %s)))", says(gate+"=true"), says("AllAlpha=true"), says(gate+"=false"))
	}
	off := func(gate string) string {
		return fmt.Sprintf("(or %s (and %s (not %s)))", says(gate+"=false"), says("AllBeta=false"), says(gate+"=true"))
	}
	const ready, resize, external = "KruisePodReadinessGate", "InPlaceWorkloadVerticalScaling", "EnableExternalCerts"
	return []variant{
		{gate: "PodWebhook=false", condition: off("PodWebhook")},
		{gate: ready + "=true", condition: on(ready)},
		{gate: resize + "=true," + external + "=true", condition: fmt.Sprintf("and %s %s", on(resize), on(external))},
		{gate: resize + "=true", condition: on(resize)},
		{gate: external + "=true", condition: on(external)},
	}
}

// gatesRule refuses a spelling of gates that the conditions would not see.
const gatesRule = `{{- if not (regexMatch "^([A-Za-z]+=(true|false)(,[A-Za-z]+=(true|false))*)?$" .Values.featureGates) }}
{{- fail (printf "featureGates %q: want Name=true or Name=false, separated by commas without blanks" .Values.featureGates) }}
{{- end }}
`

// choose makes one template of an object and of what it is in the variants.
func choose(text string, variants []variant, i int) (string, error) {
	chosen, word := "", "if"
	for _, v := range variants {
		other, err := document(v.objects[i])
		if err != nil {
			return "", err
		}
		if other = strings.ReplaceAll(other, gatesValue+v.gate, gatesValue); other != text {
			chosen += "{{- " + word + " " + v.condition + " }}\n" + other
			word = "else if"
		}
	}
	if chosen == "" {
		return text, nil
	}
	return chosen + "{{- else }}\n" + text + "{{- end }}\n", nil
}

func render(config install.Config) ([]*unstructured.Unstructured, error) {
	list, err := install.Manifests(config, install.Complete)
	if err != nil {
		return nil, err
	}
	return install.Applied(list)
}

// document is one object as a template. What helm uninstalls are not the kinds: with them the objects of all users would
// go.
func document(object *unstructured.Unstructured) (string, error) {
	if object.GetKind() == "CustomResourceDefinition" {
		annotations := object.GetAnnotations()
		annotations[keepAnnotation] = "keep"
		object.SetAnnotations(annotations)
	}
	data, err := yaml.Marshal(object.Object)
	if err != nil {
		return "", fmt.Errorf("encode %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	if strings.Contains(string(data), "{{") {
		return "", fmt.Errorf("%s %s has a text that Helm would take for a template", object.GetKind(), object.GetName())
	}
	return templates.Replace(string(data)), nil
}

const keepAnnotation = "helm.sh/resource-policy"

// onlyIf is the condition under which an object is part of an installation; empty for always. A namespace that Helm
// installs into is Helm's.
func onlyIf(object *unstructured.Unstructured) string {
	switch {
	case object.GetKind() == "Namespace" && object.GetName() == namespaceMark:
		return "ne .Values.namespace .Release.Namespace"
	case object.GetKind() == "Namespace":
		return fmt.Sprintf("and (ne .Values.namespace %q) (ne .Release.Namespace %q)", object.GetName(), object.GetName())
	case object.GetKind() == "DaemonSet", object.GetKind() == "ServiceAccount" && strings.HasSuffix(object.GetName(), "daemon"):
		return ".Values.daemon"
	}
	return ""
}

func path(object *unstructured.Unstructured) string {
	name := object.GetName()
	if name == namespaceMark {
		name = "install"
	}
	return "templates/" + strings.ToLower(object.GetKind()) + "-" + name + ".yaml"
}

func values(image string) string {
	defaults := install.Defaults()
	return fmt.Sprintf(`# Where managers and daemon run.
namespace: %s
# The image of kruise-agent, in a registry that the nodes reach.
image: %q
# Managers; all of them answer admission, one of them drives.
replicas: %d
# Feature gates, such as CloneSetShortHash=true.
featureGates: ""
# Whether a daemon runs on every node.
daemon: %t
# What becomes of a new pod when no manager answers: Ignore lets it in as it is, Fail refuses it.
podFailurePolicy: %s
`, defaults.Namespace, image, defaults.Replicas, defaults.Daemon, defaults.PodFailurePolicy)
}

const notes = `Managers and daemon are in namespace {{ .Values.namespace }}. See whether they work with: kubectl kruise check
`

var semver = regexp.MustCompile(`^v?([0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?)$`)

// about is Chart.yaml. A build that has no version in Helm's sense gets the lowest.
func about(version string) string {
	number := "0.0.0"
	if m := semver.FindStringSubmatch(version); m != nil {
		number = m[1]
	}
	return fmt.Sprintf(`apiVersion: v2
name: %s
description: OpenKruise's kinds, and what makes a cluster act on them by itself
type: application
version: %s
appVersion: %q
`, chartName, number, version)
}
