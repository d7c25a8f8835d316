package validation

import (
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// percentage may have decimals, and no sign (cloneset.md 2.1).
var percentage = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?%$`)

// The digits of a percentage that planners compute with exactly.
const (
	maxDigits = 18
	maxPlaces = 16
)

// number refuses what is neither a number of 0 or more nor a percentage. A
// number written as a string without the percent sign is such a thing: one
// reader would take it for a count, another for a percentage (PF-CS-8).
func number(value *intstr.IntOrString, path *field.Path) field.ErrorList {
	switch {
	case value == nil:
		return nil
	case value.Type == intstr.Int && value.IntVal < 0:
		return field.ErrorList{field.Invalid(path, value.IntVal, "must be 0 or more")}
	case value.Type == intstr.String && !percentage.MatchString(value.StrVal):
		return field.ErrorList{field.Invalid(path, value.StrVal, `must be a number such as 5 or a percentage such as "5%"`)}
	case value.Type == intstr.String && tooLong(value.StrVal):
		return field.ErrorList{field.Invalid(path, value.StrVal, "has too many digits")}
	default:
		return nil
	}
}

// tooLong counts the digits of a well-formed percentage that matter.
func tooLong(text string) bool {
	whole, places, _ := strings.Cut(strings.TrimSuffix(text, "%"), ".")
	whole, places = strings.TrimLeft(whole, "0"), strings.TrimRight(places, "0")
	return len(whole)+len(places) > maxDigits || len(places) > maxPlaces
}

// notNegative refuses a number below 0.
func notNegative(value *int32, path *field.Path) field.ErrorList {
	if value != nil && *value < 0 {
		return field.ErrorList{field.Invalid(path, *value, "must be 0 or more")}
	}
	return nil
}

// isZero says whether a valid value is 0 for every number of replicas; any
// other percentage is at least 1 once rounded up.
func isZero(value intstr.IntOrString) bool {
	if value.Type == intstr.Int {
		return value.IntVal == 0
	}
	return strings.Trim(value.StrVal, "0.%") == ""
}
