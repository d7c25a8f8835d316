package view

import (
	"fmt"
	"strings"
)

// Version is what `version` shows. Parts that were not asked for, or could not be read, are absent.
type Version struct {
	Meta
	Client Build  `json:"client"`
	Server string `json:"server,omitempty"`
	// Served lists the API versions of OpenKruise that the cluster serves, with their resources.
	Served []ServedVersion `json:"served,omitempty"`
	// Driver says who moves pods in Namespace.
	Namespace string  `json:"namespace,omitempty"`
	Driver    *Driver `json:"driver,omitempty"`
}

// Build says what the plugin was built from.
type Build struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Date     string `json:"date,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// ServedVersion is one served API version.
type ServedVersion struct {
	GroupVersion string   `json:"groupVersion"`
	Resources    []string `json:"resources"`
}

// Text shows the version to people, a line for each fact.
func (v *Version) Text() string {
	var b strings.Builder
	client := v.Client.Version
	if v.Client.Commit != "" {
		client += " (" + shortCommit(v.Client.Commit) + ")"
	}
	fmt.Fprintf(&b, "client  %s %s %s\n", client, v.Client.Go, v.Client.Platform)
	if v.Server == "" {
		return b.String()
	}
	fmt.Fprintf(&b, "server  %s\n", Clean(v.Server))
	for _, s := range v.Served {
		fmt.Fprintf(&b, "serves  %s: %s\n", Clean(s.GroupVersion), Clean(strings.Join(s.Resources, ", ")))
	}
	if len(v.Served) == 0 {
		b.WriteString("serves  no kind of OpenKruise; next: kubectl kruise install --crds-only\n")
	}
	if v.Driver != nil {
		fmt.Fprintf(&b, "driver  %s (namespace %s)\n", v.Driver.Sentence(), Clean(v.Namespace))
	}
	return b.String()
}

func shortCommit(c string) string {
	if len(c) > 12 {
		return c[:12]
	}
	return c
}
