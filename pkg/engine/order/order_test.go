package order_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/order"
)

var now = time.Date(2030, 1, 31, 12, 0, 0, 0, time.UTC)

// good is a pod that serves; change makes it differ.
func good(name string, change func(*order.Pod)) order.Pod {
	p := order.Pod{
		Name: name, Node: "n-" + name, Phase: order.Running, Ready: true, Available: true,
		ReadySince: now.UnixNano(), Created: now.UnixNano(),
	}
	if change != nil {
		change(&p)
	}
	return p
}

func all(pods []order.Pod) []int {
	list := make([]int, len(pods))
	for i := range list {
		list[i] = i
	}
	return list
}

func names(pods []order.Pod, list []int) string {
	var s []string
	for _, i := range list {
		s = append(s, pods[i].Name)
	}
	return strings.Join(s, " ")
}

// mixed is the list of cloneset/20, best last.
func mixed() []order.Pod {
	month := now.AddDate(0, -1, 0).UnixNano()
	return []order.Pod{
		good("a-unscheduled", func(p *order.Pod) { p.Node, p.Phase, p.Ready, p.Available = "", order.Pending, false, false }),
		good("b-pending", func(p *order.Pod) { p.Phase, p.Ready, p.Available = order.Pending, false, false }),
		good("c-unknown", func(p *order.Pod) { p.Phase, p.Ready, p.Available = order.Unknown, false, false }),
		good("d-unready", func(p *order.Pod) { p.Ready, p.Available = false, false }),
		good("e-ready-now", nil),
		good("f-ready-long", func(p *order.Pod) { p.ReadySince = month }),
	}
}

func TestScaleDown(t *testing.T) {
	t.Parallel()
	cost := func(name, text string) order.Pod {
		return good(name, func(p *order.Pod) { p.DeletionCost = order.ParseDeletionCost(text) })
	}
	for _, c := range []struct {
		rule string
		pods []order.Pod
		want string
	}{
		{"cloneset/20", mixed(), "a-unscheduled b-pending c-unknown d-unready e-ready-now f-ready-long"},
		{"cloneset/21", []order.Pod{cost("a100", "100"), cost("b10", "10"), cost("none", ""), cost("plus", "+5"), cost("zeros", "007")},
			"none plus zeros b10 a100"},
		{"9.4 item 5 negative and out of range", []order.Pod{cost("a0", "0"), cost("big", "2147483648"), cost("z-1", "-1")}, "z-1 a0 big"},
		{"cloneset/24 restarts", []order.Pod{good("a", nil), good("b", func(p *order.Pod) { p.Restarts = 9001 })}, "b a"},
		{"cloneset/24 age", []order.Pod{
			good("a", func(p *order.Pod) { p.Created = now.AddDate(0, -1, 0).UnixNano() }), good("b", nil)}, "b a"},
		{"9.4 item 3 unavailable but ready goes before", []order.Pod{good("a", nil), good("b", func(p *order.Pod) { p.Available = false })}, "b a"},
		{"9.4 availability goes before cost", []order.Pod{cost("a", "-5"),
			good("b", func(p *order.Pod) { p.Available, p.DeletionCost = false, 100 })}, "b a"},
		{"9.4 item 7 no ready time goes first", []order.Pod{good("a", nil), good("b", func(p *order.Pod) { p.ReadySince = 0 })}, "b a"},
		{"9.4 item 9 no creation time goes first", []order.Pod{good("a", nil), good("b", func(p *order.Pod) { p.Created = 0 })}, "b a"},
		{"ties by name", []order.Pod{good("c", nil), good("a", nil), good("b", nil)}, "a b c"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			list := all(c.pods)
			order.ScaleDown(c.pods, list, order.Spread{})
			if diff := cmp.Diff(c.want, names(c.pods, list)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSpreadRanks(t *testing.T) {
	t.Parallel()
	t.Run("cloneset/22", sameNodeRank)
	t.Run("cloneset/23", constraintRank)
}

// Several pods on one node get ranks m-1-k, which show as the order of otherwise equal pods.
func sameNodeRank(t *testing.T) {
	t.Parallel()
	node := []string{"a", "", "", "b", "a", "c", "b", "d", "d", "d", "a"}
	var pods []order.Pod
	for i, n := range node {
		pods = append(pods, good(fmt.Sprintf("p%02d", i), func(p *order.Pod) {
			p.Node = "a" + n
			if n == "" {
				p.Node = fmt.Sprintf("alone%d", i)
			}
		}))
	}
	list := all(pods)
	order.ScaleDown(pods, list, order.Spread{})
	// Rank 2: 0 and 7; rank 1: 3, 4 and 8; the others 0.
	if diff := cmp.Diff([]int{0, 7, 3, 4, 8, 1, 2, 5, 6, 9, 10}, list); diff != "" {
		t.Error(diff)
	}
}

// Both pods come from the zone that has most, and there from its fullest node.
func constraintRank(t *testing.T) {
	t.Parallel()
	var pods []order.Pod
	labels := map[string]map[string]string{}
	add := func(zone, node string, n int) {
		labels[node] = map[string]string{corev1.LabelTopologyZone: zone, corev1.LabelHostname: node}
		for range n {
			pods = append(pods, good(fmt.Sprintf("p%02d-%s", len(pods), node), func(p *order.Pod) { p.Node = node }))
		}
	}
	add("z2", "n21", 8)
	add("z1", "n11", 2)
	add("z1", "n12", 5)
	add("z1", "n13", 3)
	add("z3", "n31", 5)
	spread := order.Spread{
		Constraints: []corev1.TopologySpreadConstraint{{TopologyKey: corev1.LabelTopologyZone}}, NodeLabels: labels,
	}
	list := all(pods)
	order.ScaleDown(pods, list, spread)
	if diff := cmp.Diff("p10-n12 p11-n12", names(pods, list[:2])); diff != "" {
		t.Error(diff)
	}

	// With the hostname alone the fullest node counts, whatever its zone.
	spread.Constraints[0].TopologyKey = corev1.LabelHostname
	list = all(pods)
	order.ScaleDown(pods, list, spread)
	if diff := cmp.Diff("p00-n21 p01-n21 p02-n21", names(pods, list[:3])); diff != "" {
		t.Error(diff)
	}

	// Nodes that cannot be read contribute nothing.
	list = all(pods)
	spread.NodeLabels = nil
	order.ScaleDown(pods, list, spread)
	if diff := cmp.Diff("p00-n21 p01-n21", names(pods, list[:2])); diff != "" {
		t.Error(diff)
	}
}

// Two old pods share nothing with each other, but one shares its node with pods of the other revision.
func TestSpreadCountsPodsBesideTheGroup(t *testing.T) {
	t.Parallel()
	on := func(name, node string) order.Pod { return good(name, func(p *order.Pod) { p.Node = node }) }
	pods := []order.Pod{on("a-alone", "n1"), on("b-shared", "n2"), on("new1", "n2"), on("new2", "n2")}
	for _, c := range []struct {
		spread order.Spread
		want   string
	}{
		{order.Spread{}, "a-alone b-shared"},
		{order.Spread{Beside: []int{2, 3}}, "b-shared a-alone"},
		{order.Spread{
			Beside:      []int{2, 3},
			Constraints: []corev1.TopologySpreadConstraint{{TopologyKey: "rack"}},
			NodeLabels:  map[string]map[string]string{"n1": {"rack": "r1"}, "n2": {"rack": "r2"}},
		}, "b-shared a-alone"},
	} {
		group := []int{0, 1}
		order.ScaleDown(pods, group, c.spread)
		if diff := cmp.Diff(c.want, names(pods, group)); diff != "" {
			t.Errorf("%+v: %s", c.spread, diff)
		}
	}
}

func TestUpdateBaseOrder(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rule string
		pods []order.Pod
		want string
	}{
		{"9.3 classes", mixed(), "a-unscheduled b-pending c-unknown d-unready e-ready-now f-ready-long"},
		{"9.3 no ready time first", []order.Pod{good("a", nil), good("b", func(p *order.Pod) { p.ReadySince = 0 })}, "b a"},
		{"9.3 more restarts first", []order.Pod{good("a", nil), good("b", func(p *order.Pod) { p.Restarts = 1 })}, "b a"},
		{"9.3 newer first", []order.Pod{good("a", func(p *order.Pod) { p.Created-- }), good("b", nil)}, "b a"},
		{"9.3 availability and cost do not matter", []order.Pod{good("a", nil),
			good("b", func(p *order.Pod) { p.Available, p.DeletionCost = false, -1 })}, "a b"},
		{"ties by name", []order.Pod{good("c", nil), good("a", nil), good("b", nil)}, "a b c"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			list := all(c.pods)
			slices.Reverse(list)
			order.Update(c.pods, list)
			if diff := cmp.Diff(c.want, names(c.pods, list)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func labelled(name string, labels ...string) order.Pod {
	return good(name, func(p *order.Pod) {
		p.Labels = map[string]string{}
		for i := 0; i < len(labels); i += 2 {
			p.Labels[labels[i]] = labels[i+1]
		}
	})
}

func TestPriority(t *testing.T) {
	t.Parallel()
	selects := func(value string) metav1.LabelSelector {
		return metav1.LabelSelector{MatchLabels: map[string]string{"key": value}}
	}
	byKeys := &v1beta1.UpdatePriorityStrategy{
		OrderPriority: []v1beta1.UpdatePriorityOrderTerm{{OrderedKey: "key1"}, {OrderedKey: "key2"}},
	}
	for _, c := range []struct {
		rule     string
		strategy *v1beta1.UpdatePriorityStrategy
		pods     []order.Pod
		want     string
	}{
		{"cloneset/43", &v1beta1.UpdatePriorityStrategy{WeightPriority: []v1beta1.UpdatePriorityWeightTerm{
			{Weight: 20, MatchSelector: selects("foo")}, {Weight: 10, MatchSelector: selects("bar")},
		}}, []order.Pod{labelled("bar", "key", "bar"), labelled("none"), labelled("foo", "key", "foo")}, "foo bar none"},
		{"9.3 weights add up", &v1beta1.UpdatePriorityStrategy{WeightPriority: []v1beta1.UpdatePriorityWeightTerm{
			{Weight: 20, MatchSelector: selects("foo")}, {Weight: 10, MatchSelector: selects("bar")},
			{Weight: 11, MatchSelector: selects("bar")},
		}}, []order.Pod{labelled("foo", "key", "foo"), labelled("bar", "key", "bar")}, "bar foo"},
		{"cloneset/44", byKeys, []order.Pod{labelled("key2-20", "key2", "o-20"), labelled("key1-5", "key1", "o-5"),
			labelled("key1-10", "key1", "o-10"), labelled("none")}, "none key1-10 key1-5 key2-20"},
		{"9.3 no digits are 0, huge ones the largest", byKeys, []order.Pod{labelled("word", "key1", "o"),
			labelled("one", "key1", "1"), labelled("huge", "key1", "99999999999999999999999")}, "huge one word"},
		{"9.3 the first key decides the level", byKeys, []order.Pod{labelled("second", "key2", "9"),
			labelled("both", "key2", "9", "key1", "1")}, "both second"},
		{"ties keep their places", byKeys, []order.Pod{labelled("b"), labelled("a")}, "b a"},
		{"no strategy", nil, []order.Pod{labelled("b"), labelled("a")}, "b a"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			list := all(c.pods)
			if err := order.Priority(c.pods, list, c.strategy); err != nil {
				t.Error(err)
			}
			if diff := cmp.Diff(c.want, names(c.pods, list)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPriorityRefusesBadSelector(t *testing.T) {
	t.Parallel()
	err := order.Priority([]order.Pod{labelled("a")}, []int{0}, &v1beta1.UpdatePriorityStrategy{
		WeightPriority: []v1beta1.UpdatePriorityWeightTerm{{Weight: 1, MatchSelector: metav1.LabelSelector{
			MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}},
		}}},
	})
	if err == nil || !strings.Contains(err.Error(), "weightPriority[0].matchSelector") {
		t.Errorf("the error does not name the term: %v", err)
	}
}

func TestScatter(t *testing.T) {
	t.Parallel()
	build := func(kinds string) []order.Pod {
		var pods []order.Pod
		for i, k := range kinds {
			pods = append(pods, labelled(fmt.Sprintf("p%02d", i), "kind", string(k)))
		}
		return pods
	}
	m := v1beta1.UpdateScatterTerm{Key: "kind", Value: "m"}
	o := v1beta1.UpdateScatterTerm{Key: "kind", Value: "o"}
	none := v1beta1.UpdateScatterTerm{Key: "kind", Value: "none"}
	for _, c := range []struct {
		rule  string
		kinds string
		// waiting are the candidates; the others of kinds are updated already.
		waiting  []int
		strategy v1beta1.UpdateScatterStrategy
		want     []int
	}{
		{"cloneset/45", "xxxxxxxmmm", []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, v1beta1.UpdateScatterStrategy{m}, []int{7, 0, 1, 2, 3, 8, 4, 5, 6, 9}},
		{"cloneset/46", "xxmmmm", []int{0, 1, 2, 3, 4, 5}, v1beta1.UpdateScatterStrategy{m}, []int{2, 3, 0, 4, 1, 5}},
		{"9.3 one matching pod changes nothing", "xxmx", []int{0, 1, 2, 3}, v1beta1.UpdateScatterStrategy{m}, []int{0, 1, 2, 3}},
		{"9.3 one other pod changes nothing", "mmxm", []int{0, 1, 2, 3}, v1beta1.UpdateScatterStrategy{m}, []int{0, 1, 2, 3}},
		// Of 8 pods 4 match, all of them wait with 2 others: 4/3 >= 2/3, so sizes are those of group(3,2), 2 and 1.
		{"9.3 sizes come from the waiting pods when few others wait", "xxxxmmmm", []int{2, 3, 4, 5, 6, 7}, v1beta1.UpdateScatterStrategy{m},
			[]int{4, 5, 2, 6, 3, 7}},
		// Of 12 pods 4 match; 2 of them wait with 8 others: 8/3 >= 8/1 does not hold, so sizes are those of group(3,8), 1 and
		// 3; one group, the first 5 others lead.
		{"9.3 others lead when few matching pods wait", "xxxxxxxxmmmm", []int{0, 1, 2, 3, 4, 5, 6, 7, 10, 11}, v1beta1.UpdateScatterStrategy{m},
			[]int{0, 1, 2, 3, 4, 10, 5, 6, 7, 11}},
		{"9.3 of several terms the one with more pods first, unmatched ones left out", "xxxmmooo", []int{0, 1, 2, 3, 4, 5, 6, 7},
			v1beta1.UpdateScatterStrategy{none, m, o}, []int{3, 5, 0, 1, 2, 6, 7, 4}},
		{"no strategy", "xmxm", []int{0, 1, 2, 3}, nil, []int{0, 1, 2, 3}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			pods := build(c.kinds)
			order.Scatter(pods, c.waiting, c.strategy)
			if diff := cmp.Diff(c.want, c.waiting); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestOfReadsAPod(t *testing.T) {
	t.Parallel()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "a", Labels: map[string]string{"l": "v"}, CreationTimestamp: metav1.NewTime(now),
			Annotations: map[string]string{"controller.kubernetes.io/pod-deletion-cost": "-7"},
		},
		Spec: corev1.PodSpec{NodeName: "n"},
		Status: corev1.PodStatus{
			Phase:             corev1.PodRunning,
			Conditions:        []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(now)}},
			ContainerStatuses: []corev1.ContainerStatus{{RestartCount: 2}, {RestartCount: 5}, {RestartCount: 1}},
		},
	}
	want := order.Pod{
		Name: "a", Node: "n", Phase: order.Running, Ready: true, ReadySince: now.UnixNano(), Restarts: 5,
		Created: now.UnixNano(), DeletionCost: -7, Labels: map[string]string{"l": "v"},
	}
	if diff := cmp.Diff(want, order.Of(pod)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(order.Pod{Phase: order.Pending}, order.Of(&corev1.Pod{Status: corev1.PodStatus{Phase: "Strange"}})); diff != "" {
		t.Error(diff)
	}
}

func drawPods(t *rapid.T) []order.Pod {
	times := rapid.SampledFrom([]int64{0, 1, 2, now.UnixNano(), math.MaxInt64 - 1})
	n := rapid.IntRange(0, 12).Draw(t, "pods")
	pods := make([]order.Pod, n)
	for i := range pods {
		pods[i] = order.Pod{
			Name:  fmt.Sprintf("p%02d", i),
			Node:  rapid.SampledFrom([]string{"", "n1", "n2", "n3"}).Draw(t, "node"),
			Phase: rapid.SampledFrom([]order.Phase{order.Pending, order.Unknown, order.Running}).Draw(t, "phase"),
			Ready: rapid.Bool().Draw(t, "ready"), Available: rapid.Bool().Draw(t, "available"),
			ReadySince: times.Draw(t, "readySince"), Created: times.Draw(t, "created"),
			Restarts:     rapid.Int32Range(0, 2).Draw(t, "restarts"),
			DeletionCost: rapid.SampledFrom([]int32{math.MinInt32, -1, 0, 1, math.MaxInt32}).Draw(t, "cost"),
			Labels:       map[string]string{"kind": rapid.SampledFrom([]string{"m", "o", "x"}).Draw(t, "kind")},
		}
	}
	return pods
}

// naiveLess is 9.3 and 9.4 written as a chain of questions. Ranks are those of the same node, worked out by counting.
func naiveLess(pods []order.Pod, a, b int, scaleDown, ranked bool) bool {
	p, q := &pods[a], &pods[b]
	later := func(s, t int64) (bool, bool) {
		if s == t {
			return false, false
		}
		if s == 0 || t == 0 {
			return s == 0, true
		}
		return s > t, true
	}
	if (p.Node == "") != (q.Node == "") {
		return p.Node == ""
	}
	if p.Phase != q.Phase {
		return p.Phase < q.Phase
	}
	if scaleDown && ranked && p.Available != q.Available {
		return !p.Available
	}
	if p.Ready != q.Ready {
		return !p.Ready
	}
	if scaleDown && p.DeletionCost != q.DeletionCost {
		return p.DeletionCost < q.DeletionCost
	}
	if scaleDown && ranked {
		if r, s := naiveRank(pods, a), naiveRank(pods, b); r != s {
			return r > s
		}
	}
	if p.Ready {
		if less, decided := later(p.ReadySince, q.ReadySince); decided {
			return less
		}
	}
	if p.Restarts != q.Restarts {
		return p.Restarts > q.Restarts
	}
	if less, decided := later(p.Created, q.Created); decided {
		return less
	}
	return p.Name < q.Name
}

func naiveRank(pods []order.Pod, a int) int {
	after := 0
	for i := range pods {
		if i != a && pods[a].Node != "" && pods[i].Node == pods[a].Node && naiveLess(pods, a, i, true, false) {
			after++
		}
	}
	return after
}

func TestOrdersEqualTheWrittenRules(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		pods := drawPods(t)
		for _, scaleDown := range []bool{false, true} {
			want := all(pods)
			slices.SortFunc(want, func(a, b int) int {
				if naiveLess(pods, a, b, scaleDown, true) {
					return -1
				}
				return 1
			})
			got := rapid.Permutation(all(pods)).Draw(t, "start")
			if scaleDown {
				order.ScaleDown(pods, got, order.Spread{})
			} else {
				order.Update(pods, got)
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("scale down %v: %s", scaleDown, diff)
			}
		}
	})
}

// Scatter only ever permutes the candidates, and with two matching ones the last matching one ends the list.
func TestScatterPermutes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		pods := drawPods(t)
		waiting := rapid.Permutation(all(pods)).Draw(t, "waiting")
		waiting = waiting[:rapid.IntRange(0, len(waiting)).Draw(t, "count")]
		before := slices.Clone(waiting)
		term := v1beta1.UpdateScatterTerm{Key: "kind", Value: "m"}
		order.Scatter(pods, waiting, v1beta1.UpdateScatterStrategy{term})
		var matching []int
		for _, i := range before {
			if pods[i].Labels["kind"] == "m" {
				matching = append(matching, i)
			}
		}
		if others := len(before) - len(matching); len(matching) > 1 && others > 1 && waiting[len(waiting)-1] != matching[len(matching)-1] {
			t.Fatalf("%v does not end with %d", waiting, matching[len(matching)-1])
		}
		slices.Sort(before)
		slices.Sort(waiting)
		if diff := cmp.Diff(before, waiting, cmpopts.EquateEmpty()); diff != "" {
			t.Fatal(diff)
		}
	})
}
