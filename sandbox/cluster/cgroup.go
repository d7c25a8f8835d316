package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const cgroupMount = "/sys/fs/cgroup"

// hierarchies lists the roots of the cgroup hierarchies: one with version 2, one for each controller with version 1.
func hierarchies() []string {
	if _, err := os.Stat(cgroupMount + "/cgroup.controllers"); err == nil {
		return []string{cgroupMount}
	}
	entries, _ := os.ReadDir(cgroupMount)
	var out []string
	for _, e := range entries {
		dir := filepath.Join(cgroupMount, e.Name())
		// links such as cpu -> cpu,cpuacct are second names
		if _, err := os.Stat(dir + "/cgroup.procs"); err == nil && e.IsDir() && e.Name() != "unified" {
			out = append(out, dir)
		}
	}
	return out
}

// processHierarchy is the one in which a sandbox's processes are kept together.
func processHierarchy() string {
	all := hierarchies()
	for _, h := range all {
		if filepath.Base(h) == "pids" {
			return h
		}
	}
	if len(all) == 0 {
		return cgroupMount
	}
	return all[0]
}

// makeCgroups makes a cgroup, and those above it, in every hierarchy.
func makeCgroups(name string) error {
	roots := hierarchies()
	if len(roots) == 0 {
		return fmt.Errorf("no cgroups are mounted at %s", cgroupMount)
	}
	for _, root := range roots {
		dir := root
		for _, part := range strings.Split(name, "/") {
			if root == cgroupMount {
				// what cannot be handed down here is reported by the kubelet that needs it
				for _, c := range []string{"cpu", "cpuset", "memory", "pids", "io", "hugetlb"} {
					_ = os.WriteFile(dir+"/cgroup.subtree_control", []byte("+"+c), 0)
				}
			}
			parent := dir
			dir = filepath.Join(dir, part)
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return err
			}
			if err := inheritCPUs(parent, dir); err != nil {
				return err
			}
		}
	}
	return nil
}

// inheritCPUs fills a new cpuset of version 1, which starts without processors and memory.
func inheritCPUs(parent, dir string) error {
	for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
		own, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil || len(bytes.TrimSpace(own)) > 0 || filepath.Dir(parent) == "/sys/fs" {
			continue
		}
		value, err := os.ReadFile(filepath.Join(parent, file))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, file), value, 0); err != nil {
			return err
		}
	}
	return nil
}

// killCgroup ends all processes in the cgroup and those below it.
func killCgroup(name string) error {
	dir := filepath.Join(processHierarchy(), name)
	for deadline := time.Now().Add(15 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		pids, err := cgroupProcesses(dir)
		if err != nil || len(pids) == 0 {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("processes %v do not end", pids)
		}
		for _, pid := range pids {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
				return fmt.Errorf("kill process %d: %w", pid, err)
			}
		}
	}
}

func cgroupProcesses(dir string) ([]int, error) {
	var pids []int
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if err != nil || d.Name() != "cgroup.procs" {
			return err
		}
		data, err := os.ReadFile(path)
		for _, field := range strings.Fields(string(data)) {
			if pid, err := strconv.Atoi(field); err == nil && pid > 0 {
				pids = append(pids, pid)
			}
		}
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ENODEV) {
			return nil
		}
		return err
	})
	return pids, err
}

// removeCgroups removes the cgroup and those below it from every hierarchy. No process may be in them.
func removeCgroups(name string) error {
	// beside version 1 there may be a version 2 hierarchy without controllers, which container runtimes use too
	for _, root := range append(hierarchies(), cgroupMount+"/unified") {
		var dirs []string
		top := filepath.Join(root, name)
		_ = filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				dirs = append(dirs, path)
			}
			return nil
		})
		for i := len(dirs) - 1; i >= 0; i-- { // children come after their parents
			if err := removeEmpty(dirs[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// removeEmpty removes one cgroup. A process that has just ended may keep it busy for a moment.
func removeEmpty(dir string) error {
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		err := syscall.Rmdir(dir)
		if err == nil || errors.Is(err, syscall.ENOENT) {
			return nil
		}
		if !errors.Is(err, syscall.EBUSY) || time.Now().After(deadline) {
			return fmt.Errorf("remove cgroup %s: %w", dir, err)
		}
	}
}
