package batch

import (
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/budget"
)

// forms are what a batch may look like.
const forms = "want numbers of pods or percentages that grow, e.g. 1,25%,100%"

// ParseBatches reads a list such as "1,25%,100%": how many pods are updated at the end of each batch, all together. A
// percentage is rounded up. The sizes have to grow, and none may be above the replicas. It returns the sizes as they were
// typed, for the cursor, and as numbers of pods.
func ParseBatches(text string, replicas int32) ([]string, []int32, error) {
	batches := strings.Split(text, ",")
	for i := range batches {
		batches[i] = strings.TrimSpace(batches[i])
	}
	goals := make([]int32, len(batches))
	for i, b := range batches {
		value, err := parse(b)
		if err != nil {
			return nil, nil, fmt.Errorf("%q: %q is no size of a batch; %s", text, b, forms)
		}
		goals[i] = value.Up(replicas)
		switch {
		case goals[i] < 1:
			return nil, nil, fmt.Errorf("%q: %q of %d replicas is no pod; %s", text, b, replicas, forms)
		case goals[i] > replicas:
			return nil, nil, fmt.Errorf("%q: %q is %d pods, above the %d replicas; %s", text, b, goals[i], replicas, forms)
		case i > 0 && goals[i] <= goals[i-1]:
			return nil, nil, fmt.Errorf("%q: %q is %d pods, not more than %q before it; %s", text, b, goals[i], batches[i-1], forms)
		}
	}
	return batches, goals, nil
}

// Goals are the sizes of recorded batches for the present number of replicas. Unlike those that are typed they need not
// grow: after a change of replicas several can be the same, and none is above the replicas.
func Goals(batches []string, replicas int32) ([]int32, error) {
	goals := make([]int32, len(batches))
	for i, b := range batches {
		value, err := parse(b)
		if err != nil {
			return nil, fmt.Errorf("batch %q: %s", b, forms)
		}
		goals[i] = min(max(value.Up(replicas), 0), max(replicas, 0))
		if i > 0 {
			goals[i] = max(goals[i], goals[i-1])
		}
	}
	return goals, nil
}

func parse(text string) (budget.Value, error) {
	if n, err := strconv.ParseInt(text, 10, 32); err == nil {
		if n < 0 || strings.HasPrefix(text, "+") {
			return budget.Value{}, fmt.Errorf("%q has a sign", text)
		}
		return budget.Parse(intstr.FromInt32(int32(n)))
	}
	return budget.Parse(intstr.FromString(text))
}

// Partition is how many pods stay back so that goal of them move.
func Partition(goal, replicas int32) int32 { return max(replicas-goal, 0) }
