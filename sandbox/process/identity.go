package process

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Identity names one process for ever: a process id alone is reused by the kernel, but never together with the same
// start time in the same boot.
type Identity struct {
	PID   int
	Start uint64 // clock ticks since boot, field 22 of /proc/PID/stat
	Boot  string // /proc/sys/kernel/random/boot_id
}

// Self returns the identity of the calling process. Replacing the program by exec does not change it.
func Self() (Identity, error) {
	return lookup(os.Getpid())
}

func lookup(pid int) (Identity, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return Identity{}, err
	}
	_, start, err := parseStat(string(stat))
	if err != nil {
		return Identity{}, fmt.Errorf("process %d: %w", pid, err)
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return Identity{}, err
	}
	return Identity{PID: pid, Start: start, Boot: strings.TrimSpace(string(boot))}, nil
}

// parseStat takes state and start time from a line of /proc/PID/stat. The command name in it may hold spaces and
// parentheses, so fields are counted from the last closing one.
func parseStat(stat string) (state string, start uint64, err error) {
	end := strings.LastIndexByte(stat, ')')
	if end < 0 {
		return "", 0, errors.New("stat line without command name")
	}
	fields := strings.Fields(stat[end+1:])
	if len(fields) < 20 {
		return "", 0, fmt.Errorf("stat line has %d fields after the command name, want at least 20", len(fields))
	}
	start, err = strconv.ParseUint(fields[19], 10, 64)
	return fields[0], start, err
}

// Alive says whether this very process still runs; a zombie does not.
func (id Identity) Alive() bool {
	now, err := lookup(id.PID)
	if err != nil || now != id {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", id.PID))
	if err != nil {
		return false
	}
	state, _, err := parseStat(string(stat))
	return err == nil && state != "Z" && state != "X"
}

// Write stores the identity in a pid file, which appears whole or not at all.
func (id Identity) Write(file string) error {
	tmp := fmt.Sprintf("%s.%d", file, id.PID)
	if err := os.WriteFile(tmp, fmt.Appendf(nil, "%d %d %s\n", id.PID, id.Start, id.Boot), 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, file)
}

// Read loads the identity that Write stored.
func Read(file string) (Identity, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return Identity{}, err
	}
	var id Identity
	if _, err := fmt.Sscanf(string(data), "%d %d %s", &id.PID, &id.Start, &id.Boot); err != nil {
		return Identity{}, fmt.Errorf("pid file %s: %w", file, err)
	}
	return id, nil
}

// Recorded returns the identities in the pid files of a folder by component name. Unreadable files are left out: a
// pid file appears by rename, so they are none of ours.
func Recorded(dir string) map[string]Identity {
	entries, _ := os.ReadDir(dir)
	out := map[string]Identity{}
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".pid")
		if !ok {
			continue
		}
		if id, err := Read(filepath.Join(dir, e.Name())); err == nil {
			out[name] = id
		}
	}
	return out
}
