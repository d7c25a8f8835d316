package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/kubectl-kruise/kubectl-kruise/sandbox/lock"
	"github.com/kubectl-kruise/kubectl-kruise/sandbox/network"
)

// slots is the folder that says which index belongs to which state folder: a file for each index with the folder's
// name in it. It outlives a state folder that was removed by hand, so that `down` and a later `up` still find what is
// left of that sandbox.
func slots() (string, error) {
	if os.Geteuid() == 0 {
		return "/run/kruise-sandbox", nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(cache, "kubectl-kruise", "sandbox", "slots"), nil
}

// withSlots calls f with the slots' folder while no other program changes it.
func withSlots(ctx context.Context, f func(dir string) error) error {
	dir, err := slots()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	held, err := lock.Take(ctx, filepath.Join(dir, "lock"), func() {})
	if err != nil {
		return err
	}
	defer held.Close()
	return f(dir)
}

// claim gives the sandbox an index whose addresses and ports are free, and records it before anything is made with it.
func (s *Sandbox) claim(ctx context.Context, o Options) error {
	return withSlots(ctx, func(dir string) error {
		var busy error
		for index := 1; index <= network.MaxIndex; index++ {
			plan := network.Plan{Index: index, Isolated: o.Nodes > 0}
			owner := slotOwner(dir, index)
			if owner != "" && owner != s.Dir {
				if owns(owner, index) {
					continue
				}
				// its state folder was removed by hand
				if err := s.sweep(plan, owner); err != nil {
					return fmt.Errorf("clean up after the sandbox in %s: %w", owner, err)
				}
			}
			if err := plan.Free(); err != nil {
				busy = err
				continue
			}
			if err := os.WriteFile(slotFile(dir, index), []byte(s.Dir), 0o600); err != nil {
				return err
			}
			s.record = record{Options: o, Index: index}
			s.plan = plan
			return s.save()
		}
		if busy == nil {
			busy = errors.New("all are taken")
		}
		return fmt.Errorf("no room for one more sandbox (of %d): %w", network.MaxIndex, busy)
	})
}

// indexes lists every index that may hold something of this sandbox.
func (s *Sandbox) indexes(ctx context.Context) ([]int, error) {
	var out []int
	err := withSlots(ctx, func(dir string) error {
		for index := 1; index <= network.MaxIndex; index++ {
			if slotOwner(dir, index) == s.Dir {
				out = append(out, index)
			}
		}
		return nil
	})
	return out, err
}

func freeSlot(ctx context.Context, index int) error {
	return withSlots(ctx, func(dir string) error {
		if err := os.Remove(slotFile(dir, index)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		return nil
	})
}

func slotFile(dir string, index int) string { return filepath.Join(dir, strconv.Itoa(index)) }

func slotOwner(dir string, index int) string {
	data, _ := os.ReadFile(slotFile(dir, index))
	return strings.TrimSpace(string(data))
}

// owns says whether the state folder still knows of the index.
func owns(stateDir string, index int) bool {
	other := &Sandbox{Dir: stateDir}
	known, err := other.load()
	return err != nil || known && other.Index == index
}

func netNS(index int) (string, error) {
	dir, err := slots()
	return slotFile(dir, index) + ".netns", err
}
