package rollout

import (
	"math"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/cluster"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/commands/cli"
)

// number is a flag that takes a number of pods or a percentage, and the field of the intent that it fills.
type number struct {
	flag, text string
	to         **intstr.IntOrString
	// atLeast is how many pods the flag may name whatever the replicas are.
	atLeast int32
}

func (f *flags) numbers(in *cluster.Intent) []number {
	return []number{
		{"partition", f.partition, &in.Partition, 0},
		{"max-unavailable", f.maxUnavailable, &in.MaxUnavailable, 1},
		{"max-surge", f.maxSurge, &in.MaxSurge, 1},
	}
}

// parseNumber reads a number of pods or a percentage, which may have decimals (cloneset.md 2.1).
func parseNumber(flag, text string) (*intstr.IntOrString, error) {
	bad := cli.Usagef("--%s %q: want a number of pods or a percentage, e.g. 3 or 40%%", flag, text)
	if strings.Trim(text, "0123456789.%") != "" {
		return nil, bad
	}
	if percent, ok := strings.CutSuffix(text, "%"); ok {
		value, err := strconv.ParseFloat(percent, 64)
		if err != nil || strings.HasPrefix(percent, ".") || strings.HasSuffix(percent, ".") {
			return nil, bad
		}
		if value > 100 {
			return nil, cli.Usagef("--%s %q: want at most 100%%", flag, text)
		}
		n := intstr.FromString(text)
		return &n, nil
	}
	value, err := strconv.ParseInt(text, 10, 64)
	if err != nil || value > math.MaxInt32 {
		return nil, bad
	}
	n := intstr.FromInt32(int32(value))
	return &n, nil
}

// checkNumbers refuses numbers above the replicas: whoever types 50 for 10 pods means something else.
func checkNumbers(t target, in *cluster.Intent, replicas int32) error {
	for _, n := range (&flags{}).numbers(in) {
		value := *n.to
		if value == nil || value.Type == intstr.String {
			continue
		}
		if most := max(replicas, n.atLeast); value.IntVal > most {
			return cli.Usagef("--%s %d: %s has %d replicas; want 0 to %d, or a percentage", n.flag, value.IntVal, t, replicas, most)
		}
	}
	return nil
}
