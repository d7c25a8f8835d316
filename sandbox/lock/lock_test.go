package lock

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
)

func TestTakeWaitsForTheOther(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "lock")
	first, err := Take(t.Context(), file, func() { t.Error("waits for nobody") })
	if err != nil {
		t.Fatal(err)
	}
	told := 0
	second, err := Take(t.Context(), file, func() { told++; first.Close() })
	if err != nil || told != 1 {
		t.Fatalf("Take = %v, told %d times that it waits, want once", err, told)
	}
	defer second.Close()
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := Take(ctx, file, cancel); !errors.Is(err, context.Canceled) {
		t.Errorf("Take after its context ended: %v", err)
	}
}
