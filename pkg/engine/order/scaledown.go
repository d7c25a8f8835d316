package order

import (
	"math"

	corev1 "k8s.io/api/core/v1"
)

// Spread is what the spread ranks of ScaleDown look at.
type Spread struct {
	// Beside lists further pods, indexes, that stay when the group is cut. They share nodes and topologies with the pods of
	// the group but are not on offer.
	//
	// OpenKruise judges the spread by the group alone, which during a rollout is half the picture. Leave Beside empty for
	// its order; otherwise a pod of the group counts these as if they were all kept longer than it.
	Beside []int
	// Constraints of the pod template; only their topology keys matter. Without any, pods are spread over nodes.
	Constraints []corev1.TopologySpreadConstraint
	// NodeLabels holds the labels of nodes by name; it is read only if there are constraints.
	NodeLabels map[string]map[string]string
}

// ScaleDown sorts group, indexes into pods, so that the first is deleted first (cloneset.md 9.4).
//
// No node before a node; Pending, Unknown, Running; unavailable first; not ready first; lower deletion cost first; higher
// spread rank first; no ready time, then ready for a shorter time; more restarts first; no creation time, then newer
// first; then by name.
func ScaleDown(pods []Pod, group []int, spread Spread) {
	ranks := spread.ranks(pods, group)
	list := make([]key, len(group))
	for at, i := range group {
		list[at] = newKey(&pods[i], i, scaleDownClass(&pods[i], true))
		list[at].rank = higherFirst(ranks[i])
	}
	copy(group, sortKeys(pods, list, scaleDownBits))
}

// scaleDownBits is the width of what scaleDownClass returns.
const scaleDownBits = 37

// scaleDownClass packs items 1 to 5 of the order.
func scaleDownClass(p *Pod, availability bool) uint64 {
	class := bit(p.Node != "")<<4 | uint64(p.Phase)<<2 | bit(p.Ready)
	if availability {
		class |= bit(p.Available) << 1
	}
	return class<<32 | uint64(uint32(p.DeletionCost)^1<<31)
}

// ranks are the spread ranks of all pods; those outside of group are meaningless.
func (s *Spread) ranks(pods []Pod, group []int) []float64 {
	sameNode := make([]float64, len(pods))
	onNode := func(i int) string { return pods[i].Node }
	s.buckets(pods, group, onNode, func(members []int, beside int) {
		for k, pod := range members {
			sameNode[pod] = float64(len(members) + beside - 1 - k)
		}
	}, func(i int) key { return newKey(&pods[i], i, scaleDownClass(&pods[i], false)) })
	if len(s.Constraints) == 0 {
		return sameNode
	}

	ranks := make([]float64, len(pods))
	for c := range s.Constraints {
		topology := s.Constraints[c].TopologyKey
		inTopology := func(i int) string { return s.NodeLabels[pods[i].Node][topology] }
		weight := math.Log(float64(s.distinct(group, inTopology) + 2))
		s.buckets(pods, group, inTopology, func(members []int, beside int) {
			for k, pod := range members {
				ranks[pod] += float64(len(members)+beside-k) * weight
			}
		}, func(i int) key {
			k := newKey(&pods[i], i, scaleDownClass(&pods[i], true))
			if topology != corev1.LabelHostname {
				k.rank = higherFirst(sameNode[i])
			}
			return k
		})
	}
	return ranks
}

// buckets collects the pods of group that have the same value and calls visit with each collection, sorted, and with the
// number of pods beside the group that have the value too. Pods with an empty value are in none.
func (s *Spread) buckets(pods []Pod, group []int, value func(pod int) string, visit func(members []int, beside int), newKey func(pod int) key) {
	members := map[string][]key{}
	for _, i := range group {
		if v := value(i); v != "" {
			members[v] = append(members[v], newKey(i))
		}
	}
	beside := map[string]int{}
	for _, i := range s.Beside {
		if v := value(i); v != "" {
			beside[v]++
		}
	}
	for v, list := range members {
		visit(sortKeys(pods, list, scaleDownBits), beside[v])
	}
}

// distinct counts the different values that the pods of group and those beside it have.
func (s *Spread) distinct(group []int, value func(pod int) string) int {
	seen := map[string]bool{}
	for _, list := range [][]int{group, s.Beside} {
		for _, i := range list {
			if v := value(i); v != "" {
				seen[v] = true
			}
		}
	}
	return len(seen)
}
