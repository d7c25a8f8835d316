package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/commands/cli"
)

// sameRequest is how close together signals count as one: timeout(1) and others signal the process and then its group.
const sameRequest = 250 * time.Millisecond

// untilSignal ends the context at the first SIGINT or SIGTERM, so that a verb can stop at a safe point; its cause carries
// the exit code. The second one ends the process at once. A closed pipe is left to the writers (cli.Pipe).
func untilSignal() (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	signal.Ignore(syscall.SIGPIPE)
	go func() {
		if last, again := heed(signals, time.Now, cancel); again {
			os.Exit(int(codeOf(last)))
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(signals)
		cancel(nil)
	}
}

// heed cancels at the first signal and returns at the second request, which is the next signal that is no echo of the
// first. It returns false when the channel is closed before.
func heed(signals <-chan os.Signal, now func() time.Time, cancel context.CancelCauseFunc) (os.Signal, bool) {
	first, ok := <-signals
	if !ok {
		return nil, false
	}
	cancel(cli.Stopped(codeOf(first)))
	asked := now()
	for next := range signals {
		if now().Sub(asked) >= sameRequest {
			return next, true
		}
	}
	return nil, false
}

func codeOf(s os.Signal) cli.Code {
	if s == syscall.SIGTERM {
		return cli.Terminated
	}
	return cli.Interrupted
}
