package certs

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var (
	start  = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	policy = Policy{Names: []string{"hook.ns.svc", "127.0.0.1"}, CALife: 90 * time.Hour, CertLife: 9 * time.Hour, Overlap: time.Hour}
)

// clock is a state in virtual time.
type clock struct {
	t     *testing.T
	now   time.Time
	state State
	// since is when the state last changed.
	since time.Time
}

// look renews once and returns the first words of the reason.
func (c *clock) look() string {
	c.t.Helper()
	next, why, err := Renew(c.state, State{}, policy, c.now, c.now.Sub(c.since))
	if err != nil {
		c.t.Fatalf("at %s: %v", c.now.Sub(start), err)
	}
	if why != "" {
		c.state, c.since = next, c.now
	}
	why, _, _ = strings.Cut(why, " ends ")
	why, _, _ = strings.Cut(why, ":")
	return why
}

// workloadspread.md C5 and H6: at every moment every certificate that was served since the last look is trusted by a
// bundle that was published before it.
func TestLifeOfACA(t *testing.T) {
	t.Parallel()
	c := &clock{t: t, now: start}
	type change struct {
		At  time.Duration
		Why string
	}
	var changes []change
	var before State
	for ; c.now.Before(start.Add(95 * time.Hour)); c.now = c.now.Add(30 * time.Minute) {
		before = c.state
		why := c.look()
		if why == "" {
			continue
		}
		changes = append(changes, change{c.now.Sub(start), why})
		if len(before.ca.cert) > 0 {
			if !bytes.Contains(before.Bundle(), bytes.TrimSpace(c.state.ca.cert)) {
				t.Errorf("at %s a certificate is served whose CA was not published before", c.now.Sub(start))
			}
			if !bytes.Contains(c.state.Bundle(), bytes.TrimSpace(before.ca.cert)) && !bytes.Equal(before.ca.cert, c.state.ca.cert) {
				t.Errorf("at %s the CA of the certificate that others still serve is forgotten", c.now.Sub(start))
			}
		}
		if err := c.state.server.serves(c.state.ca.cert, policy.Names, c.now); err != nil {
			t.Errorf("at %s: %v", c.now.Sub(start), err)
		}
	}
	const renewal = "the server's certificate"
	var rest []change
	for _, x := range changes {
		if x.Why != renewal {
			rest = append(rest, x)
		}
	}
	want := []change{
		{0, "there is no CA that can be used"},
		{60*time.Hour + 30*time.Minute, "the CA"}, // the look before renewed the server's
		{61*time.Hour + 30*time.Minute, "the next CA has been trusted for long enough"},
		{62*time.Hour + 30*time.Minute, "the previous CA is not used any more"},
	}
	if diff := cmp.Diff(want, rest); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	if n := len(changes) - len(rest); n < 14 || n > 17 {
		t.Errorf("%d renewals of the server's certificate in 95 hours, want one for every six hours", n)
	}
}

func TestRenew(t *testing.T) {
	t.Parallel()
	good := &clock{t: t, now: start}
	good.look()
	other := &clock{t: t, now: start}
	other.look()
	server := func(life time.Duration, names ...string) State {
		s := good.state
		var err error
		if s.server, err = newServer(s.ca, names, start, life); err != nil {
			t.Fatal(err)
		}
		return s
	}
	with := func(change func(*State)) State { s := good.state; change(&s); return s }
	for _, tc := range []struct {
		name          string
		present, last State
		after         time.Duration
		why           string
		previous      []byte
	}{
		{"all is well", good.state, State{}, time.Hour, "", nil},
		{"C5/2 another name", server(9*time.Hour, "else.ns.svc"), State{}, 0, "the server's certificate cannot be used", nil},
		{"C5/2 an address is missing", server(9*time.Hour, "hook.ns.svc"), State{}, 0, "the server's certificate cannot be used", nil},
		{"C5/2 of another CA", with(func(s *State) { s.server = other.state.server }), State{}, 0, "the server's certificate cannot be used", nil},
		{"C5/2 the key of another", with(func(s *State) { s.server.key = other.state.server.key }), State{}, 0, "the server's certificate cannot be used", nil},
		{"C5/2 a third is left", good.state, State{}, 6 * time.Hour, "the server's certificate", nil},
		{"no key of the CA", with(func(s *State) { s.ca.key = nil }), State{}, 0, "there is no CA that can be used", good.state.ca.cert},
		{"the CA has ended", good.state, State{}, 91 * time.Hour, "there is no CA that can be used", nil},
		{"H5 all is gone, and what was served is known", State{}, good.state, 0, "there is no CA that can be used", good.state.ca.cert},
		{"a next CA when this one has ended", with(func(s *State) { s.next = late(t) }), State{}, 91 * time.Hour, "the CA cannot be used any more, the next one can", nil},
		{"a next CA without its key", with(func(s *State) { s.next.cert = other.state.ca.cert }), State{}, 2 * time.Hour, "the next CA cannot be used", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			next, why, err := Renew(tc.present, tc.last, policy, start.Add(tc.after), tc.after)
			if err != nil {
				t.Fatal(err)
			}
			why, _, _ = strings.Cut(why, " ends ")
			if why, _, _ = strings.Cut(why, ":"); why != tc.why {
				t.Errorf("reason %q, want %q", why, tc.why)
			}
			if !bytes.Equal(next.previous, tc.previous) {
				t.Errorf("the previous CA is another than wanted")
			}
			if err := next.server.serves(next.ca.cert, policy.Names, start.Add(tc.after)); err != nil {
				t.Errorf("afterwards: %v", err)
			}
			if len(next.next.cert) > 0 {
				t.Errorf("a next CA is left")
			}
		})
	}
}

func late(t *testing.T) pair {
	t.Helper()
	ca, err := newCA(start.Add(80*time.Hour), policy.CALife)
	if err != nil {
		t.Fatal(err)
	}
	return ca
}

func TestTheServerDoesNotOutliveTheCA(t *testing.T) {
	t.Parallel()
	ca, err := newCA(start, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	server, err := newServer(ca, []string{"a"}, start, 5*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := server.leaf()
	if err != nil || !leaf.NotAfter.Equal(start.Add(time.Hour)) {
		t.Errorf("it ends %v (%v), want with the CA", leaf.NotAfter, err)
	}
	if _, err := newServer(ca, nil, start, time.Hour); err == nil {
		t.Error("a certificate without a name was made")
	}
}
