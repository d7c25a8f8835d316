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

// sortKeys sorts by all words and then by name.
func sortKeys(pods []Pod, list []key) {
	slices.SortFunc(list, func(a, b key) int {
		if a.class != b.class {
			return cmp.Compare(a.class, b.class)
		}
		if a.rank != b.rank {
			return cmp.Compare(a.rank, b.rank)
		}
		if a.ready != b.ready {
			return cmp.Compare(a.ready, b.ready)
		}
		if a.restarts != b.restarts {
			return cmp.Compare(a.restarts, b.restarts)
		}
		if a.created != b.created {
			return cmp.Compare(a.created, b.created)
		}
		return strings.Compare(pods[a.pod].Name, pods[b.pod].Name)
	})
}
