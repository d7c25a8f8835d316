package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"k8s.io/client-go/rest"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/features"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/cluster"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/reconcile"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/view"
)

// Session is what the loops of this process share.
func (d *Deps) Session(api reconcile.API, gates features.Gates, mode cluster.Mode, tell func(view.Event)) *reconcile.Session {
	return &reconcile.Session{API: api, Gates: gates, Now: d.Now, Random: d.Random, Holder: d.holder(), Mode: mode, Tell: tell}
}

// Connect finds the versions in which the cluster serves the kinds. When it does not know them it says what to type.
func Connect(ctx context.Context, config *rest.Config, kinds ...*reconcile.Kind) (*cluster.Client, []reconcile.Served, error) {
	client, served, err := reconcile.Connect(ctx, config, kinds...)
	var missing *cluster.NotServedError
	if errors.As(err, &missing) && len(missing.Served) == 0 {
		err = fmt.Errorf("%w; next: kubectl kruise install --crds-only", err)
	}
	return client, served, err
}

// holder is who we are in Leases: kubectl-kruise/<user>@<host>/<random>.
func (d *Deps) holder() string {
	user := "somebody"
	for _, name := range []string{"USER", "LOGNAME", "USERNAME"} {
		if v, _ := d.LookupEnv(name); v != "" {
			user = v
			break
		}
	}
	host, err := d.Hostname()
	if err != nil || host == "" {
		host = "unknown"
	}
	return fmt.Sprintf("%s%s@%s/%s", keys.HolderPrefix, word(user), word(host), strconv.FormatUint(d.Random(), 36))
}

// word keeps what is safe in one part of a holder.
func word(s string) string {
	return strings.Map(func(r rune) rune {
		if r > ' ' && r < 0x7f && r != '/' && r != '@' {
			return r
		}
		return '-'
	}, s)
}

// DriverOf is a driver as it is shown.
func DriverOf(d cluster.Driver) view.Driver {
	return view.Driver{Kind: view.DriverKind(d.Kind), Holder: d.Holder, Lease: d.Lease, Since: d.Since, Renewed: d.Renewed}
}
