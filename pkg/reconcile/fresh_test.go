package reconcile

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/cluster"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/cluster/clustertest"
)

func TestLoopHasOneRunnerForEachSubject(t *testing.T) {
	t.Parallel()
	set := &v1beta1.CloneSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "web", ResourceVersion: "1"}}
	s := &Session{API: clustertest.New(), Now: time.Now, Random: func() uint64 { return 1 }}
	kind := CloneSet()
	v, err := s.sightOfAll(kind, "shop", pool{}, func(types.UID) {}, nil)
	if err != nil {
		t.Fatal(err)
	}
	v.mirrors.Wrote(kind.GroupKind, set)
	l := &loop{session: s, teller: newTeller(nil), events: cluster.NewRecorder(s.API, s.Now), roster: newRoster[*sight](),
		served: []Served{{Kind: kind}}, sights: []*sight{v}}

	l.roster.mark(set.UID, v)
	first := l.fresh()
	if len(first) != 1 {
		t.Fatalf("%d runners for a marked subject, want 1", len(first))
	}
	first[0].calm()
	l.roster.dirty[set.UID] = v // as a mark does that comes before the runner is known
	if again := l.fresh(); len(again) != 0 {
		t.Errorf("%d more runners for a subject that has one", len(again))
	}
	select {
	case <-first[0].wake:
	default:
		t.Error("the runner does not look again after the second mark")
	}

	first[0].calm()
	l.roster.mark(set.UID, v) // as for a subject that comes back while its runner is about to end
	l.roster.forget(first[0], v)
	if next := l.fresh(); len(next) != 1 {
		t.Errorf("%d runners for a subject that changed at the end of its last one, want 1", len(next))
	}
}
