package features_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/features"
)

// enabled lists the gates that are on, sorted.
func enabled(g features.Gates) []string {
	var on []string
	for gate := range features.Gate(len(features.Names())) {
		if g.Enabled(gate) {
			on = append(on, gate.String())
		}
	}
	slices.Sort(on)
	return on
}

// workloadspread.md C7, the table.
func TestDefaults(t *testing.T) {
	t.Parallel()
	want := []string{
		"DaemonWatchingPod", "InPlaceUpdateEnvFromMetadata", "KruiseDaemon", "PodIndexLabel", "PodProbeMarkerGate",
		"PodUnavailableBudgetDeleteGate", "PodWebhook", "StatefulSetAutoDeletePVC", "WorkloadSpread",
	}
	if diff := cmp.Diff(want, enabled(features.Defaults())); diff != "" {
		t.Errorf("gates on by default (-want +got):\n%s", diff)
	}
	if got := features.Defaults().String(); got != "" {
		t.Errorf("the defaults print as %q, want nothing", got)
	}
}

// Each case lists what differs from the defaults.
func TestParse(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, text, want string }{
		{"nothing", "", ""},
		{"spaces and an empty part", " CloneSetShortHash = true ,", "CloneSetShortHash=true"},
		{"the later of two settings holds", "CloneSetShortHash=true,CloneSetShortHash=false", ""},
		{"C7/2 no daemon", "KruiseDaemon=false",
			"DaemonWatchingPod=false,InPlaceUpdateEnvFromMetadata=false,KruiseDaemon=false,PodProbeMarkerGate=false"},
		{"C7/2 no daemon, asked for all the same", "InPlaceUpdateEnvFromMetadata=true,KruiseDaemon=false",
			"DaemonWatchingPod=false,InPlaceUpdateEnvFromMetadata=false,KruiseDaemon=false,PodProbeMarkerGate=false"},
		{"C7/3 pre-download needs pull jobs", "PreDownloadImageForInPlaceUpdate=true",
			"ImagePullJobGate=true,PreDownloadImageForInPlaceUpdate=true"},
		{"C7/3 pre-download needs pull jobs, for DaemonSets too", "PreDownloadImageForDaemonSetUpdate=true,ImagePullJobGate=false",
			"ImagePullJobGate=true,PreDownloadImageForDaemonSetUpdate=true"},
		{"H8 no daemon: no pre-download and no pull jobs", "KruiseDaemon=false,PreDownloadImageForInPlaceUpdate=true",
			"DaemonWatchingPod=false,InPlaceUpdateEnvFromMetadata=false,KruiseDaemon=false,PodProbeMarkerGate=false"},
		{"C7/1 no webhook", "PodWebhook=false,KruisePodReadinessGate=true",
			"PodUnavailableBudgetDeleteGate=false,PodWebhook=false,WorkloadSpread=false"},
		{"C7/4 no protection of CRDs without protection", "DeletionProtectionForCRDCascadingGate=true", ""},
		{"C7/4 both", "DeletionProtectionForCRDCascadingGate=true,ResourcesDeletionProtection=true",
			"DeletionProtectionForCRDCascadingGate=true,ResourcesDeletionProtection=true"},
		{"all beta gates", "AllBeta=true", "ResourceDistributionGate=true,ResourcesDeletionProtection=true"},
		{"no beta gate but one, named first", "PodIndexLabel=true,AllBeta=false", strings.Join([]string{
			"DaemonWatchingPod=false", "InPlaceUpdateEnvFromMetadata=false", "KruiseDaemon=false", "PodProbeMarkerGate=false",
			"PodUnavailableBudgetDeleteGate=false", "PodWebhook=false", "StatefulSetAutoDeletePVC=false", "WorkloadSpread=false",
		}, ",")},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := features.Parse(tc.text)
			if err != nil {
				t.Fatalf("Parse(%q): %v", tc.text, err)
			}
			if diff := cmp.Diff(tc.want, got.String()); diff != "" {
				t.Errorf("settings (-want +got):\n%s", diff)
			}
			again, err := features.Parse(got.String())
			if err != nil || again != got {
				t.Errorf("Parse(%q) = %s, %v; want the same gates again", got, again, err)
			}
		})
	}
}

// workloadspread.md C7: what the acceptance suite of OpenKruise runs with.
func TestParseAcceptanceSuite(t *testing.T) {
	t.Parallel()
	got, err := features.Parse("AllAlpha=true,AllBeta=true,EnableExternalCerts=false,TemplateNoDefaults=false")
	if err != nil {
		t.Fatalf("Parse: %v", err)
	}
	want := slices.DeleteFunc(features.Names(), func(name string) bool {
		return name == "EnableExternalCerts" || name == "TemplateNoDefaults"
	})
	if diff := cmp.Diff(want, enabled(got)); diff != "" {
		t.Errorf("gates on (-want +got):\n%s", diff)
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, text, want string }{
		{"no value", "CloneSetShortHash", `feature gate "CloneSetShortHash" has no value, want CloneSetShortHash=true or CloneSetShortHash=false`},
		{"no boolean", "CloneSetShortHash=maybe", `feature gate CloneSetShortHash has the value "maybe", want true or false`},
		{"unknown", "CloneSetLongHash=true", `unknown feature gate "CloneSetLongHash", want one of ` +
			strings.Join(features.Names(), ", ") + ", AllAlpha, AllBeta"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, err := features.Parse(tc.text)
			if err == nil || err.Error() != tc.want {
				t.Errorf("Parse(%q) error:\n got %v\nwant %s", tc.text, err, tc.want)
			}
		})
	}
}

func TestWithSettlesDependencies(t *testing.T) {
	t.Parallel()
	got := features.Defaults().With(features.KruiseDaemon, false)
	want, err := features.Parse("KruiseDaemon=false")
	if err != nil {
		t.Fatalf("Parse: %v", err)
	}
	if got != want {
		t.Errorf("With gives %s, Parse %s", got, want)
	}
}
