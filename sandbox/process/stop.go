package process

import (
	"fmt"
	"os"
	"syscall"
	"time"
)

// Kill ends the processes at once and waits until they are gone. One that no longer runs, or whose id now belongs to
// another process, is left alone.
func Kill(ids ...Identity) error {
	for _, id := range ids {
		// FindProcess holds the process by a descriptor, so the check and the signal concern the same process.
		p, err := os.FindProcess(id.PID)
		if err != nil {
			continue
		}
		if id.Alive() {
			_ = p.Signal(syscall.SIGKILL) // an error means that it has just ended
		}
		_ = p.Release()
	}
	deadline := time.Now().Add(10 * time.Second)
	for _, id := range ids {
		for id.Alive() {
			if time.Now().After(deadline) {
				return fmt.Errorf("process %d does not end", id.PID)
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	return nil
}
