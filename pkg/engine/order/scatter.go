package order

import (
	"cmp"
	"slices"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
)

// Scatter reorders order, the pods that wait for their update, so that those with a label of the strategy are spread over
// the rollout (cloneset.md 9.3). All of pods count for how dense the labels are, whether they wait or not.
func Scatter(pods []Pod, order []int, strategy v1beta1.UpdateScatterStrategy) {
	type counted struct {
		term    v1beta1.UpdateScatterTerm
		matches int
	}
	terms := make([]counted, 0, len(strategy))
	for _, t := range strategy {
		n := 0
		for _, i := range order {
			if has(&pods[i], t) {
				n++
			}
		}
		if n > 0 || len(strategy) == 1 {
			terms = append(terms, counted{t, n})
		}
	}
	slices.SortStableFunc(terms, func(a, b counted) int { return cmp.Compare(b.matches, a.matches) })
	for _, t := range terms {
		scatterTerm(pods, order, t.term)
	}
}

func has(p *Pod, t v1beta1.UpdateScatterTerm) bool {
	value, ok := p.Labels[t.Key]
	return ok && value == t.Value
}

// scatterTerm spreads one term: groups of so many matching and so many other pods, in a ratio that keeps the labelled
// ones evenly distributed, with one labelled pod first and one last.
func scatterTerm(pods []Pod, order []int, term v1beta1.UpdateScatterTerm) {
	var matching, others []int
	for _, i := range order {
		if has(&pods[i], term) {
			matching = append(matching, i)
		} else {
			others = append(others, i)
		}
	}
	if len(matching) <= 1 || len(others) <= 1 {
		return
	}
	totalMatching := 0
	for i := range pods {
		if has(&pods[i], term) {
			totalMatching++
		}
	}
	totalOthers := len(pods) - totalMatching
	last := matching[len(matching)-1]
	matching, totalMatching = matching[:len(matching)-1], totalMatching-1

	var groups, matchingSize, othersSize, lead int
	if totalOthers*len(matching) >= len(others)*totalMatching {
		groups, matchingSize, othersSize = grouping(len(matching), len(others))
	} else {
		_, matchingSize, othersSize = grouping(totalMatching, totalOthers)
		groups = min(len(matching)/matchingSize, len(others)/othersSize)
		lead = len(others) - groups*othersSize
	}

	out := order[:0]
	take := func(from *[]int, n int) {
		n = min(n, len(*from))
		out, *from = append(out, (*from)[:n]...), (*from)[n:]
	}
	take(&others, lead)
	for range groups {
		take(&matching, matchingSize)
		take(&others, othersSize)
	}
	take(&matching, len(matching))
	take(&others, len(others))
	_ = append(out, last)
}

// grouping divides m and x into the same number of groups; halves are rounded up. Neither is 0.
func grouping(m, x int) (groups, mSize, xSize int) {
	groups = min(m, x)
	return groups, (2*m + groups) / (2 * groups), (2*x + groups) / (2 * groups)
}
