package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
)

// A line of `go test -bench -benchmem` with the metric that the benchmarks add.
var result = regexp.MustCompile(`(?m)^BenchmarkCloneSetPlan(\w*)/pods=(\d+)\s+\d+\s+([\d.]+) ns/op.*?(\d+) B/op\s+(\d+) allocs/op`)

// planner runs the benchmarks of the CloneSet planner on one processor.
func planner(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, "go", "test", "-run=^$", "-bench=BenchmarkCloneSetPlan", "-benchmem", "-cpu=1", "./pkg/engine/cloneset")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("go test -bench: %w\n%s", err, out)
	}
	states := map[string]string{"": "in place, half done", "Settled": "settled", "Create": "create all", "Recreate": "recreate, half done",
		"FromNothing": "in place, with the facts of all pods", "AfterEvent": "in place, with the facts of one pod"}
	var rows [][]string
	for _, m := range result.FindAllStringSubmatch(string(out), -1) {
		ns, err := strconv.ParseFloat(m[3], 64)
		if err != nil {
			return err
		}
		bytes, err := strconv.ParseFloat(m[4], 64)
		if err != nil {
			return err
		}
		state, known := states[m[1]]
		if !known {
			state = m[1]
		}
		rows = append(rows, []string{state, m[2], fmt.Sprintf("%.2f ms", ns/1e6), m[5], fmt.Sprintf("%.1f MiB", bytes/(1<<20))})
	}
	if len(rows) == 0 {
		return fmt.Errorf("no result in the output:\n%s", strings.TrimSpace(string(out)))
	}
	table("One plan of a CloneSet, one processor", []string{"state", "pods", "time", "allocations", "allocated"}, rows)
	return nil
}
