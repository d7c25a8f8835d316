package certs

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"slices"
	"time"
)

// Keys of the Secret. Those without a comment are OpenKruise's.
const (
	keyCACert, keyCAKey = "ca-cert.pem", "ca-key.pem"
	keyCert, keyKey     = "cert.pem", "key.pem"
	keyTLSCert          = "tls.crt"
	keyTLSKey           = "tls.key"
	// keyNextCert and keyNextKey are a CA that is trusted already and not used yet.
	keyNextCert, keyNextKey = "next-ca-cert.pem", "next-ca-key.pem"
	// keyPreviousCert is a CA that is still trusted and used no more.
	keyPreviousCert = "previous-ca-cert.pem"
)

// State is what the Secret holds.
type State struct {
	ca, next, server pair
	previous         []byte
}

// ownKeys are what we write into the Secret and read from it.
var ownKeys = []string{keyCACert, keyCAKey, keyCert, keyKey, keyTLSCert, keyTLSKey, keyNextCert, keyNextKey, keyPreviousCert}

// stateFrom reads the data of a Secret in its JSON form. What is not there is empty.
func stateFrom(data map[string]any) State {
	get := func(key string) []byte { return value(data, key) }
	return State{
		ca:       pair{get(keyCACert), get(keyCAKey)},
		next:     pair{get(keyNextCert), get(keyNextKey)},
		server:   pair{get(keyCert), get(keyKey)},
		previous: get(keyPreviousCert),
	}
}

// value is one value in the data of a Secret in its JSON form; nil when there is none.
func value(data map[string]any, key string) []byte {
	text, _ := data[key].(string)
	decoded, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil
	}
	return decoded
}

// data is the state as the data of a Secret; keys that are absent now are nil.
func (s State) data() map[string][]byte {
	return map[string][]byte{
		keyCACert: s.ca.cert, keyCAKey: s.ca.key, keyCert: s.server.cert, keyKey: s.server.key,
		keyTLSCert: s.server.cert, keyTLSKey: s.server.key,
		keyNextCert: s.next.cert, keyNextKey: s.next.key, keyPreviousCert: s.previous,
	}
}

// Bundle are the CAs to trust, in an order that depends on nothing but which they are.
func (s State) Bundle() []byte {
	var list [][]byte
	for _, ca := range [][]byte{s.ca.cert, s.next.cert, s.previous} {
		if ca = bytes.TrimSpace(ca); len(ca) > 0 {
			list = append(list, append(bytes.Clone(ca), '\n'))
		}
	}
	slices.SortFunc(list, bytes.Compare)
	return bytes.Join(slices.CompactFunc(list, bytes.Equal), nil)
}

// Policy says how long certificates live and for whom they are made.
type Policy struct {
	// Names are what the API server calls us.
	Names            []string
	CALife, CertLife time.Duration
	// Overlap is how long each step of a change of the CA has to stand.
	Overlap time.Duration
}

// Renew decides about the next state and says why, or returns an empty reason when all is well. last is the state before
// this one as far as it is known, whose CA stays trusted when the present state cannot be used. settled is how long the
// present state has been published everywhere.
func Renew(present, last State, p Policy, now time.Time, settled time.Duration) (State, string, error) {
	ca, err := present.ca.leaf()
	if err != nil || !ca.IsCA || !now.Before(ca.NotAfter) {
		if next, err := present.next.leaf(); err == nil && next.IsCA && now.Before(next.NotAfter) {
			present.previous, present.ca, present.next = nil, present.next, pair{}
			return p.withServer(present, now, "the CA cannot be used any more, the next one can")
		}
		return fresh(present, last, p, now)
	}
	switch {
	case len(present.next.cert) > 0 && settled >= p.Overlap:
		if next, err := present.next.leaf(); err != nil || !next.IsCA {
			present.next = pair{}
			return present, "the next CA cannot be used", nil
		}
		present.previous, present.ca, present.next = present.ca.cert, present.next, pair{}
		return p.withServer(present, now, "the next CA has been trusted for long enough")
	case len(present.next.cert) == 0 && len(present.previous) > 0 && settled >= p.Overlap:
		present.previous = nil
		return present, "the previous CA is not used any more", nil
	}
	if err := present.server.serves(present.ca.cert, p.Names, now); err != nil {
		return p.withServer(present, now, fmt.Sprintf("the server's certificate cannot be used: %v", err))
	}
	server, err := present.server.leaf()
	if err != nil {
		return present, "", err
	}
	if due(server.NotAfter, p.CertLife, now) && ca.NotAfter.After(server.NotAfter) {
		return p.withServer(present, now, "the server's certificate ends "+server.NotAfter.UTC().Format(time.RFC3339))
	}
	if due(ca.NotAfter, p.CALife, now) && len(present.next.cert) == 0 && len(present.previous) == 0 {
		next, err := newCA(now, p.CALife)
		present.next = next
		return present, "the CA ends " + ca.NotAfter.UTC().Format(time.RFC3339), err
	}
	return present, "", nil
}

// due says that a third of a life is left.
func due(end time.Time, life time.Duration, now time.Time) bool { return end.Sub(now) <= life/3 }

// fresh begins anew. A CA whose certificates may still be served stays trusted.
func fresh(present, last State, p Policy, now time.Time) (State, string, error) {
	state := State{}
	for _, old := range [][]byte{present.ca.cert, last.ca.cert} {
		if ca, err := parse(old); err == nil && now.Before(ca.NotAfter) {
			state.previous = old
			break
		}
	}
	var err error
	if state.ca, err = newCA(now, p.CALife); err != nil {
		return State{}, "", err
	}
	return p.withServer(state, now, "there is no CA that can be used")
}

func (p Policy) withServer(s State, now time.Time, why string) (State, string, error) {
	server, err := newServer(s.ca, p.Names, now, p.CertLife)
	if err != nil {
		return State{}, "", err
	}
	s.server = server
	return s, why, nil
}
