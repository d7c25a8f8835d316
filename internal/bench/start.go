package main

import (
	"context"
	"fmt"
	"os/exec"
	"time"
)

// start compares how long the plugin and kubectl take to say their version, pair by pair.
func start(ctx context.Context) error {
	const pairs = 30
	once := func(program string) (time.Duration, error) {
		began := time.Now()
		out, err := exec.CommandContext(ctx, program, "version", "--client").CombinedOutput()
		if err != nil {
			return 0, fmt.Errorf("%s version --client: %w\n%s", program, err, out)
		}
		return time.Since(began), nil
	}
	var ours, theirs []time.Duration
	var ratios []float64
	for i := range pairs + 2 {
		a, err := once("kubectl-kruise")
		if err != nil {
			return err
		}
		b, err := once("kubectl")
		if err != nil {
			return err
		}
		if i < 2 {
			continue // the programs come from the disk
		}
		ours, theirs, ratios = append(ours, a), append(theirs, b), append(ratios, a.Seconds()/b.Seconds())
	}
	ms := func(d time.Duration) string { return fmt.Sprintf("%.0f ms", float64(d.Microseconds())/1000) }
	table("Start-up: `version --client`", []string{"program", "median of 30", "median of the ratios"}, [][]string{
		{"kubectl-kruise", ms(median(ours)), fmt.Sprintf("%.2f", median(ratios))},
		{"kubectl", ms(median(theirs)), "1"},
	})
	return nil
}
