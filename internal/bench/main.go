// Command bench measures what the project promises of its speed and prints tables in Markdown: `bench planner`, `bench
// start`, and on a sandbox (see hack/bench.sh) `bench latency`, `bench scale` and `bench admission`. Nothing here is a test: figures move
// from machine to machine, so each stands beside what the same machine does without the plugin.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
)

func main() {
	parts := map[string]func(context.Context) error{"planner": planner, "start": start, "latency": latency, "scale": scale, "admission": admission}
	if len(os.Args) != 2 || parts[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: bench planner|start|latency|scale|admission")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := parts[os.Args[1]](ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}
