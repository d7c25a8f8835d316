package order

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
)

// Priority reorders order by a priority strategy (cloneset.md 9.3); pods of equal priority keep their places. A nil
// strategy changes nothing. An error means a selector that cannot be read; order is unchanged then.
func Priority(pods []Pod, order []int, strategy *v1beta1.UpdatePriorityStrategy) error {
	switch {
	case strategy == nil:
	case len(strategy.WeightPriority) > 0:
		return byWeight(pods, order, strategy.WeightPriority)
	case len(strategy.OrderPriority) > 0:
		byOrder(pods, order, strategy.OrderPriority)
	}
	return nil
}

// placed is a pod with what decides its place: higher first of number inside of lower first of level.
type placed struct {
	level, pod int
	number     uint64
}

func place(order []int, of func(pod int) placed) {
	list := make([]placed, len(order))
	for at, i := range order {
		list[at] = of(i)
	}
	slices.SortStableFunc(list, func(a, b placed) int {
		return cmp.Or(cmp.Compare(a.level, b.level), cmp.Compare(b.number, a.number))
	})
	for at := range list {
		order[at] = list[at].pod
	}
}

// byWeight: a pod's weight is the sum of the weights of the terms that match, higher first.
func byWeight(pods []Pod, order []int, terms []v1beta1.UpdatePriorityWeightTerm) error {
	selectors := make([]labels.Selector, len(terms))
	for i := range terms {
		s, err := metav1.LabelSelectorAsSelector(&terms[i].MatchSelector)
		if err != nil {
			return fmt.Errorf("priorityStrategy.weightPriority[%d].matchSelector: %w", i, err)
		}
		selectors[i] = s
	}
	place(order, func(pod int) placed {
		p := placed{pod: pod}
		for i, s := range selectors {
			if s.Matches(labels.Set(pods[pod].Labels)) {
				p.number += uint64(max(terms[i].Weight, 0))
			}
		}
		return p
	})
	return nil
}

// byOrder: a pod's level is the first key that it has as a label; pods without any go first. Inside a level the number at
// the end of the label's value counts, higher first.
func byOrder(pods []Pod, order []int, terms []v1beta1.UpdatePriorityOrderTerm) {
	place(order, func(pod int) placed {
		for level := range terms {
			if value, ok := pods[pod].Labels[terms[level].OrderedKey]; ok {
				return placed{pod: pod, level: level, number: trailingNumber(value)}
			}
		}
		return placed{pod: pod, level: -1}
	})
}

// trailingNumber is the number made of the digits at the end of s, 0 without any. What does not fit is the largest.
func trailingNumber(s string) uint64 {
	digits := s[len(strings.TrimRight(s, "0123456789")):]
	if digits == "" {
		return 0
	}
	n, err := strconv.ParseUint(digits, 10, 64)
	if err != nil {
		return math.MaxUint64
	}
	return n
}
