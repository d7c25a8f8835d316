package certs

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
)

// fullEvery is how many looks of the leader pass between two at objects that nobody is known to have changed.
const fullEvery = 6

// Options say what a Keeper keeps. All fields but Loaded have to be set.
type Options struct {
	Client dynamic.Interface
	// Namespace and Secret say where the certificates are kept.
	Namespace, Secret string
	// Mutating and Validating are webhook configurations, CRDs are those that may convert by webhook. What does not exist
	// is left alone.
	Mutating, Validating, CRDs []string
	Policy                     Policy
	// External says that somebody else keeps Secret and trust: they are read and never written.
	External bool
	// Every is the time between two looks.
	Every time.Duration
	Now   func() time.Time
	Log   *slog.Logger
	// Loaded hears of every certificate that is served from now on and of its CA; nil is allowed.
	Loaded func(certEnds, caEnds time.Time)
}

// Keeper keeps the certificates of one process. Make it with New.
type Keeper struct {
	Options
	// stored receives when this process has stored a state.
	stored chan struct{}

	mu sync.Mutex
	// serving is the certificate in use, last the state that it came from, trusted the CAs that were published with it.
	serving *tls.Certificate
	last    State
	trusted []byte
	// look counts what the leader did; published and since say which state is in place and since when.
	look      int
	published []byte
	since     time.Time
}

// New makes a keeper that does nothing yet.
func New(o Options) *Keeper { return &Keeper{Options: o, stored: make(chan struct{}, 1)} }

// errNone says that there is no certificate yet.
var errNone = errors.New("no certificate yet")

// GetCertificate is for a tls.Config.
func (k *Keeper) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.serving == nil {
		return nil, errNone
	}
	return k.serving, nil
}

// Bundle are the CAs that the served certificate can be verified with; empty when there is none.
func (k *Keeper) Bundle() []byte {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.last.Bundle()
}

// Follow serves what the Secret says until the context ends.
func (k *Keeper) Follow(ctx context.Context) {
	k.every(ctx, k.stored, func() error {
		if k.External {
			return k.followOthers(ctx)
		}
		state, _, err := k.read(ctx)
		if err != nil {
			return err
		}
		return k.load(state)
	})
}

// Lead renews and publishes the certificates until the context ends, beside Follow. ready is called after the first time
// that all is in place. One process at a time may do it.
func (k *Keeper) Lead(ctx context.Context, ready func()) {
	if k.External {
		ready()
		<-ctx.Done()
		return
	}
	var once sync.Once
	k.mu.Lock()
	k.look, k.published = 0, nil
	k.mu.Unlock()
	k.every(ctx, nil, func() error {
		err := k.Tend(ctx)
		var kept *keptError
		if err == nil || errors.As(err, &kept) && len(k.Bundle()) > 0 {
			once.Do(ready)
		}
		return err
	})
}

// every does something at once, then again and again and when now receives. A failure is logged once as long as it stays
// the same.
func (k *Keeper) every(ctx context.Context, now <-chan struct{}, do func() error) {
	ticker := time.NewTicker(k.Every)
	defer ticker.Stop()
	said := ""
	for {
		err := do()
		switch {
		case ctx.Err() != nil:
			return
		case err != nil && err.Error() != said:
			said = err.Error()
			k.Log.Warn("certificates", "error", said)
		case err == nil:
			said = ""
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-now:
			ticker.Reset(k.Every) // the look after this one is a whole pause away
		}
	}
}

// Tend looks once: renews what is due, stores it and publishes the CAs.
func (k *Keeper) Tend(ctx context.Context) error {
	present, secret, err := k.read(ctx)
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	if secret != nil {
		if data, _, _ := unstructured.NestedMap(secret.Object, "data"); keptByOthers(data) {
			return &keptError{secret: k.Namespace + "/" + k.Secret}
		}
	}
	now := k.Now()
	k.mu.Lock()
	last, settled := k.last, time.Duration(0)
	if bytes.Equal(k.published, mark(present)) {
		settled = now.Sub(k.since)
	}
	k.mu.Unlock()
	next, why, err := Renew(present, last, k.Policy, now, settled)
	if err != nil {
		return err
	}
	if why != "" {
		// A CA that will be served at once has to be trusted before it is stored: others read what is stored.
		if err := k.publish(ctx, next.Bundle(), true); err != nil {
			return err
		}
		if err := k.store(ctx, secret, next); err != nil {
			return fmt.Errorf("store the certificates: %w", err)
		}
		k.Log.Info("certificates changed", "why", why)
	}
	if err := k.settle(ctx, next); err != nil {
		return err
	}
	if why != "" {
		select {
		case k.stored <- struct{}{}:
		default:
		}
	}
	return nil
}

// settle publishes the CAs of a state and remembers since when it stands.
func (k *Keeper) settle(ctx context.Context, state State) error {
	k.mu.Lock()
	changed := !bytes.Equal(k.published, mark(state))
	full := changed || k.look%fullEvery == 0
	k.look++
	k.mu.Unlock()
	if err := k.publish(ctx, state.Bundle(), full); err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if changed {
		k.published, k.since = mark(state), k.Now()
	}
	return nil
}

// mark tells states apart without their keys.
func mark(s State) []byte {
	return bytes.Join([][]byte{s.ca.cert, s.next.cert, s.previous, s.server.cert}, []byte{0})
}

// load serves a certificate. One of a CA that was not trusted at the last look waits for the next, so that every API
// server has heard of it, unless there is nothing else to serve.
func (k *Keeper) load(s State) error {
	now := k.Now()
	if err := s.server.serves(s.ca.cert, nil, now); err != nil {
		return fmt.Errorf("the stored certificate cannot be used: %w", err)
	}
	certificate, err := tls.X509KeyPair(s.server.cert, s.server.key)
	if err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	strange := !bytes.Contains(k.trusted, bytes.TrimSpace(s.ca.cert))
	k.trusted = s.Bundle()
	if strange && k.serving != nil && now.Before(k.serving.Leaf.NotAfter) {
		return nil
	}
	changed := k.serving == nil || !bytes.Equal(k.last.server.cert, s.server.cert)
	k.last, k.serving = s, &certificate
	if changed && k.Loaded != nil {
		if ca, err := parse(s.ca.cert); err == nil {
			k.Loaded(certificate.Leaf.NotAfter, ca.NotAfter)
		}
	}
	return nil
}
