// Package lock keeps two programs from working on the same thing. A lock ends with the process that holds it, so none
// is ever left behind.
package lock

import (
	"context"
	"os"
	"syscall"
	"time"
)

// Take holds the file's lock until the returned file is closed, here and in every process that inherited it. While
// another process has it, Take calls waiting once and goes on trying until ctx ends.
func Take(ctx context.Context, file string, waiting func()) (*os.File, error) {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for told := false; ; {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return f, nil
		}
		if err != syscall.EWOULDBLOCK && err != syscall.EINTR {
			f.Close()
			return nil, &os.PathError{Op: "lock", Path: file, Err: err}
		}
		if !told {
			waiting()
			told = true
		}
		select {
		case <-ctx.Done():
			f.Close()
			return nil, context.Cause(ctx)
		case <-time.After(50 * time.Millisecond):
		}
	}
}
