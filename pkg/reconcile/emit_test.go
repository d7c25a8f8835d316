package reconcile

import (
	"testing"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/view"
)

// A reader that takes nothing does not fill the memory, and what it must not miss is kept for it.
func TestTellerKeepsLittleForAReaderThatIsStuck(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	var heard []view.Event
	tell := newTeller(func(e view.Event) {
		<-release
		heard = append(heard, e)
	})
	tell.tell(view.Started{Driver: view.Driver{Kind: view.DriverSelf}})
	tell.tell(view.DriverChanged{})
	for range 10 * mostQueued {
		tell.tell(view.Planned{})
	}
	tell.tell(view.Done{})
	close(release)
	tell.drain()
	counts := map[string]int{}
	for _, e := range heard {
		switch e.(type) {
		case view.Started, view.DriverChanged:
			counts["begin"]++
		case view.Done:
			counts["end"]++
		default:
			counts["looks"]++
		}
	}
	if counts["begin"] != 2 || counts["end"] != 1 {
		t.Errorf("heard %v, want both beginnings and the end", counts)
	}
	if counts["looks"] > 2*mostQueued { // as many may be on their way
		t.Errorf("%d looks were kept", counts["looks"])
	}
}
