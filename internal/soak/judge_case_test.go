package soak

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// tale builds records second by second.
type tale struct {
	records []record
	byUser  map[types.UID]bool
	now     time.Time
}

func (t *tale) wait(d time.Duration) { t.now = t.now.Add(d) }

func (t *tale) add(r record) {
	r.set, r.at, r.version = "web", t.now, uint64(len(t.records)+1)
	t.records = append(t.records, r)
}

func (t *tale) spec(l limits) { t.add(record{limits: &l}) }

func (t *tale) pod(name, image string, ready bool) {
	t.add(record{uid: types.UID(name), pod: seen{name: name, active: true, ready: ready, image: image}})
}

func (t *tale) gone(name string) {
	t.add(record{uid: types.UID(name), pod: seen{name: name}})
}

func (t *tale) deleted(name string) {
	t.byUser[types.UID(name)] = true
	t.gone(name)
}

var four = limits{replicas: 4, unavailable: 1, image: "v2"}

// running is a set of four pods of the old image, whose spec asks for the new one since long.
func running(l limits) *tale {
	t := &tale{now: time.Unix(0, 0), byUser: map[types.UID]bool{}}
	t.spec(l)
	for _, name := range []string{"a", "b", "c", "d"} {
		t.pod(name, "v1", true)
	}
	t.wait(time.Minute)
	return t
}

func TestJudge(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		tell func() *tale
		want string // of the accusation; none when empty
	}{
		{"one at a time", func() *tale {
			s := running(four)
			for _, name := range []string{"a", "b", "c", "d"} {
				s.pod(name, "v1", false)
				s.pod(name, "v2", false)
				s.pod(name, "v2", true)
			}
			return s
		}, ""},
		{"two at a time", func() *tale {
			s := running(four)
			s.pod("a", "v1", false)
			s.pod("b", "v1", false)
			return s
		}, "b of web is taken out of service: 2 pods stay, at least 3 must"},
		{"two deleted at a time", func() *tale {
			s := running(four)
			s.gone("a")
			s.gone("b")
			return s
		}, "taken out of service"},
		{"a user deletes one, then the driver takes one before it can have seen it", func() *tale {
			s := running(four)
			s.deleted("a")
			s.pod("b", "v1", false)
			return s
		}, ""},
		{"a user deletes one, and the driver takes one long after", func() *tale {
			s := running(four)
			s.deleted("a")
			s.wait(time.Minute)
			s.pod("b", "v1", false)
			return s
		}, "taken out of service"},
		{"the limit has just been lowered", func() *tale {
			s := running(limits{replicas: 4, unavailable: 2, image: "v2"})
			s.spec(four)
			s.wait(time.Second)
			s.pod("a", "v1", false)
			s.pod("b", "v1", false)
			return s
		}, ""},
		{"the limit was lowered long ago", func() *tale {
			s := running(limits{replicas: 4, unavailable: 2, image: "v2"})
			s.spec(four)
			s.wait(time.Minute)
			s.pod("a", "v1", false)
			s.pod("b", "v1", false)
			return s
		}, "taken out of service"},
		{"a pod too many", func() *tale {
			s := running(four)
			s.pod("e", "v2", false)
			return s
		}, "e of web is created: 5 pods are there, at most 4 may be"},
		{"a surge pod", func() *tale {
			s := running(limits{replicas: 4, surge: 1, image: "v2"})
			s.pod("e", "v2", false)
			return s
		}, ""},
		{"beyond the partition", func() *tale {
			s := running(limits{replicas: 4, unavailable: 4, partition: 3, image: "v2"})
			s.pod("a", "v2", true)
			s.pod("b", "v2", true)
			return s
		}, "b of web is updated to v2: 2 old pods are left, the partition is 3"},
		{"up to the partition", func() *tale {
			s := running(limits{replicas: 4, unavailable: 4, partition: 2, image: "v2"})
			s.pod("a", "v2", true)
			s.pod("b", "v2", true)
			return s
		}, ""},
		{"while paused", func() *tale {
			s := running(limits{replicas: 4, unavailable: 4, paused: true, image: "v2"})
			s.pod("a", "v2", true)
			return s
		}, "although the set is paused"},
		{"just paused", func() *tale {
			s := running(four)
			s.spec(limits{replicas: 4, unavailable: 1, paused: true, image: "v2"})
			s.pod("a", "v2", true)
			return s
		}, ""},
		{"to an image that nobody asks for", func() *tale {
			s := running(four)
			s.pod("a", "v3", true)
			return s
		}, "a of web is updated to v3"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := tt.tell()
			broken, _ := judgeAll(s.records, s.byUser)
			switch {
			case tt.want == "" && len(broken) > 0:
				t.Errorf("accused of %q", broken)
			case tt.want != "" && (len(broken) != 1 || !strings.Contains(broken[0], tt.want)):
				t.Errorf("got %q, want one accusation with %q", broken, tt.want)
			}
		})
	}
}
