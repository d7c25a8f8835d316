package cluster_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/cluster"
)

const (
	self  = "kubectl-kruise/ops@laptop/1"
	other = "kubectl-kruise/dev@bastion/2"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func lease(name, holder string, age time.Duration) *cluster.LeaseState {
	namespace, name, _ := strings.Cut(name, "/")
	return &cluster.LeaseState{
		Namespace: namespace, Name: name, Holder: holder, Acquired: noon.Add(-time.Hour), Renewed: noon.Add(-age), Duration: 15 * time.Second,
	}
}

func TestChoose(t *testing.T) {
	t.Parallel()
	manager := func(holder string, age time.Duration) *cluster.LeaseState {
		return lease("kruise-system/kruise-manager", holder, age)
	}
	loop := func(namespace, holder string) *cluster.LeaseState {
		return lease(namespace+"/kubectl-kruise-reconcile", holder, 0)
	}
	subject := func(holder string, age time.Duration) *cluster.LeaseState {
		return lease("shop/kubectl-kruise-cloneset-web", holder, age)
	}
	unreadable := []string{"kruise-system/kruise-manager"}
	const openKruise = "kruise-controller-manager-1_abc"
	tests := []struct {
		name  string
		facts cluster.LeaseFacts
		mode  cluster.Mode
		want  string
	}{
		{"nobody: drive", cluster.LeaseFacts{}, "", "drive"},
		{"(a) OpenKruise drives", cluster.LeaseFacts{Manager: manager(openKruise, 3*time.Second)}, "", "delegate openkruise kruise-system/kruise-manager"},
		{"(a) OpenKruise's lease has run out", cluster.LeaseFacts{Manager: manager(openKruise, 15*time.Second)}, "", "drive"},
		{"(a) OpenKruise's lease was let go", cluster.LeaseFacts{Manager: manager("", 0)}, "", "drive"},
		{"(b) our hosted loop drives", cluster.LeaseFacts{Manager: manager(other, 0)}, "", "delegate hosted kruise-system/kruise-manager"},
		{"(b) the hosted loop is this process", cluster.LeaseFacts{Manager: manager(self, 0)}, "", "drive"},
		{"(c) a loop in the namespace drives", cluster.LeaseFacts{Reconcile: loop("shop", other)}, "", "delegate reconcile shop/kubectl-kruise-reconcile"},
		{"(c) a loop for all namespaces drives", cluster.LeaseFacts{ReconcileAll: loop("kruise-system", other)}, "", "delegate reconcile kruise-system/kubectl-kruise-reconcile"},
		{"(c) the loop is this process", cluster.LeaseFacts{Reconcile: loop("shop", self)}, "", "drive"},
		{"(a) comes before (c)", cluster.LeaseFacts{Manager: manager(openKruise, 0), Reconcile: loop("shop", other)}, "", "delegate openkruise kruise-system/kruise-manager"},
		{"(c) comes before (d)", cluster.LeaseFacts{Reconcile: loop("shop", other), Subject: subject(other, 0)}, "", "delegate reconcile shop/kubectl-kruise-reconcile"},
		{
			"(d) another verb holds the subject", cluster.LeaseFacts{Subject: subject(other, 0)}, "",
			"being driven by dev@bastion since " + noon.Add(-time.Hour).Local().Format("15:04") + " (lease shop/kubectl-kruise-cloneset-web)",
		},
		{"(d) the other verb's lease has run out", cluster.LeaseFacts{Subject: subject(other, 16*time.Second)}, "", "drive"},
		{"(d) the subject is ours already", cluster.LeaseFacts{Subject: subject(self, 0)}, "", "drive"},
		{"OpenKruise's webhooks without its lease", cluster.LeaseFacts{Webhooks: true}, "", "OpenKruise is installed but not running: its webhooks are there and the lease kruise-system/kruise-manager is not live"},
		{"webhooks with a live lease are in order", cluster.LeaseFacts{Webhooks: true, Manager: manager(openKruise, 0)}, "", "delegate openkruise kruise-system/kruise-manager"},
		{
			"leases that may not be read ask for the mode", cluster.LeaseFacts{Unreadable: unreadable}, "",
			"no permission to read the lease kruise-system/kruise-manager, so it is not known who drives; say it with --mode=local (this process) or --mode=delegate (another does)",
		},
		{"unreadable, --mode=local", cluster.LeaseFacts{Unreadable: unreadable}, cluster.ModeLocal, "drive"},
		{"unreadable, --mode=delegate", cluster.LeaseFacts{Unreadable: unreadable}, cluster.ModeDelegate, "delegate unknown "},
		{"unreadable, but a loop in the namespace is seen", cluster.LeaseFacts{Unreadable: unreadable, Reconcile: loop("shop", other)}, "", "delegate reconcile shop/kubectl-kruise-reconcile"},
		{"unreadable, --mode=local, subject held", cluster.LeaseFacts{Unreadable: unreadable, Subject: subject(other, 0)}, cluster.ModeLocal, "being driven by dev@bastion since " + noon.Add(-time.Hour).Local().Format("15:04") + " (lease shop/kubectl-kruise-cloneset-web)"},
		{"--mode=delegate with nobody there", cluster.LeaseFacts{}, cluster.ModeDelegate, "delegate none "},
		{"--mode=local never makes a second driver", cluster.LeaseFacts{Manager: manager(openKruise, 0)}, cluster.ModeLocal, "--mode=local: kruise-controller-manager-1_abc drives already (lease kruise-system/kruise-manager); leave the flag out to let it"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			choice, err := cluster.Choose(&tt.facts, self, tt.mode, noon)
			got := string(choice.Role)
			if choice.Role == cluster.Delegate {
				got += " " + string(choice.Driver.Kind) + " " + choice.Driver.Lease
			}
			if err != nil {
				got += err.Error()
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("choice (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSubjectLease(t *testing.T) {
	t.Parallel()
	if got, want := cluster.SubjectLease("CloneSet", "web"), "kubectl-kruise-cloneset-web"; got != want {
		t.Errorf("name %q, want %q", got, want)
	}
	long := strings.Repeat("a", 240)
	one, two := cluster.SubjectLease("CloneSet", long+"1"), cluster.SubjectLease("CloneSet", long+"2")
	if len(one) > 253 || len(two) > 253 || one == two {
		t.Errorf("names of %d and %d characters, equal: %v", len(one), len(two), one == two)
	}
	if fits := cluster.SubjectLease("CloneSet", strings.Repeat("a", 253-len("kubectl-kruise-cloneset-"))); len(fits) != 253 || strings.Contains(fits[200:], "-") {
		t.Errorf("a name that just fits was cut: %q", fits)
	}
}
