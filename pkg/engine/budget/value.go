package budget

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"
)

// The limits of what Parse reads, so that every product below fits in 128 bits and every quotient in 64.
const (
	maxDigits = 18
	maxPlaces = 16
)

// Value is a number of pods or a percentage with decimals. The zero Value is the number 0.
type Value struct {
	number int32
	// A percentage is units/scale, for example 333/1000 for "33.3%".
	percent      bool
	units, scale uint64
	literal      string
}

// Parse reads an integer, or a string such as "20%" or "33.3%". A string without the percent sign is an error
// (PF-CS-8), as is a percentage with a sign; an integer may be negative here, each field decides what that means.
func Parse(v intstr.IntOrString) (Value, error) {
	if v.Type == intstr.Int {
		return Value{number: v.IntVal}, nil
	}
	digits, ok := strings.CutSuffix(v.StrVal, "%")
	whole, fraction, hasFraction := strings.Cut(digits, ".")
	if !ok || !allDigits(whole) || hasFraction && !allDigits(fraction) {
		return Value{}, fmt.Errorf("%q is neither a number nor a percentage such as \"20%%\"", v.StrVal)
	}
	whole, fraction = strings.TrimLeft(whole, "0"), strings.TrimRight(fraction, "0")
	if len(whole)+len(fraction) > maxDigits || len(fraction) > maxPlaces {
		return Value{}, fmt.Errorf("%q has too many digits", v.StrVal)
	}
	value := Value{percent: true, scale: 100, literal: v.StrVal}
	for _, d := range whole + fraction {
		value.units = value.units*10 + uint64(d-'0')
	}
	for range fraction {
		value.scale *= 10
	}
	return value, nil
}

func allDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// IsPercent says that the value is a percentage.
func (v Value) IsPercent() bool { return v.percent }

// String is the value as it was written.
func (v Value) String() string {
	if v.percent {
		return v.literal
	}
	return strconv.Itoa(int(v.number))
}

// Up is the number itself, or the percentage of base rounded up. It never exceeds the largest int32.
func (v Value) Up(base int32) int32 {
	n, rest := v.of(base)
	if rest && n < math.MaxInt32 {
		n++
	}
	return n
}

// Down is the number itself, or the percentage of base rounded down. It never exceeds the largest int32.
func (v Value) Down(base int32) int32 {
	n, _ := v.of(base)
	return n
}

// of is the value rounded down, and whether something was lost by that. A negative base counts as 0.
func (v Value) of(base int32) (int32, bool) {
	if !v.percent {
		return v.number, false
	}
	hi, lo := bits.Mul64(v.units, uint64(max(base, 0)))
	if hi >= v.scale {
		return math.MaxInt32, false
	}
	quotient, rest := bits.Div64(hi, lo, v.scale)
	if quotient > math.MaxInt32 {
		return math.MaxInt32, false
	}
	return int32(quotient), rest != 0
}
