package order

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// key is everything that is compared about one pod, as words of which the smaller goes first.
type key struct {
	class, rank, ready, restarts, created uint64
	pod                                   int
}

// newKey fills all but rank. The class is given by the order.
func newKey(p *Pod, i int, class uint64) key {
	k := key{class: class, restarts: uint64(math.MaxInt32 - p.Restarts), created: newerFirst(p.Created), pod: i}
	if p.Ready {
		k.ready = newerFirst(p.ReadySince)
	}
	return k
}

// newerFirst is 0 for an unset time (and, harmlessly, for the last nanosecond that int64 has) and smaller for later times.
func newerFirst(t int64) uint64 {
	if t == 0 {
		return 0
	}
	return ^(uint64(t) ^ 1<<63)
}

// higherFirst is smaller for higher ranks; ranks are not negative.
func higherFirst(rank float64) uint64 { return ^math.Float64bits(rank) }

func bit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// entry is what is moved while sorting: the first bits of a key, so that most comparisons read nothing else.
type entry struct {
	prefix uint64
	at     int32
}

// sortKeys returns the keys' pods by all words of the keys and then by name. classBits is the width of the class.
func sortKeys(pods []Pod, list []key, classBits int) []int {
	entries := make([]entry, len(list))
	for at := range list {
		k := &list[at]
		// The class, then as much of the rank as there is room for, or of the ready time where there are no ranks.
		next := k.rank
		if next == 0 {
			next = k.ready
		}
		entries[at] = entry{prefix: k.class<<(64-classBits) | next>>classBits, at: int32(at)}
	}
	slices.SortFunc(entries, func(a, b entry) int {
		if a.prefix != b.prefix {
			return cmp.Compare(a.prefix, b.prefix)
		}
		return compare(pods, &list[a.at], &list[b.at])
	})
	sorted := make([]int, len(list))
	for at := range entries {
		sorted[at] = list[entries[at].at].pod
	}
	return sorted
}

func compare(pods []Pod, a, b *key) int {
	switch {
	case a.class != b.class:
		return cmp.Compare(a.class, b.class)
	case a.rank != b.rank:
		return cmp.Compare(a.rank, b.rank)
	case a.ready != b.ready:
		return cmp.Compare(a.ready, b.ready)
	case a.restarts != b.restarts:
		return cmp.Compare(a.restarts, b.restarts)
	case a.created != b.created:
		return cmp.Compare(a.created, b.created)
	}
	return strings.Compare(pods[a.pod].Name, pods[b.pod].Name)
}
