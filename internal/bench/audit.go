package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
)

// requester says whose requests count.
type requester func(user, agent string) bool

func ours(_, agent string) bool { return strings.HasPrefix(agent, "kubectl-kruise") }

func builtIn(user, _ string) bool {
	return user == "system:serviceaccount:kube-system:deployment-controller" || user == "system:serviceaccount:kube-system:replicaset-controller"
}

// audit is the API server's log from one moment on.
type audit struct{ file *os.File }

func (l *lab) openAudit() (*audit, error) {
	f, err := os.Open(filepath.Join(l.state, "log", "audit.log"))
	if err != nil {
		return nil, err
	}
	_, err = f.Seek(0, io.SeekEnd)
	return &audit{f}, err
}

// count closes the log and counts the requests that it was told of since it was opened: those in the namespace, events
// among them, without watches.
func (a *audit) count(namespace string, by requester) (int, error) {
	defer a.file.Close()
	n := 0
	lines := bufio.NewScanner(a.file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e struct {
			Verb, UserAgent string
			User            struct{ Username string }
			ObjectRef       struct{ Namespace string }
		}
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return 0, fmt.Errorf("audit log: %w", err)
		}
		if e.Verb != "watch" && e.ObjectRef.Namespace == namespace && by(e.User.Username, e.UserAgent) {
			n++
		}
	}
	return n, lines.Err()
}

// controllerManagerCPU is the processor time that the controller manager has used.
func (l *lab) controllerManagerCPU() (time.Duration, error) {
	const ticks = 100 // a second; the same on every Linux that Go runs on
	record, err := os.ReadFile(filepath.Join(l.state, "pid", "controller-manager.pid"))
	if err != nil {
		return 0, err
	}
	pid, _, _ := strings.Cut(strings.TrimSpace(string(record)), " ")
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest)
	var sum int64
	for _, f := range fields[11:13] {
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return time.Duration(sum) * time.Second / ticks, nil
}

// deploymentSettled waits until the Deployment's status says that all is done.
func (l *lab) deploymentSettled(ctx context.Context, namespace string) error {
	return wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		d, err := l.client.AppsV1().Deployments(namespace).Get(ctx, "app", metav1.GetOptions{})
		return err == nil && d.Status.ObservedGeneration == d.Generation && d.Status.UpdatedReplicas == many && d.Status.AvailableReplicas == many, err
	})
}
