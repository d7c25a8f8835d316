package keys_test

import (
	"testing"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
)

func TestIsOwn(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]bool{
		keys.RunAnnotation:              true,
		keys.OnDeleteStrategyAnnotation: true,
		keys.SpecifiedDeleteLabel:       false,
		"kubectl-kruise.github.io":      false,
		"":                              false,
	} {
		if got := keys.IsOwn(key); got != want {
			t.Errorf("IsOwn(%q) = %v, want %v", key, got, want)
		}
	}
}
