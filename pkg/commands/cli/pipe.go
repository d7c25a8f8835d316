package cli

import (
	"context"
	"errors"
	"io"
	"syscall"
)

// Pipe is a writer that ends the command when its reader has gone: the command then stops at a safe point and gives its
// Lease back, instead of being killed in the middle of a rollout by `| head -1`.
type Pipe struct {
	W    io.Writer
	Stop context.CancelCauseFunc
}

// Write implements io.Writer.
func (p *Pipe) Write(b []byte) (int, error) {
	n, err := p.W.Write(b)
	if errors.Is(err, syscall.EPIPE) {
		p.Stop(Stopped(PipeClosed))
	}
	return n, err
}
