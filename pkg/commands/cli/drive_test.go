package cli

import (
	"testing"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/features"
)

func TestDriveFlagsGates(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{"": false, "KruiseDaemon=true": true, "CloneSetShortHash=true": false} {
		gates, _, err := (&DriveFlags{gates: text}).Parse()
		if err != nil {
			t.Fatal(err)
		}
		if got := gates.Enabled(features.InPlaceUpdateEnvFromMetadata); got != want {
			t.Errorf("--feature-gates %q: InPlaceUpdateEnvFromMetadata is %v, want %v", text, got, want)
		}
	}
	if gates, _, _ := (&DriveFlags{}).Parse(); gates != LocalGates() {
		t.Error("without the flag the gates differ from LocalGates")
	}
}

func TestGatesWithoutEffectAreRefused(t *testing.T) {
	t.Parallel()
	for text, refused := range map[string]bool{
		"PodUnavailableBudgetUpdateGate=true": true, "InPlaceWorkloadVerticalScaling=true": false, "NoSuchGate=true": true,
		"AllAlpha=true, CloneSetShortHash=false": false, "PreparingUpdateAsUpdate=true": false,
	} {
		_, _, err := (&DriveFlags{gates: text}).Parse()
		if refused != (CodeOf(t.Context(), err) == Usage) || !refused && err != nil {
			t.Errorf("--feature-gates %q: %v", text, err)
		}
	}
}
