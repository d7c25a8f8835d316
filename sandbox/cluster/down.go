package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/kubectl-kruise/kubectl-kruise/sandbox/network"
	"github.com/kubectl-kruise/kubectl-kruise/sandbox/process"
)

// Down ends the cluster and removes everything it made but its logs. It can be called at any time and again, also after
// a program that was killed in the middle of Up or Down, and after the state folder was removed by hand.
func (s *Sandbox) Down(ctx context.Context) error {
	indexes, err := s.indexes(ctx)
	if err != nil {
		return err
	}
	if _, err := os.Stat(s.Dir); errors.Is(err, os.ErrNotExist) && len(indexes) == 0 {
		s.Say("nothing is up in %s", s.Dir)
		return nil
	}
	if err := s.acquire(ctx); err != nil {
		return err
	}
	defer s.release()
	if err := s.remove(ctx); err != nil {
		return err
	}
	s.Say("down; the logs are in %s", s.path("log"))
	return nil
}

// remove does the work of Down.
func (s *Sandbox) remove(ctx context.Context) error {
	if err := s.killRecorded(); err != nil {
		return err
	}
	indexes, err := s.indexes(ctx)
	if err != nil {
		return err
	}
	for _, index := range indexes {
		plan := network.Plan{Index: index, Isolated: true}
		if err := s.sweep(plan, s.Dir); err != nil {
			return fmt.Errorf("%w; what is left can be removed by another `kruise-sandbox down`", err)
		}
	}
	if err := s.removeState(); err != nil {
		return err
	}
	for _, index := range indexes {
		if err := freeSlot(ctx, index); err != nil {
			return err
		}
	}
	s.record, s.plan = record{}, network.Plan{}
	return nil
}

// killRecorded ends the processes that the pid files name.
func (s *Sandbox) killRecorded() error {
	var ids []process.Identity
	for _, id := range process.Recorded(s.path("pid")) {
		ids = append(ids, id)
	}
	return process.Kill(ids...)
}

// removeState empties the state folder but for logs and lock.
func (s *Sandbox) removeState() error {
	entries, err := os.ReadDir(s.Dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		switch e.Name() {
		case "log", "lock", "sandbox.json": // the last goes last: it says that there is something to remove
			continue
		}
		if err := os.RemoveAll(s.path(e.Name())); err != nil {
			return err
		}
	}
	if err := os.Remove(s.path("sandbox.json")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
