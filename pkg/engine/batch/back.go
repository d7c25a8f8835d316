package batch

import (
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/util/intstr"
)

// Back are the sizes of a run that takes the batches of a failed one back, the last first, each as far as it had begun.
// They count the pods that are where the failed run came from.
func Back(failed *Run, replicas int32) ([]string, error) {
	goals, err := Goals(failed.Batches, replicas)
	if err != nil {
		return nil, err
	}
	var sizes []string
	for k := min(failed.Batch, len(goals)) - 2; k >= 0; k-- {
		size := strconv.Itoa(int(replicas - goals[k]))
		if goals[k] < replicas && goals[k] > 0 && !slices.Contains(sizes, size) {
			sizes = append(sizes, size)
		}
	}
	return append(sizes, "100%"), nil
}

// Share is a partition as a percentage that keeps as many pods now, and the same share of others: where somebody else
// drives and others change the replicas, a fixed number would let all new pods be updated at once before anybody could
// move it. Nothing and everything are what they are.
func Share(partition, replicas int32) intstr.IntOrString {
	switch {
	case partition <= 0 || replicas <= 0:
		return intstr.FromInt32(max(partition, 0))
	case partition >= replicas:
		return intstr.FromString("100%")
	}
	// Hundredths of a percent, rounded down: a percentage is rounded up to pods.
	share := int64(partition) * 10000 / int64(replicas)
	text := strconv.FormatInt(share/100, 10)
	if rest := share % 100; rest != 0 {
		text += "." + strconv.FormatInt(100+rest, 10)[1:]
	}
	return intstr.FromString(text + "%")
}
