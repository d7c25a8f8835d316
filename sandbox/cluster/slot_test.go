package cluster

import (
	"os"
	"testing"
)

func TestSlotBelongsToTheStateFolderThatNamesIt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := &Sandbox{Dir: dir, record: record{Index: 3}}
	if owns(dir, 3) {
		t.Error("an empty folder owns an index")
	}
	if err := s.save(); err != nil {
		t.Fatal(err)
	}
	if !owns(dir, 3) || owns(dir, 4) {
		t.Errorf("sandbox.json names 3; owns 3: %t, owns 4: %t", owns(dir, 3), owns(dir, 4))
	}
	// a file that cannot be read is no reason to take somebody's index away
	if err := os.WriteFile(s.path("sandbox.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if !owns(dir, 3) {
		t.Error("a broken sandbox.json loses the index")
	}
}
