package features

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Gate is one feature gate.
type Gate uint8

// Gates says which gates are on. The zero value has all of them off; most
// callers start from Defaults or Parse.
type Gates struct {
	on uint64
}

// Names of the switches that stand for all gates of one stage.
const (
	allAlpha = "AllAlpha"
	allBeta  = "AllBeta"
)

// Defaults are the gates without any setting.
func Defaults() Gates {
	var g Gates
	for gate, info := range gates {
		g = g.put(Gate(gate), info.on)
	}
	return g.settle()
}

// Enabled says whether a gate is on.
func (g Gates) Enabled(gate Gate) bool {
	return g.on&(1<<gate) != 0
}

// With is g with one gate set and what follows from that for others, as Parse
// would do it: for example, without KruiseDaemon there is no
// InPlaceUpdateEnvFromMetadata.
func (g Gates) With(gate Gate, on bool) Gates {
	return g.put(gate, on).settle()
}

// String lists the gates that differ from their defaults, in the form that
// Parse reads, sorted by name.
func (g Gates) String() string {
	defaults := Defaults()
	var parts []string
	for gate, info := range gates {
		if on := g.Enabled(Gate(gate)); on != defaults.Enabled(Gate(gate)) {
			parts = append(parts, info.name+"="+strconv.FormatBool(on))
		}
	}
	slices.Sort(parts)
	return strings.Join(parts, ",")
}

// String is the name of the gate.
func (g Gate) String() string {
	if int(g) < len(gates) {
		return gates[g].name
	}
	return fmt.Sprintf("Gate(%d)", uint8(g))
}

// Names lists all gates, sorted.
func Names() []string {
	names := make([]string, 0, len(gates))
	for _, info := range gates {
		names = append(names, info.name)
	}
	slices.Sort(names)
	return names
}

// Parse reads settings such as "A=true,B=false" on top of the defaults. A gate
// that is named wins over AllAlpha and AllBeta wherever it stands; of two
// settings of one gate the later holds. Afterwards gates that depend on others
// follow them (see settle).
func Parse(text string) (Gates, error) {
	all, single := map[string]bool{}, map[Gate]bool{}
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		name, value, found := strings.Cut(part, "=")
		if !found {
			return Gates{}, fmt.Errorf("feature gate %q has no value, want %s=true or %s=false", part, part, part)
		}
		name = strings.TrimSpace(name)
		on, err := strconv.ParseBool(strings.TrimSpace(value))
		if err != nil {
			return Gates{}, fmt.Errorf("feature gate %s has the value %q, want true or false", name, value)
		}
		if name == allAlpha || name == allBeta {
			all[name] = on
			continue
		}
		gate, found := byName(name)
		if !found {
			return Gates{}, fmt.Errorf("unknown feature gate %q, want one of %s, %s, %s",
				name, strings.Join(Names(), ", "), allAlpha, allBeta)
		}
		single[gate] = on
	}

	g := Defaults()
	for gate, info := range gates {
		if on, found := all[info.stage]; found {
			g = g.put(Gate(gate), on)
		}
	}
	for gate, on := range single {
		g = g.put(gate, on)
	}
	return g.settle(), nil
}

func byName(name string) (Gate, bool) {
	for gate, info := range gates {
		if info.name == name {
			return Gate(gate), true
		}
	}
	return 0, false
}

func (g Gates) put(gate Gate, on bool) Gates {
	if on {
		g.on |= 1 << gate
	} else {
		g.on &^= 1 << gate
	}
	return g
}

// settle applies what follows from one gate for others, in upstream's order:
// first the webhook, then the daemon, then pre-download, then protection.
func (g Gates) settle() Gates {
	if !g.Enabled(PodWebhook) {
		g = g.off(KruisePodReadinessGate, PodUnavailableBudgetDeleteGate, PodUnavailableBudgetUpdateGate,
			WorkloadSpread, SidecarSetPatchPodMetadataDefaultsAllowed, EnhancedLivenessProbe,
			EnablePodProbeMarkerOnServerless)
	}
	if !g.Enabled(KruiseDaemon) {
		g = g.off(PreDownloadImageForInPlaceUpdate, PreDownloadImageForDaemonSetUpdate, DaemonWatchingPod,
			InPlaceUpdateEnvFromMetadata, PodProbeMarkerGate, SidecarTerminator, ImagePullJobGate,
			EnhancedLivenessProbe)
	}
	if g.Enabled(PreDownloadImageForInPlaceUpdate) || g.Enabled(PreDownloadImageForDaemonSetUpdate) {
		g = g.put(ImagePullJobGate, true)
	}
	if !g.Enabled(ResourcesDeletionProtection) {
		g = g.off(DeletionProtectionForCRDCascadingGate)
	}
	return g
}

func (g Gates) off(list ...Gate) Gates {
	for _, gate := range list {
		g = g.put(gate, false)
	}
	return g
}
