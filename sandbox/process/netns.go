package process

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"golang.org/x/sys/unix"
)

// In calls f on a thread that is in the network namespace of the file; what f starts there stays there. An empty file
// name means the caller's own namespace.
func In(netns string, f func() error) error {
	if netns == "" {
		return f()
	}
	return onThread(func() error {
		fd, err := unix.Open(netns, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("open network namespace %s: %w", netns, err)
		}
		defer unix.Close(fd)
		if err := unix.Setns(fd, unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("enter network namespace %s: %w", netns, err)
		}
		return f()
	})
}

// CreateNetNS makes a network namespace and binds it to the file, so that it exists until RemoveNetNS.
func CreateNetNS(file string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		return err
	}
	return onThread(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("create network namespace: %w", err)
		}
		own := fmt.Sprintf("/proc/%d/task/%d/ns/net", unix.Getpid(), unix.Gettid())
		if err := unix.Mount(own, file, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("keep network namespace at %s: %w", file, err)
		}
		return nil
	})
}

// RemoveNetNS lets go of a namespace; the kernel drops it, with its interfaces and firewall rules, once no process is
// in it. A missing one is no error.
func RemoveNetNS(file string) error {
	if err := unix.Unmount(file, unix.MNT_DETACH); err != nil && err != unix.EINVAL && err != unix.ENOENT {
		return fmt.Errorf("unmount %s: %w", file, err)
	}
	if err := os.Remove(file); err != nil && !os.IsNotExist(err) {
		return err
	}
	return nil
}

// onThread runs f on a thread of its own that ends with it, so that no other code ever runs in a changed namespace.
func onThread(f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked
		done <- f()
	}()
	return <-done
}
