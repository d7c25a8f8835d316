package cloneset

import "math"

// tally counts the pods of one revision group (cloneset.md 9.1).
type tally struct {
	all         int // every active pod
	specified   int // live and specified
	unavailable int // live, not specified, not available
	preDeleting int
}

func (t tally) live() int { return t.all - t.preDeleting }

// Numbers are what one pass works with: how many pods to make, delete and update, and the limits on it.
type Numbers struct {
	// ScaleUp is how many pods are missing, ScaleUpOld how many of them at the current revision, and ScaleUpLimit how many
	// may be made now.
	ScaleUp, ScaleUpOld, ScaleUpLimit int
	// ScaleDown is how many pods there are too many, ScaleDownOld how many of them are old.
	ScaleDown, ScaleDownOld int
	// ReadyDeleteLimit is how many ready pods may be deleted now.
	ReadyDeleteLimit int
	// Update is how many pods to move to the update revision; negative: back to the current one.
	Update int
	// UpdateMaxUnavailable bounds the unavailable pods while updating; it may be negative.
	UpdateMaxUnavailable int
	// Surge is how many pods above replicas are wanted now.
	Surge int
}

// limits are the resolved numbers of the spec.
type limits struct {
	replicas, partition, surge, maxUnavailable int
	scaleMaxUnavailable                        int // math.MaxInt when there is no limit
	excludePreparingDelete                     bool
	// rollback lets a raised partition move pods back: the gate is on and current and update revision differ.
	rollback bool
}

const unlimited = math.MaxInt

// numbers evaluates cloneset.md 9.1 for new pods n and old pods o. It goes beyond upstream in one point: pods are moved
// between revisions only if there are too many of one kind and too few of the other.
func numbers(l limits, n, o tally) Numbers {
	var r Numbers
	pods := n.all + o.all
	specified := n.specified + o.specified
	down := n.preDeleting + o.preDeleting + n.unavailable + o.unavailable

	oldDiff := o.live() - l.partition
	newDiff := n.live() - (l.replicas - l.partition)
	if !l.rollback {
		oldDiff, newDiff = max(oldDiff, 0), min(newDiff, 0)
	}
	opposite := oldDiff > 0 && newDiff < 0 || oldDiff < 0 && newDiff > 0

	surgeOld := 0
	if l.surge > 0 {
		r.Surge, surgeOld = surge(l, n, specified, down, oldDiff, newDiff, opposite)
	}

	total, totalOld := pods, o.all
	if l.excludePreparingDelete {
		total, totalOld = total-n.preDeleting-o.preDeleting, totalOld-o.preDeleting
	}
	want, wantOld := l.replicas+r.Surge, l.partition+surgeOld
	if up := want - total; up > 0 {
		r.ScaleUp = up
		r.ScaleUpOld = max(wantOld-totalOld, 0)
		r.ScaleUpLimit = up
		if l.scaleMaxUnavailable != unlimited {
			r.ScaleUpLimit = min(up, max(l.scaleMaxUnavailable-down, 0))
		}
	}
	if surplus := total - specified - want; surplus > 0 {
		r.ScaleDown = surplus
		r.ScaleDownOld = max(totalOld-o.specified-wantOld, 0)
	}
	if specified > 0 || r.ScaleDown > 0 {
		r.ReadyDeleteLimit = max(l.maxUnavailable+pods-l.replicas-down, 0)
	}
	if opposite {
		r.Update = oldDiff
		if abs(oldDiff) > abs(newDiff) {
			r.Update = -newDiff
		}
		r.UpdateMaxUnavailable = l.maxUnavailable + pods - l.replicas
	}
	return r
}

// surge is how many pods to have above replicas, and how many of them at the current revision.
func surge(l limits, n tally, specified, down, oldDiff, newDiff int, opposite bool) (total, old int) {
	forScale, forScaleOld := 0, 0
	if specified > 0 {
		forScale = min(max(down+specified-l.maxUnavailable, 0), specified)
		forScaleOld = max(forScale-n.specified, 0)
	}
	forUpdate, forUpdateOld := 0, 0
	if opposite {
		forUpdate = min(abs(oldDiff), abs(newDiff))
		if abs(oldDiff) <= abs(newDiff) && oldDiff < 0 || abs(oldDiff) > abs(newDiff) && newDiff > 0 {
			forUpdateOld = forUpdate
		}
	}
	if forScale < forUpdate {
		forScale, forScaleOld = forUpdate, forUpdateOld
	}
	total = min(l.surge, forScale)
	return total, min(total, forScaleOld)
}

func abs(n int) int {
	if n < 0 {
		return -n
	}
	return n
}
