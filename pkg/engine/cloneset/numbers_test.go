package cloneset

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNumbers(t *testing.T) {
	t.Parallel()
	type counts struct{ all, specified, unavailable, preDeleting int }
	tests := []struct {
		name   string
		limits limits
		n, o   counts
		want   Numbers
	}{
		{"cloneset/1 five missing", limits{replicas: 5, maxUnavailable: 1, scaleMaxUnavailable: unlimited}, counts{}, counts{},
			Numbers{ScaleUp: 5, ScaleUpLimit: 5}},
		{"cloneset/2 scale cap", limits{replicas: 5, maxUnavailable: 1, scaleMaxUnavailable: 2}, counts{}, counts{},
			Numbers{ScaleUp: 5, ScaleUpLimit: 2}},
		{"cloneset/3a one of the cap is used", limits{replicas: 6, maxUnavailable: 2, scaleMaxUnavailable: 2}, counts{all: 3, unavailable: 1}, counts{},
			Numbers{ScaleUp: 3, ScaleUpLimit: 1}},
		{"cloneset/3b the cap is used up", limits{replicas: 6, maxUnavailable: 2, scaleMaxUnavailable: 2}, counts{all: 3, unavailable: 2}, counts{},
			Numbers{ScaleUp: 3}},
		{"cloneset/8 one specified", limits{replicas: 5, maxUnavailable: 1, scaleMaxUnavailable: unlimited}, counts{all: 5, specified: 1}, counts{},
			Numbers{ReadyDeleteLimit: 1}},
		{"cloneset/10 two specified of one too many", limits{replicas: 4, maxUnavailable: 1, scaleMaxUnavailable: unlimited}, counts{all: 5, specified: 2}, counts{},
			Numbers{ReadyDeleteLimit: 2}},
		{"cloneset/11 surge for a specified pod", limits{replicas: 5, surge: 1, scaleMaxUnavailable: unlimited}, counts{all: 5, specified: 1}, counts{},
			Numbers{Surge: 1, ScaleUp: 1, ScaleUpLimit: 1}},
		{"cloneset/12a unavailable within the limit", limits{replicas: 5, surge: 1, maxUnavailable: 2, scaleMaxUnavailable: unlimited},
			counts{all: 5, specified: 1, unavailable: 1}, counts{}, Numbers{ReadyDeleteLimit: 1}},
		{"cloneset/12b unavailable uses up the limit", limits{replicas: 5, surge: 1, maxUnavailable: 1, scaleMaxUnavailable: unlimited},
			counts{all: 5, specified: 1, unavailable: 1}, counts{}, Numbers{Surge: 1, ScaleUp: 1, ScaleUpLimit: 1}},
		{"cloneset/12c the unavailable pod is the specified one", limits{replicas: 5, surge: 1, maxUnavailable: 1, scaleMaxUnavailable: unlimited},
			counts{all: 5, specified: 1}, counts{}, Numbers{ReadyDeleteLimit: 1}},
		{"cloneset/13 specified first", limits{replicas: 3, maxUnavailable: 1, scaleMaxUnavailable: unlimited}, counts{all: 5, specified: 1}, counts{},
			Numbers{ScaleDown: 1, ReadyDeleteLimit: 3}},
		{"cloneset/14a ready but not available", limits{replicas: 3, maxUnavailable: 1, scaleMaxUnavailable: unlimited}, counts{all: 5, unavailable: 5}, counts{},
			Numbers{ScaleDown: 2}},
		{"cloneset/14b all available", limits{replicas: 3, maxUnavailable: 1, scaleMaxUnavailable: unlimited}, counts{all: 5}, counts{},
			Numbers{ScaleDown: 2, ReadyDeleteLimit: 3}},
		{"cloneset/25 the partition leaves two", limits{replicas: 5, partition: 3, maxUnavailable: 1, scaleMaxUnavailable: unlimited}, counts{}, counts{all: 5},
			Numbers{Update: 2, UpdateMaxUnavailable: 1}},
		{"cloneset/29a rollback", limits{replicas: 5, partition: 4, maxUnavailable: 2, scaleMaxUnavailable: unlimited, rollback: true}, counts{all: 4}, counts{all: 1},
			Numbers{Update: -3, UpdateMaxUnavailable: 2}},
		{"cloneset/29b no rollback", limits{replicas: 5, partition: 4, maxUnavailable: 2, scaleMaxUnavailable: unlimited}, counts{all: 4}, counts{all: 1},
			Numbers{}},
		{"cloneset/30 first the surge pod", limits{replicas: 5, partition: 3, maxUnavailable: 1, surge: 1, scaleMaxUnavailable: unlimited}, counts{}, counts{all: 5},
			Numbers{Surge: 1, ScaleUp: 1, ScaleUpLimit: 1, Update: 2, UpdateMaxUnavailable: 1}},
		{"cloneset/30 then one in place", limits{replicas: 5, partition: 3, maxUnavailable: 1, surge: 1, scaleMaxUnavailable: unlimited},
			counts{all: 1, unavailable: 1}, counts{all: 5}, Numbers{Surge: 1, Update: 1, UpdateMaxUnavailable: 2}},
		{"cloneset/30 then one old too many", limits{replicas: 5, partition: 3, maxUnavailable: 1, surge: 1, scaleMaxUnavailable: unlimited},
			counts{all: 2, unavailable: 2}, counts{all: 4}, Numbers{ScaleDown: 1, ScaleDownOld: 1}},
		{"cloneset/30 one new available", limits{replicas: 5, partition: 3, maxUnavailable: 1, surge: 1, scaleMaxUnavailable: unlimited},
			counts{all: 2, unavailable: 1}, counts{all: 4}, Numbers{ScaleDown: 1, ScaleDownOld: 1, ReadyDeleteLimit: 1}},
		{"cloneset/34 rollback of unavailable pods", limits{replicas: 8, partition: 7, maxUnavailable: 3, scaleMaxUnavailable: unlimited, rollback: true},
			counts{all: 5, unavailable: 5}, counts{all: 3}, Numbers{Update: -4, UpdateMaxUnavailable: 3}},
		{"cloneset/35 paused: no surge", limits{replicas: 5, scaleMaxUnavailable: unlimited}, counts{}, counts{all: 3},
			Numbers{ScaleUp: 2, ScaleUpLimit: 2, Update: 3, UpdateMaxUnavailable: -2}},
		{"cloneset/36 the missing pod is an old one", limits{replicas: 5, partition: 3, maxUnavailable: 1, scaleMaxUnavailable: unlimited}, counts{all: 2}, counts{all: 2},
			Numbers{ScaleUp: 1, ScaleUpOld: 1, ScaleUpLimit: 1}},
		{"PF-CS-2 no more surge than pods to change", limits{replicas: 8, partition: 6, surge: 4, scaleMaxUnavailable: unlimited}, counts{}, counts{all: 8},
			Numbers{Surge: 2, ScaleUp: 2, ScaleUpLimit: 2, Update: 2}},
		{"PF-CS-2 two replicas", limits{replicas: 2, partition: 1, surge: 2, scaleMaxUnavailable: unlimited}, counts{}, counts{all: 2},
			Numbers{Surge: 1, ScaleUp: 1, ScaleUpLimit: 1, Update: 1}},
		{"too few of both kinds moves nothing between revisions", limits{replicas: 6, partition: 3, maxUnavailable: 6, scaleMaxUnavailable: 0, rollback: true},
			counts{all: 2}, counts{all: 1}, Numbers{ScaleUp: 3, ScaleUpOld: 2}},
		{"excludePreparingDelete replaces at once", limits{replicas: 3, maxUnavailable: 1, scaleMaxUnavailable: unlimited, excludePreparingDelete: true},
			counts{all: 3, preDeleting: 1}, counts{}, Numbers{ScaleUp: 1, ScaleUpLimit: 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := numbers(tt.limits, tally(tt.n), tally(tt.o))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("numbers (-want +got):\n%s", diff)
			}
		})
	}
}
