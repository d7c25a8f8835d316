package soak

import (
	"bytes"
	"crypto/tls"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/kubectl-kruise/kubectl-kruise/internal/apiserver"
	"github.com/kubectl-kruise/kubectl-kruise/internal/faulty"
)

// dice are random choices for several goroutines.
type dice struct {
	mu     sync.Mutex
	source *rand.Rand
}

func newDice(seed uint64) *dice { return &dice{source: rand.New(rand.NewPCG(seed, 0))} }

// n is at least 0 and less than the bound.
func (d *dice) n(bound int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.source.IntN(bound)
}

func (d *dice) between(low, high time.Duration) time.Duration {
	return low + time.Duration(d.n(int(high-low)))
}

// oneIn says how many requests of a sort there are to one that fails.
var oneIn = map[faulty.Request]int{faulty.Write: 25, faulty.Watch: 3, faulty.List: 6}

// wire is a faulty way to the API server; its kubeconfig has no credentials of weight.
func wire(t *testing.T, server *apiserver.Server, d *dice) (kubeconfig string, transport *faulty.Transport) {
	t.Helper()
	config := rest.CopyConfig(server.Config)
	next, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	target, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	transport = &faulty.Transport{
		Next: next,
		Choose: func(sort faulty.Request, _ *http.Request) faulty.Fault {
			faults := faulty.Faults(sort)
			if len(faults) == 0 || d.n(oneIn[sort]) > 0 {
				return faulty.None
			}
			return faults[d.n(len(faults))]
		},
		Life: func() time.Duration { return d.between(time.Second, 10*time.Second) },
	}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Header.Del("Authorization")
		},
		Transport:     transport,
		FlushInterval: -1,
		ErrorLog:      log.New(io.Discard, "", 0),
		// A request without an answer ends its connection.
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	front := httptest.NewUnstartedServer(proxy)
	front.Config.ErrorLog = proxy.ErrorLog
	front.EnableHTTP2 = true
	front.TLS = &tls.Config{}
	front.StartTLS()
	t.Cleanup(front.Close)

	kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	err = clientcmd.WriteToFile(api.Config{
		CurrentContext: "soak",
		Contexts:       map[string]*api.Context{"soak": {Cluster: "soak", AuthInfo: "soak", Namespace: server.Namespace}},
		Clusters:       map[string]*api.Cluster{"soak": {Server: front.URL, InsecureSkipTLSVerify: true}},
		AuthInfos:      map[string]*api.AuthInfo{"soak": {Token: "anything"}},
	}, kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	return kubeconfig, transport
}

// program is the plugin as it was built.
func program(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("../../bin/kubectl-kruise")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%v; run: make build", err)
	}
	return path
}

// drivers keep one foreground loop running; while killing is set, each is killed after a while and followed by the next.
type drivers struct {
	t          *testing.T
	program    string
	kubeconfig string
	dice       *dice
	killing    atomic.Bool
	kills      atomic.Int32
	last       string // what the last one said
}

func startDrivers(t *testing.T, kubeconfig string, d *dice) *drivers {
	t.Helper()
	all := &drivers{t: t, program: program(t), kubeconfig: kubeconfig, dice: d}
	var running sync.WaitGroup
	running.Go(func() {
		for t.Context().Err() == nil {
			all.one()
		}
	})
	t.Cleanup(func() { // the test's context has ended by then
		running.Wait()
		if t.Failed() {
			t.Logf("the last loop said:\n%s", all.last)
		}
	})
	return all
}

func (s *drivers) life() time.Duration { return s.dice.between(3*time.Second, 15*time.Second) }

// one runs a loop until it is killed. A loop that ends by itself may only do so because it was refused what the one before
// it still holds, or by a fault before it had begun.
func (s *drivers) one() {
	var said bytes.Buffer
	cmd := exec.Command(s.program, "reconcile", "--kubeconfig", s.kubeconfig)
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		s.t.Error(err)
		return
	}
	exited := make(chan struct{})
	go func() {
		_ = cmd.Wait() // its code is asked for below
		close(exited)
	}()
	defer func() { s.last = tail(s.last + "-- " + cmd.ProcessState.String() + "\n" + said.String()) }()
	life := time.NewTimer(s.life())
	defer life.Stop()
	for {
		select {
		case <-exited:
			if code := cmd.ProcessState.ExitCode(); code != 1 && s.t.Context().Err() == nil {
				s.t.Errorf("the loop ends by itself with code %d:\n%s", code, tail(said.String()))
			}
			return
		case <-life.C:
			if !s.killing.Load() {
				life.Reset(s.life()) // this one may stay
				continue
			}
			s.kills.Add(1)
		case <-s.t.Context().Done():
		}
		_ = cmd.Process.Signal(syscall.SIGKILL)
		<-exited
		return
	}
}

func tail(text string) string {
	lines := strings.Split(text, "\n")
	return strings.Join(lines[max(0, len(lines)-30):], "\n")
}
