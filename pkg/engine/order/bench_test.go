package order_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/order"
)

// crowd is many pods of mixed health on a tenth as many nodes, in no order.
func crowd(n int) ([]order.Pod, order.Spread) {
	pods := make([]order.Pod, n)
	spread := order.Spread{
		Constraints: []corev1.TopologySpreadConstraint{{TopologyKey: corev1.LabelTopologyZone}},
		NodeLabels:  map[string]map[string]string{},
	}
	for i := range pods {
		h := uint32(i) * 2654435761
		node := fmt.Sprintf("node-%d", h%uint32(n/10+1))
		spread.NodeLabels[node] = map[string]string{corev1.LabelTopologyZone: fmt.Sprintf("zone-%d", h%7)}
		pods[i] = good(fmt.Sprintf("web-%08x", h), func(p *order.Pod) {
			p.Node, p.Ready, p.Available = node, h%5 > 0, h%6 > 0
			p.Created -= int64(h % 100 * 1e9)
			p.ReadySince -= int64(h % 90 * 1e9)
			p.Labels = map[string]string{"kind": fmt.Sprint(h % 3)}
		})
	}
	return pods, spread
}

func benchmark(b *testing.B, sort func(pods []order.Pod, list []int, spread order.Spread)) {
	for _, n := range []int{1000, 10_000, 50_000} {
		b.Run(fmt.Sprintf("pods=%d", n), func(b *testing.B) {
			pods, spread := crowd(n)
			list := all(pods)
			start := all(pods)
			b.ReportAllocs()
			for b.Loop() {
				copy(list, start)
				sort(pods, list, spread)
			}
		})
	}
}

func BenchmarkUpdate(b *testing.B) {
	benchmark(b, func(pods []order.Pod, list []int, _ order.Spread) { order.Update(pods, list) })
}

func BenchmarkScaleDown(b *testing.B) {
	benchmark(b, func(pods []order.Pod, list []int, _ order.Spread) { order.ScaleDown(pods, list, order.Spread{}) })
}

func BenchmarkScaleDownConstraints(b *testing.B) { benchmark(b, order.ScaleDown) }

func BenchmarkScatter(b *testing.B) {
	benchmark(b, func(pods []order.Pod, list []int, _ order.Spread) {
		order.Scatter(pods, list, v1beta1.UpdateScatterStrategy{{Key: "kind", Value: "1"}})
	})
}
