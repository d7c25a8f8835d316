package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// table prints rows under a title as a Markdown table with aligned columns; the first column is text, the others numbers.
func table(title string, header []string, rows [][]string) {
	width := make([]int, len(header))
	for _, row := range append([][]string{header}, rows...) {
		for i, cell := range row {
			width[i] = max(width[i], len([]rune(cell)))
		}
	}
	line := func(row []string) {
		for i, cell := range row {
			gap := strings.Repeat(" ", width[i]-len([]rune(cell)))
			if i == 0 {
				fmt.Print("| ", cell, gap, " |")
			} else {
				fmt.Print(" ", gap, cell, " |")
			}
		}
		fmt.Println()
	}
	fmt.Printf("\n## %s\n\n", title)
	line(header)
	rule := make([]string, len(header))
	for i, w := range width {
		if rule[i] = strings.Repeat("-", w); i > 0 {
			rule[i] = strings.Repeat("-", w-1) + ":"
		}
	}
	line(rule)
	for _, row := range rows {
		line(row)
	}
}

func median[T int | int64 | float64 | time.Duration](values []T) T {
	sorted := slices.Sorted(slices.Values(values))
	if len(sorted)%2 == 1 {
		return sorted[len(sorted)/2]
	}
	return (sorted[len(sorted)/2-1] + sorted[len(sorted)/2]) / 2
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }
