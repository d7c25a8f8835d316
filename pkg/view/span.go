package view

import (
	"fmt"
	"time"
)

// Span is a duration as people say it: "0.4s" and "1.4s" below ten seconds, then "31s", "3m12s", "2h5m", "9d".
func Span(d time.Duration) string {
	switch d = max(d, 0); {
	case d < 9950*time.Millisecond:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < 48*time.Hour:
		return Clock(d)
	}
	return fmt.Sprintf("%dd", int(d.Hours())/24)
}

// Clock is a duration in whole units, for columns: "0s", "31s", "3m12s", "2h5m".
func Clock(d time.Duration) string {
	s := int(max(d, 0).Seconds())
	switch {
	case s < 60:
		return fmt.Sprintf("%ds", s)
	case s < 3600:
		return fmt.Sprintf("%dm%ds", s/60, s%60)
	}
	return fmt.Sprintf("%dh%dm", s/3600, s/60%60)
}
