package view

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
)

// story feeds a narrator and keeps what it says.
type story struct {
	*Narrator
	said []string
}

func newStory() *story {
	return &story{Narrator: &Narrator{Command: "kubectl kruise rollout cloneset/web", Start: start,
		Back: "kubectl kruise rollout cloneset/web --image nginx=nginx:1.26"}}
}

var start = time.Date(2030, 1, 2, 10, 41, 0, 0, time.UTC)

func head(seconds float64) Head {
	return Head{At: start.Add(time.Duration(seconds * float64(time.Second))), Subject: Subject{Kind: "CloneSet", Namespace: "shop", Name: "web"}}
}

func (s *story) tell(events ...Event) {
	for _, e := range events {
		s.keep(s.Tell(e)...)
	}
}

func (s *story) keep(lines ...Line) {
	for _, l := range lines {
		mark := "  "
		if l.Result {
			mark = "> "
		}
		s.said = append(s.said, mark+l.Text)
	}
}

func (s *story) check(t *testing.T, want string) {
	t.Helper()
	want = strings.Trim(strings.ReplaceAll(want, "\n\t\t", "\n"), "\n\t")
	if diff := cmp.Diff(want, strings.Join(s.said, "\n")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func webSet(change func(*v1beta1.RollingUpdateCloneSetStrategy)) *v1beta1.CloneSet {
	set := &v1beta1.CloneSet{}
	partition := intstr.FromString("80%")
	u := &v1beta1.RollingUpdateCloneSetStrategy{PodUpdatePolicy: v1beta1.InPlaceIfPossiblePodUpdatePolicy, Partition: &partition}
	if change != nil {
		change(u)
	}
	set.Spec.UpdateStrategy.RollingUpdate = u
	return set
}

var counts = Counts{Wanted: 10, ExpectedUpdated: 2, Replicas: 10, Ready: 10, Available: 10,
	UpdateRevision: "web-6599fc6cdd", CurrentRevision: "web-7cb9c88699"}

func with(c Counts, updated, available int32) Counts {
	c.Updated, c.UpdatedReady, c.UpdatedAvailable = updated, available, available
	return c
}

func pod(name string, fate plan.Fate, reason plan.Reason, updated, available bool, note string) plan.Verdict {
	return plan.Verdict{Name: name, UID: types.UID("uid-" + name), Fate: fate, Reason: reason, Updated: updated, Available: available, Note: note}
}

func look(seconds float64, c Counts, verdicts ...plan.Verdict) Planned {
	return Planned{Head: head(seconds), Object: webSet(nil), Plan: &plan.Plan{Verdicts: verdicts}, Counts: c}
}

func patched(seconds float64, name string) Acted {
	return Acted{Head: head(seconds), Stage: "update", Action: plan.Action{Verb: plan.Patch,
		On: plan.Ref{Kind: plan.PodKind, Namespace: "shop", Name: name, UID: types.UID("uid-" + name)}}}
}

func TestARolloutThatGoesWell(t *testing.T) {
	t.Parallel()
	s := newStory()
	notReady := patched(0, "web-7kx2p")
	notReady.Action.Subresource = plan.StatusSubresource
	s.tell(
		Started{Head: head(0), Driver: Driver{Kind: DriverSelf}},
		look(0, counts, pod("web-7kx2p", plan.UpdateInPlace, plan.ReasonRevision, false, true, ""),
			pod("web-m4zq9", plan.UpdateInPlace, plan.ReasonRevision, false, true, ""), pod("web-aaaaa", plan.Keep, plan.ReasonPartition, false, true, "")),
		notReady, patched(0.1, "web-7kx2p"), patched(0.2, "web-m4zq9"),
		Waiting{Head: head(0.3), Waits: []plan.Wait{{Reason: plan.ReasonUpdating, Names: []string{"web-7kx2p", "web-m4zq9"}}}},
		look(0.4, with(counts, 2, 0), pod("web-7kx2p", plan.Hold, plan.ReasonUpdating, true, false, ""),
			pod("web-m4zq9", plan.Hold, plan.ReasonUpdating, true, false, ""), pod("web-aaaaa", plan.Keep, plan.ReasonPartition, false, true, "")),
		look(1.3, with(counts, 2, 2), pod("web-7kx2p", plan.Keep, plan.ReasonUpToDate, true, true, ""),
			pod("web-m4zq9", plan.Keep, plan.ReasonUpToDate, true, true, ""), pod("web-aaaaa", plan.Keep, plan.ReasonPartition, false, true, "")),
		Done{Head: head(1.4), Counts: with(counts, 2, 2), Took: 1400 * time.Millisecond},
	)
	s.check(t, `
		  driving here (nobody else does); 10 pods, 2 to update in place, at most 20% unavailable
		    0s  web-7kx2p  in place      1 of 2
		    0s  web-m4zq9  in place      2 of 2
		    1s  web-7kx2p  ready
		    1s  web-m4zq9  ready
		> done in 1.4s: 2 of 2 updated and available at web-6599fc6cdd, 8 stay at web-7cb9c88699
		> next: kubectl kruise rollout cloneset/web --partition 50%`)
}

func TestAnAilmentIsQuotedAndAfterThirtySecondsTheWayBackIsShown(t *testing.T) {
	t.Parallel()
	s := newStory()
	waits := Waiting{Waits: []plan.Wait{{Reason: plan.ReasonMaxUnavailable, Names: []string{"web-7kx2p", "web-m4zq9"},
		Note: "maxUnavailable 2 is used up, 6 pods to update"}}}
	ill := func(seconds float64, reason string) {
		s.tell(look(seconds, with(counts, 2, 0),
			pod("web-m4zq9", plan.Hold, plan.ReasonUpdating, true, false, "nginx: "+reason+": nginx:1.72: not found\x1b[2J"),
			pod("web-7kx2p", plan.Hold, plan.ReasonUpdating, true, false, "nginx: "+reason+": nginx:1.72: not found\x1b[2J")))
		waits.Head = head(seconds)
		s.tell(waits)
	}
	s.tell(Started{Head: head(0), Driver: Driver{Kind: DriverSelf}})
	ill(2, "ErrImagePull")
	for _, second := range []float64{3, 4, 6} {
		s.keep(s.Tick(head(second).At)...)
	}
	ill(9, "ImagePullBackOff")
	s.keep(s.Tick(head(31).At)...)
	s.keep(s.Tick(head(33).At)...)
	s.keep(s.Tick(head(50).At)...)
	s.tell(Stopped{Head: head(60), Why: StopTimeout, Detail: Timeout(time.Minute), Counts: with(counts, 2, 0)})
	s.check(t, `
		  driving here (nobody else does); 10 pods, at most 20% unavailable
		    6s  waiting: maxUnavailable 2 is used up, 6 pods to update
		        web-7kx2p, web-m4zq9  nginx: ErrImagePull for 4s: "nginx:1.72: not found\u001b[2J"
		   33s  waiting: maxUnavailable 2 is used up, 6 pods to update
		        web-7kx2p, web-m4zq9  nginx: ImagePullBackOff for 31s: "nginx:1.72: not found\u001b[2J"
		        way back: kubectl kruise rollout cloneset/web --image nginx=nginx:1.26
		> timed out: --timeout 1m0s is over; stopped at 2 of 2 updated, 0 of them available at web-6599fc6cdd, 8 stay at web-7cb9c88699
		>       web-7kx2p, web-m4zq9  nginx: ImagePullBackOff for 58s: "nginx:1.72: not found\u001b[2J"
		> go on:   kubectl kruise rollout cloneset/web
		> back:    kubectl kruise rollout cloneset/web --image nginx=nginx:1.26`)
}

func TestTheFirstInterruptSaysWhatHappensAndHowToGoOn(t *testing.T) {
	t.Parallel()
	s := newStory()
	s.tell(Started{Head: head(0), Driver: Driver{Kind: DriverSelf}},
		look(1, with(counts, 2, 0), pod("web-7kx2p", plan.Hold, plan.ReasonUpdating, true, false, ""), pod("web-m4zq9", plan.Hold, plan.ReasonUpdating, true, false, "")))
	s.keep(s.Stopping())
	s.tell(Stopped{Head: head(2), Why: StopInterrupted, Counts: with(Counts{Wanted: 10, ExpectedUpdated: 10, Replicas: 10, UpdateRevision: "web-6599fc6cdd"}, 6, 6)})
	s.check(t, `
		  driving here (nobody else does); 10 pods, at most 20% unavailable
		  stopping: no new pod is touched; 2 in flight finish on their own
		> stopped at 6 of 10 updated and available at web-6599fc6cdd; nothing is lost
		> go on:   kubectl kruise rollout cloneset/web`)
}

func TestAWatcherTellsTheTracesOfAnother(t *testing.T) {
	t.Parallel()
	s := newStory()
	s.tell(Started{Head: head(0), Driver: Driver{Kind: DriverOpenKruise, Lease: "kruise-system/kruise-manager"}},
		look(0, counts, pod("web-7kx2p", plan.Hold, plan.ReasonRevision, false, true, ""), pod("web-m4zq9", plan.Keep, plan.ReasonPartition, false, true, "")),
		look(1, with(counts, 1, 0), pod("web-7kx2p", plan.Hold, plan.ReasonUpdating, true, false, ""), pod("web-new12", plan.Hold, plan.ReasonNotReady, false, false, "")),
		look(2, with(counts, 1, 1), pod("web-7kx2p", plan.Keep, plan.ReasonUpToDate, true, true, ""), pod("web-new12", plan.Hold, plan.ReasonNotReady, false, false, "")),
	)
	s.check(t, `
		  OpenKruise drives (lease kruise-system/kruise-manager); 10 pods, 2 to update in place, at most 20% unavailable
		    1s  web-7kx2p  in place      1 of 2
		    1s  web-new12  created
		    1s  web-m4zq9  gone
		    2s  web-7kx2p  ready`)
}

func TestEveryEndSaysWhyAndWhatToType(t *testing.T) {
	t.Parallel()
	c := with(counts, 2, 2)
	tests := map[string]struct {
		paused bool
		why    StopReason
		detail string
		want   string
	}{
		"paused": {true, StopPaused, "updates are paused", `
		> paused: updates are paused; 2 of 2 updated and available at web-6599fc6cdd, 8 stay at web-7cb9c88699
		> go on:   kubectl kruise rollout cloneset/web --paused=false`},
		"waits for deletions": {false, StopPaused, "OnDelete", `
		> paused: OnDelete; 2 of 2 updated and available at web-6599fc6cdd, 8 stay at web-7cb9c88699`},
		"superseded": {false, StopSuperseded, "image nginx is nginx:1.28 now", `
		> superseded: image nginx is nginx:1.28 now; stopped at 2 of 2 updated and available at web-6599fc6cdd, 8 stay at web-7cb9c88699
		> go on:   kubectl kruise rollout cloneset/web`},
		"lease lost": {false, StopLeaseLost, "", `
		> lost the lease; stopped at 2 of 2 updated and available at web-6599fc6cdd, 8 stay at web-7cb9c88699
		> go on:   kubectl kruise rollout cloneset/web`},
		"gone": {false, StopGone, "it was deleted", `
		> gone: it was deleted; nothing is left to do`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStory()
			planned := look(0, c)
			planned.Object = webSet(func(u *v1beta1.RollingUpdateCloneSetStrategy) { u.Paused = test.paused })
			s.tell(Started{Head: head(0), Driver: Driver{Kind: DriverSelf}}, planned)
			s.said = nil
			s.tell(Stopped{Head: head(1), Why: test.why, Detail: test.detail, Counts: c})
			s.check(t, test.want)
		})
	}
}

// Where another drives, what was changed goes on by itself.
func TestOpenedLaunchOrdersAreToldAtTheEnd(t *testing.T) {
	t.Parallel()
	s := newStory()
	s.tell(Opened{Head: head(4), Pods: []string{"web-1"}},
		Opened{Head: head(4), Pods: []string{"web-1", "web-2", "web-3", "web-4", "web-5"}, Left: []string{"web-6", "web-7"}})
	s.Prefix = "pods  "
	s.tell(Opened{Head: head(4), Pods: []string{"web-1", "web-2", "web-3"}}, Opened{Head: head(5), Kept: []string{"web-4"}})
	s.check(t, `
		> opened what was left of the launch order of 1 pod (web-1), ready or not: nobody would do it later
		> opened what was left of the launch order of 5 pods (web-1, web-2, web-3 and 2 more), ready or not: nobody would do it later
		> could not open all of the launch order of 2 pods (web-6, web-7): containers wait until somebody drives
		    4s  pods  opened what was left of the launch order of 3 pods (web-1, web-2, web-3), ready or not: nobody would do it later
		    5s  pods  left the launch order of 1 pod (web-4) as it is: containers wait until somebody drives
		`)
}

func TestSupersededUnderAnotherDriverIsWatched(t *testing.T) {
	t.Parallel()
	c := with(counts, 2, 2)
	s := newStory()
	s.tell(Started{Head: head(0), Driver: Driver{Kind: DriverOpenKruise}}, look(0, c))
	s.said = nil
	s.tell(Stopped{Head: head(1), Why: StopSuperseded, Counts: c})
	s.check(t, `
		> superseded; stopped at 2 of 2 updated and available at web-6599fc6cdd, 8 stay at web-7cb9c88699
		> watch:   kubectl kruise rollout status cloneset/web --watch`)
}

func TestCountsInWords(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		counts Counts
		want   string
	}{
		"nothing is wanted":                {Counts{}, "no pods wanted, none there"},
		"a fresh set":                      {Counts{Wanted: 3, ExpectedUpdated: 3, Replicas: 3, Available: 3, Updated: 3, UpdatedAvailable: 3, UpdateRevision: "web-a", CurrentRevision: "web-a"}, "3 of 3 updated and available at web-a"},
		"one stays behind":                 {Counts{Wanted: 3, ExpectedUpdated: 2, Replicas: 3, Updated: 2, UpdatedAvailable: 2, UpdateRevision: "web-b", CurrentRevision: "web-a"}, "2 of 2 updated and available at web-b, 1 stays at web-a"},
		"the partition keeps all":          {Counts{Wanted: 3, Replicas: 3, Available: 2, UpdateRevision: "web-b", CurrentRevision: "web-a"}, "2 of 3 available, 3 stay at web-a"},
		"more than the partition lets":     {Counts{Wanted: 3, ExpectedUpdated: 0, Replicas: 3, Updated: 2, UpdatedAvailable: 2, UpdateRevision: "web-b", CurrentRevision: "web-a"}, "2 updated and available at web-b, 2 more than wanted, 1 stays at web-a"},
		"half way those left are not told": {Counts{Wanted: 3, ExpectedUpdated: 3, Replicas: 3, Updated: 2, UpdatedAvailable: 1, UpdateRevision: "web-b"}, "2 of 3 updated, 1 of them available at web-b"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, test.counts.Sentence()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestAFailureThatGoesOnIsToldOncePerMinute(t *testing.T) {
	t.Parallel()
	s := newStory()
	failed := patched(0, "web-7kx2p").Action
	for _, second := range []float64{1, 2, 59, 62} {
		s.tell(ActionFailed{Head: head(second), Action: failed, Err: "quota is used up"})
	}
	s.tell(ActionFailed{Head: head(63), Action: failed, Err: "no permission"})
	s.check(t, `
		    1s  web-7kx2p  failed: quota is used up
		  1m2s  web-7kx2p  failed: quota is used up
		  1m3s  web-7kx2p  failed: no permission`)
}
