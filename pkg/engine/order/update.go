package order

// Update sorts order, indexes into pods, so that the first is updated first: the base order of cloneset.md 9.3.
//
// No node before a node; Pending, Unknown, Running; not ready before ready; among ready ones those without a ready time,
// then those ready for a shorter time; more restarts first; no creation time, then newer first; then by name.
func Update(pods []Pod, order []int) {
	list := make([]key, len(order))
	for at, i := range order {
		p := &pods[i]
		list[at] = newKey(p, i, bit(p.Node != "")<<3|uint64(p.Phase)<<1|bit(p.Ready))
	}
	copy(order, sortKeys(pods, list, 4))
}
