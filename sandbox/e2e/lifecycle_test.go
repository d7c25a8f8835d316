package e2e

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubectl-kruise/kubectl-kruise/sandbox/process"
)

const pods = `
apiVersion: v1
kind: Pod
metadata: {name: web, labels: {app: web}}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - {name: nginx, image: "nginx:alpine", imagePullPolicy: Always}
  - {name: side, image: "lab/side:1"}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  selector: {app: web}
  ports: [{port: 80}]
---
apiVersion: v1
kind: Pod
metadata: {name: unknown}
spec:
  containers:
  - {name: nginx, image: "nginx:1.72"}
---
apiVersion: v1
kind: Pod
metadata: {name: crash}
spec:
  containers:
  - {name: main, image: "lab/crash:1"}
---
apiVersion: v1
kind: Pod
metadata: {name: fake}
spec:
  nodeName: fake2
  containers:
  - {name: nginx, image: "nginx:alpine"}
  - {name: side, image: "lab/side:1"}
`

func TestLifecycle(t *testing.T) {
	t.Parallel()
	b := newBox(t, true)
	b.must("up", "--nodes", "1", "--fake-nodes", "2", "--audit")
	index := b.index()
	if out := b.must("up", "--nodes", "1", "--fake-nodes", "2", "--audit"); !strings.Contains(out, "already up") {
		t.Errorf("a second up says\n%s", out)
	}
	if out, err := b.run("up", "--nodes", "2"); err == nil || !strings.Contains(out, "other options") {
		t.Errorf("up with other options: %v\n%s", err, out)
	}
	if out := b.must("status"); !strings.Contains(out, "3 of 3 nodes ready") {
		t.Errorf("status says\n%s", out)
	}
	b.mustKubectl(pods, "apply", "-f", "-")
	for _, pod := range []string{"web", "fake"} {
		b.mustKubectl("", "wait", "--for=condition=Ready", "pod/"+pod, "--timeout=180s")
		b.changesOneContainer(pod)
	}
	b.eventually("an unknown tag is not found", func() (string, bool) {
		w := b.containers("unknown")["nginx"].State.Waiting
		return w.Reason + ": " + w.Message, strings.Contains(w.Message, "nginx:1.72: not found")
	})
	b.eventually("a crashing container is restarted soon and often", func() (string, bool) {
		c := b.containers("crash")["main"]
		return c.State.Waiting.Reason, c.RestartCount >= 3
	})
	if out := b.mustKubectl("", "logs", "crash"); !strings.Contains(out, "refuses connections") {
		t.Errorf("the crashing container says %q", out)
	}
	b.servesThroughTheService()
	b.loadsAnArchive()
	audit, err := os.ReadFile(filepath.Join(b.state, "log", "audit.log"))
	if err != nil || !strings.Contains(string(audit), `"requestURI":"/api/v1/namespaces/default/pods`) {
		t.Errorf("the audit log has no line on pods: %v", err)
	}
	present := b.traces(index)
	for _, kind := range []string{"process", "mount", "interface", "route", "slot", "cni"} {
		if len(present[kind]) == 0 {
			t.Errorf("while the sandbox is up, no %s of it is found; the check below would see nothing", kind)
		}
	}
	b.must("down")
	b.gone(index)
	b.must("down")
	if out, err := b.run("status"); err == nil || !strings.Contains(out, "no sandbox is up") {
		t.Errorf("status after down: %v\n%s", err, out)
	}
}

// changesOneContainer changes one image of a running pod in place and sees that container alone restart.
func (b *box) changesOneContainer(pod string) {
	b.t.Helper()
	before := b.containers(pod)
	b.mustKubectl("", "set", "image", "pod/"+pod, "nginx=nginx:1.27")
	b.eventually(pod+" runs the new image", func() (string, bool) {
		c := b.containers(pod)["nginx"]
		return c.ImageID, c.ImageID != before["nginx"].ImageID && c.Ready && c.RestartCount == before["nginx"].RestartCount+1
	})
	if after := b.containers(pod)["side"]; after != before["side"] {
		b.t.Errorf("the other container of %s changed: %+v, was %+v", pod, after, before["side"])
	}
}

// servesThroughTheService reaches a pod by its Service from a pod, and from the API server, as a webhook is reached.
func (b *box) servesThroughTheService() {
	b.t.Helper()
	const want = "served by docker.io/library/nginx:1.27"
	address := b.mustKubectl("", "get", "service", "web", "-o", "jsonpath={.spec.clusterIP}")
	b.eventually("a pod is reached at its Service's address", func() (string, bool) {
		out, _ := b.kubectl("", "exec", "web", "-c", "side", "--", "sh", "-c", `printf 'GET / HTTP/1.0\r\n\r\n' | nc -w 2 `+address+` 80`)
		return out, strings.Contains(out, want)
	})
	if out := b.mustKubectl("", "get", "--raw", "/api/v1/namespaces/default/services/web:80/proxy/"); !strings.Contains(out, want) {
		b.t.Errorf("through the API server the Service answers %q", out)
	}
}

// loadsAnArchive puts an image of its own on the node and runs it.
func (b *box) loadsAnArchive() {
	b.t.Helper()
	archive := filepath.Join(b.t.TempDir(), "own.tar")
	writeImage(b.t, archive, "example.com/own/thing:7")
	if out := b.must("load", archive); !strings.Contains(out, "example.com/own/thing:7") {
		b.t.Errorf("load says %q", out)
	}
	for name, policy := range map[string]string{"imported": "Never", "pushed": "Always"} {
		b.mustKubectl("", "run", name, "--image=example.com/own/thing:7", "--image-pull-policy="+policy)
		b.mustKubectl("", "wait", "--for=condition=Ready", "pod/"+name, "--timeout=180s")
	}
}

func TestKilledInTheMiddle(t *testing.T) {
	t.Parallel()
	b := newBox(t, true)
	cmd := exec.Command(b.program, "up", "--nodes", "1", "--state", b.state)
	progress, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// its first line comes when half of the components run
	if !bufio.NewScanner(progress).Scan() {
		t.Error("up ended before it was killed")
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	index := b.index()
	if len(b.traces(index)["process"]) == 0 {
		t.Error("no component runs, so this test would see nothing")
	}
	if out, err := b.run("status"); err == nil {
		t.Errorf("status of half a sandbox has no error:\n%s", out)
	}
	b.must("down")
	b.gone(index)
}

func TestRepair(t *testing.T) {
	t.Parallel()
	b := newBox(t, false)
	b.must("up", "--nodes", "0", "--fake-nodes", "1")
	id, err := process.Read(filepath.Join(b.state, "pid", "etcd.pid"))
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Kill(id); err != nil {
		t.Fatal(err)
	}
	if out, err := b.run("status"); err == nil || !strings.Contains(out, "not running") {
		t.Errorf("status without etcd: %v\n%s", err, out)
	}
	if out := b.must("up", "--nodes", "0", "--fake-nodes", "1"); !strings.Contains(out, "not running any more: etcd") {
		t.Errorf("up says\n%s", out)
	}
	b.must("status")
	b.must("down")
	for _, p := range process.Recorded(filepath.Join(b.state, "pid")) {
		if p.Alive() {
			t.Errorf("process %d still runs", p.PID)
		}
	}
}
