package view

// APIVersion is the version of the JSON forms of all views.
const APIVersion = "view.kubectl-kruise.github.io/v1"

// Meta says what a JSON document is.
type Meta struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
}

// Of is the Meta of a view of the given kind.
func Of(kind string) Meta { return Meta{APIVersion: APIVersion, Kind: kind} }
