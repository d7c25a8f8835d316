package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/commands/cli"
)

// untilSignal ends the context at the first SIGINT or SIGTERM, so that a verb can stop at a safe point; its cause carries
// the exit code. The second one ends the process at once. A closed pipe is left to the writers (cli.Pipe).
func untilSignal() (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	signal.Ignore(syscall.SIGPIPE)
	go func() {
		first, ok := <-signals
		if !ok {
			return
		}
		cancel(cli.Stopped(codeOf(first)))
		if second, ok := <-signals; ok {
			os.Exit(int(codeOf(second)))
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(signals)
		cancel(nil)
	}
}

func codeOf(s os.Signal) cli.Code {
	if s == syscall.SIGTERM {
		return cli.Terminated
	}
	return cli.Interrupted
}
