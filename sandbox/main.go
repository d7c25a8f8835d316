// Command kruise-sandbox runs a Kubernetes cluster on this machine, without Docker.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/kubectl-kruise/kubectl-kruise/sandbox/command"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	root := command.New(command.Streams{Out: os.Stdout, Err: os.Stderr})
	err := root.ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "kruise-sandbox:", err)
		os.Exit(1)
	}
}
