package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestThePagesInDocsAreFresh(t *testing.T) {
	t.Parallel()
	const dir = "../../docs/commands"
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		got[e.Name()] = string(text)
	}
	if diff := cmp.Diff(pages(), got); diff != "" {
		t.Errorf("docs/commands is stale; run: make generate\n-want +got:\n%s", diff)
	}
}
