package e2e

import (
	"testing"

	"github.com/kubectl-kruise/kubectl-kruise/sandbox/image"
)

// writeImage makes an archive with one image that does nothing until it is told to end.
func writeImage(t *testing.T, file, name string) {
	t.Helper()
	set, err := image.Build([]image.Image{{Name: name, Marker: name, Entrypoint: []string{"/bin/sleep", "3600"}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := set.Save(file); err != nil {
		t.Fatal(err)
	}
}
