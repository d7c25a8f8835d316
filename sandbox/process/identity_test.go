package process

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

func TestParseStat(t *testing.T) {
	t.Parallel()
	rest := " S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20 21"
	for _, line := range []string{"12 (etcd)" + rest, "12 (a b) c)" + rest, "12 ())" + rest} {
		state, start, err := parseStat(line)
		if err != nil || state != "S" || start != 4711 {
			t.Errorf("parseStat(%q) = %q, %d, %v", line, state, start, err)
		}
	}
	for _, line := range []string{"", "12 etcd S 1", "12 (etcd) S 1 2", "12 (etcd)" + " S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 x 20"} {
		if _, _, err := parseStat(line); err == nil {
			t.Errorf("parseStat(%q) has no error", line)
		}
	}
}

func TestIdentityOfAnotherProcessIsNotAlive(t *testing.T) {
	t.Parallel()
	self, err := Self()
	if err != nil {
		t.Fatal(err)
	}
	later, otherBoot := self, self
	later.Start++
	otherBoot.Boot = "00000000-0000-0000-0000-000000000000"
	if !self.Alive() || later.Alive() || otherBoot.Alive() || (Identity{}).Alive() {
		t.Errorf("alive: self %t, same id later %t, same id in another boot %t, none %t",
			self.Alive(), later.Alive(), otherBoot.Alive(), Identity{}.Alive())
	}
}

func TestKillSparesAReusedID(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	id, err := lookup(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	stale := id
	stale.Start-- // as if the id had belonged to an earlier process
	if err := Kill(stale); err != nil || !id.Alive() {
		t.Errorf("Kill(stale) = %v, and the process with the same id lives: %t", err, id.Alive())
	}
	// a zombie until Wait: ended all the same
	if err := Kill(id); err != nil || id.Alive() {
		t.Errorf("Kill = %v, alive: %t", err, id.Alive())
	}
}

func TestRecorded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	self, err := Self()
	if err != nil {
		t.Fatal(err)
	}
	if err := self.Write(filepath.Join(dir, "etcd.pid")); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"half.pid": "12", "etcd.pid.99": "1 2 x", "note": "1 2 x"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got := Recorded(dir)
	if len(got) != 1 || got["etcd"] != self {
		t.Errorf("Recorded = %v, want etcd: %v alone", got, self)
	}
}
