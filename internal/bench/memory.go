package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"time"
)

// watchMemory follows a process until the returned function is called, which says how much memory it had at most, in bytes.
// What the kernel tells of a process that has ended counts what its parent had when it began.
func watchMemory(cmd *exec.Cmd) func() int64 {
	var most int64
	look := func() {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
		if err != nil {
			return
		}
		for lines := bufio.NewScanner(bytes.NewReader(status)); lines.Scan(); {
			var kib int64
			if _, err := fmt.Sscanf(lines.Text(), "VmHWM: %d kB", &kib); err == nil {
				most = max(most, kib<<10)
			}
		}
	}
	stop := make(chan struct{})
	var following sync.WaitGroup
	following.Go(func() {
		ticker := time.NewTicker(50 * time.Millisecond)
		defer ticker.Stop()
		for {
			look()
			select {
			case <-stop:
				return
			case <-ticker.C:
			}
		}
	})
	return func() int64 {
		close(stop)
		following.Wait()
		return most
	}
}
