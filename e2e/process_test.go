package e2e

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// process is a kubectl, or the plugin that it became, which runs beside the test.
type process struct {
	cmd    *exec.Cmd
	said   transcript
	exited chan struct{}
}

// transcript keeps what a process writes to both its streams.
type transcript struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (t *transcript) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.all.Write(b)
}

// start runs kubectl in the namespace beside the test, until it ends by itself or the test does.
func (s *space) start(args ...string) *process {
	s.Helper()
	p := &process{cmd: exec.Command("kubectl", slices.Concat(args, []string{"-n", s.name})...), exited: make(chan struct{})}
	p.cmd.Env, p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = lab.env, lab.root, &p.said, &p.said
	if err := p.cmd.Start(); err != nil {
		s.Fatal(err)
	}
	s.told = append(s.told, p)
	go func() {
		_ = p.cmd.Wait() // its code is asked for by those who want it
		close(p.exited)
	}()
	s.Cleanup(func() {
		p.signal(s, syscall.SIGKILL)
		<-p.exited
	})
	return p
}

func (p *process) String() string { return strings.Join(p.cmd.Args, " ") }

func (p *process) output() string {
	p.said.mu.Lock()
	defer p.said.mu.Unlock()
	return p.said.all.String()
}

// signal sends a signal; one that comes after the end of the process is lost.
func (p *process) signal(s *space, sig syscall.Signal) {
	s.Helper()
	if err := p.cmd.Process.Signal(sig); err != nil && !errors.Is(err, syscall.ESRCH) && !errors.Is(err, os.ErrProcessDone) {
		s.Error(err)
	}
}

// ended says whether the process has ended.
func (p *process) ended() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// code waits for the end of the process and returns its exit code; -1 when a signal killed it.
func (p *process) code(s *space) int {
	s.Helper()
	s.until("the end of: "+p.String(), func() (bool, string) { return p.ended(), p.output() })
	return p.cmd.ProcessState.ExitCode()
}

// reconcile starts the foreground loop in the namespace. At the end of the test it must obey Ctrl-C.
func (s *space) reconcile() {
	s.Helper()
	p := s.start("kruise", "reconcile")
	s.Cleanup(func() {
		if p.ended() {
			s.Errorf("the loop ended by itself:\n%s", p.output())
			return
		}
		p.signal(s, syscall.SIGINT)
		select {
		case <-p.exited:
		case <-time.After(time.Minute):
			s.Errorf("the loop does not end after Ctrl-C:\n%s", p.output())
			return
		}
		if code := p.cmd.ProcessState.ExitCode(); code != 130 {
			s.Errorf("exit code %d after Ctrl-C, want 130\n%s", code, p.output())
		}
	})
}
