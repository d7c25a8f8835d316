package view

import (
	"fmt"
	"strings"
	"unicode"
)

// Clean makes a text from elsewhere safe for a terminal and for one line: line breaks and tabs become spaces, other
// control and format characters are written as escapes, bytes that are no UTF-8 become the replacement character, and ends
// are trimmed.
func Clean(s string) string {
	s = strings.ToValidUTF8(s, "\ufffd")
	if !strings.ContainsFunc(s, unsafeRune) {
		return strings.TrimSpace(s)
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\n' || r == '\r' || r == '\t':
			b.WriteByte(' ')
		case unsafeRune(r):
			fmt.Fprintf(&b, "\\u%04x", r)
		default:
			b.WriteRune(r)
		}
	}
	return strings.TrimSpace(b.String())
}

// unsafeRune says that r could do more than show a character: C0 and C1 controls, and format characters such as those
// that turn the direction of the text.
func unsafeRune(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029'
}
