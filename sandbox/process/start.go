package process

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

// Spec describes a component to run detached from this program.
type Spec struct {
	Name    string
	Command []string
	Dir     string   // working directory
	PIDFile string   // written by the new process itself, before it becomes the command
	LogFile string   // receives stdout and stderr
	Cgroups []string // cgroup folders the process joins
	NetNS   string   // file of the network namespace to run in; empty: the caller's
	Lock    *os.File // kept open by the new process until its pid file is written; may be nil
}

// Process is a started component.
type Process struct {
	Name    string
	LogFile string
	// Exited is closed when the component ends while this program is there to see it.
	Exited chan struct{}
}

// Start runs the component in a session of its own, so that it outlives this program. The new process records itself
// (see Become), so a program killed right after Start leaves a process that its pid file names.
func Start(s Spec) (*Process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	log, err := os.OpenFile(s.LogFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	args := []string{"launch", "--pid-file", s.PIDFile}
	for _, c := range s.Cgroups {
		args = append(args, "--cgroup", c)
	}
	cmd := exec.Command(self, append(append(args, "--"), s.Command...)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.Dir, log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if s.Lock != nil {
		cmd.ExtraFiles = []*os.File{s.Lock}
	}
	if err := In(s.NetNS, cmd.Start); err != nil {
		return nil, fmt.Errorf("start %s: %w", s.Name, err)
	}
	p := &Process{Name: s.Name, LogFile: s.LogFile, Exited: make(chan struct{})}
	go func() {
		_ = cmd.Wait()
		close(p.Exited)
	}()
	return p, nil
}

// Tail returns the last non-empty lines of the component's log, for an error message.
func (p *Process) Tail(lines int) string {
	data, err := os.ReadFile(p.LogFile)
	if err != nil {
		return err.Error()
	}
	all := strings.Split(strings.TrimSpace(string(data)), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// Become turns the calling process into the command after it has joined the cgroups and written its pid file. It is
// the body of the hidden `launch` command and returns only on failure.
func Become(pidFile string, cgroups, command []string) error {
	syscall.CloseOnExec(3) // the lock that Start may have handed down
	for _, c := range cgroups {
		if err := os.WriteFile(c+"/cgroup.procs", []byte("0"), 0); err != nil {
			return fmt.Errorf("join cgroup %s: %w", c, err)
		}
	}
	id, err := Self()
	if err != nil {
		return err
	}
	if err := id.Write(pidFile); err != nil {
		return err
	}
	return fmt.Errorf("exec %s: %w", command[0], syscall.Exec(command[0], command, os.Environ()))
}
