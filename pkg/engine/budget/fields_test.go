package budget_test

import (
	"fmt"
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/budget"
)

func number(n int) *intstr.IntOrString { v := intstr.FromInt32(int32(n)); return &v }

func text(s string) *intstr.IntOrString { v := intstr.FromString(s); return &v }

func TestPartition(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rule     string
		value    *intstr.IntOrString
		replicas int32
		want     int32
	}{
		{"cloneset/27", text("99%"), 4, 3},
		{"cloneset/27", text("99%"), 1, 1},
		{"cloneset/27", text("50%"), 5, 3},
		{"cloneset/27", text("33.3%"), 3, 1},
		{"cloneset/27", text("100%"), 4, 4},
		{"cloneset/27", text("1%"), 10, 1},
		{"cloneset/27", text("0%"), 10, 0},
		{"cloneset/27", number(7), 5, 5},
		{"PF-CS-1", text("99%"), 3, 2},
		{"PF-CS-1", text("100%"), 3, 3},
		{"PF-CS-1", text("0%"), 3, 0},
		{"PF-CS-1", text("1%"), 3, 1},
		{"PF-CS-1", text("34%"), 3, 2},
		{"PF-CS-1", text("90%"), 9, 8},
		{"PF-CS-1", text("50%"), 1, 1},
		{"PF-CS-1", number(5), 3, 3},
		{"PF-CS-7", number(10), 2, 2},
		{"PF-CS-7 below the range", number(-3), 2, 0},
		{"absent updates all", nil, 5, 0},
		{"no replicas", text("50%"), 0, 0},
		{"only the literal 100% holds all", text("100.0%"), 4, 3},
		{"above 100% is clamped", text("150%"), 4, 4},
		{"a decimal that rounds up to all", text("99.99%"), 1000, 999},
	} {
		t.Run(fmt.Sprintf("%s %v of %d", c.rule, c.value, c.replicas), func(t *testing.T) {
			t.Parallel()
			got, err := budget.Partition(c.value, c.replicas)
			if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
				t.Errorf("error %v, diff %s", err, diff)
			}
		})
	}
}

func TestMaxUnavailable(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rule            string
		value           *intstr.IntOrString
		replicas, surge int32
		want            int32
	}{
		{"cloneset/28", text("20%"), 3, 0, 1},
		{"cloneset/28", text("20%"), 3, 1, 0},
		{"cloneset/28", text("20%"), 10, 0, 2},
		{"absent is 20%", nil, 3, 1, 0},
		{"2.1 trap (a) decimals", text("12.5%"), 10, 0, 2},
		{"2.1 trap (a) decimals", text("12.5%"), 16, 1, 2},
		{"2.1 trap (d) OnDelete without a block rounds up", nil, 3, 0, 1},
		{"PF-CS-8 a number passes", number(5), 10, 0, 5},
		{"PF-CS-8 a percentage passes", text("5%"), 10, 0, 1},
		{"above 100%", text("200%"), 4, 0, 8},
		{"negative is none", number(-1), 4, 0, 0},
	} {
		t.Run(fmt.Sprintf("%s %v of %d with surge %d", c.rule, c.value, c.replicas, c.surge), func(t *testing.T) {
			t.Parallel()
			got, err := budget.MaxUnavailable(c.value, c.replicas, c.surge)
			if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
				t.Errorf("error %v, diff %s", err, diff)
			}
		})
	}
}

func TestMaxSurgeAndScaleLimitRoundUp(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		value    *intstr.IntOrString
		replicas int32
		surge    int32
		scale    int32
	}{
		{nil, 8, 0, budget.Unlimited},
		{text("50%"), 8, 4, 4},
		{text("25%"), 4, 1, 1},
		{text("25%"), 5, 2, 2},
		{number(3), 1, 3, 3},
		{number(-3), 1, 0, 0},
		{text("99999999999%"), math.MaxInt32, math.MaxInt32, math.MaxInt32},
	} {
		surge, err := budget.MaxSurge(c.value, c.replicas)
		if diff := cmp.Diff(c.surge, surge); err != nil || diff != "" {
			t.Errorf("surge %v of %d: error %v, diff %s", c.value, c.replicas, err, diff)
		}
		scale, err := budget.ScaleMaxUnavailable(c.value, c.replicas)
		if diff := cmp.Diff(c.scale, scale); err != nil || diff != "" {
			t.Errorf("scale limit %v of %d: error %v, diff %s", c.value, c.replicas, err, diff)
		}
	}
}

// A value that cannot be read is an error that names field and value, and the number beside it disrupts least.
func TestBadValues(t *testing.T) {
	t.Parallel()
	fields := map[string]struct {
		of   func(*intstr.IntOrString) (int32, error)
		safe int32
	}{
		"partition":      {func(v *intstr.IntOrString) (int32, error) { return budget.Partition(v, 5) }, 5},
		"maxSurge":       {func(v *intstr.IntOrString) (int32, error) { return budget.MaxSurge(v, 5) }, 0},
		"maxUnavailable": {func(v *intstr.IntOrString) (int32, error) { return budget.MaxUnavailable(v, 5, 0) }, 0},
		"scaleStrategy.maxUnavailable": {
			func(v *intstr.IntOrString) (int32, error) { return budget.ScaleMaxUnavailable(v, 5) }, 0,
		},
	}
	for name, field := range fields {
		for _, bad := range []string{"", "5", "%", "5x", "5x%", "-5%", "+5%", " 5%", "5 %", "5.%", ".5%", "1.2.3%", "1e2%", "5%%",
			"0.12345678901234567%", "1234567890123456789%"} {
			got, err := field.of(text(bad))
			if err == nil {
				t.Errorf("%s %q: no error", name, bad)
				continue
			}
			if !strings.HasPrefix(err.Error(), name+": ") || !strings.Contains(err.Error(), fmt.Sprintf("%q", bad)) {
				t.Errorf("%s %q: the error does not name both: %v", name, bad, err)
			}
			if diff := cmp.Diff(field.safe, got); diff != "" {
				t.Errorf("%s %q: %s", name, bad, diff)
			}
		}
	}
}

// naive is the percentage of base in rational numbers, rounded up or down, at most the largest int32.
func naive(t *rapid.T, whole, fraction string, base int32, up bool) int32 {
	t.Helper()
	percent, ok := new(big.Rat).SetString(whole + "." + fraction + "0")
	if !ok {
		t.Fatalf("%s.%s is no number", whole, fraction)
	}
	share := percent.Mul(percent, big.NewRat(int64(base), 100))
	n := new(big.Int).Div(share.Num(), share.Denom())
	if up && !share.IsInt() {
		n.Add(n, big.NewInt(1))
	}
	if n.Cmp(big.NewInt(math.MaxInt32)) > 0 {
		return math.MaxInt32
	}
	return int32(n.Int64())
}

func TestPercentagesEqualRationalNumbers(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		whole := rapid.StringMatching(`[0-9]{1,4}`).Draw(t, "whole")
		fraction := rapid.StringMatching(`[0-9]{0,12}`).Draw(t, "fraction")
		base := rapid.OneOf(rapid.Int32Range(0, 20), rapid.Int32Range(0, math.MaxInt32)).Draw(t, "base")
		literal := whole + "%"
		if fraction != "" {
			literal = whole + "." + fraction + "%"
		}
		v, err := budget.Parse(intstr.FromString(literal))
		if err != nil {
			t.Fatalf("%s: %v", literal, err)
		}
		if diff := cmp.Diff(naive(t, whole, fraction, base, true), v.Up(base)); diff != "" {
			t.Fatalf("%s of %d up: %s", literal, base, diff)
		}
		if diff := cmp.Diff(naive(t, whole, fraction, base, false), v.Down(base)); diff != "" {
			t.Fatalf("%s of %d down: %s", literal, base, diff)
		}
	})
}

// PF-CS-1 and PF-CS-7 for any input: the partition stays in its range, and below 100% one pod gets through.
func TestPartitionRange(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		replicas := rapid.Int32Range(0, 200).Draw(t, "replicas")
		tenths := rapid.IntRange(0, 2000).Draw(t, "tenths")
		v := text(fmt.Sprintf("%d.%d%%", tenths/10, tenths%10))
		n, err := budget.Partition(v, replicas)
		if err != nil || n < 0 || n > replicas {
			t.Fatalf("%s of %d is %d, %v", v.StrVal, replicas, n, err)
		}
		if tenths < 1000 && replicas > 1 && n >= replicas {
			t.Fatalf("%s of %d lets no pod through", v.StrVal, replicas)
		}
	})
}
