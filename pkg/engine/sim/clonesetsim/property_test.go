package clonesetsim_test

import (
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/sim"
)

// family narrows the histories of one test, so that all corners get their share.
type family struct {
	number   int
	name     string
	policies []v1beta1.PodUpdatePolicy
	surge    []string
	deeds    []deed
	faults   []sim.FaultKind
	onDelete bool
	// late: there is one update, long after everything has come to rest.
	late bool
	// hooks and claims: sets have them; reuse: claims are reused.
	hooks, claims, reuse bool
	// tight: nothing may be unavailable. back: the gate for the way back is on.
	tight, back bool
	// batches: there is one update, in batches.
	batches bool
}

var (
	inPlace  = []v1beta1.PodUpdatePolicy{v1beta1.InPlaceIfPossiblePodUpdatePolicy}
	recreate = []v1beta1.PodUpdatePolicy{v1beta1.ReCreatePodUpdatePolicy}
	only     = []v1beta1.PodUpdatePolicy{v1beta1.InPlaceOnlyPodUpdatePolicy}
	either   = []v1beta1.PodUpdatePolicy{v1beta1.ReCreatePodUpdatePolicy, v1beta1.InPlaceIfPossiblePodUpdatePolicy}

	quiet  = []deed{setImage}
	intent = []deed{setImage, setImage, setImage, setReplicas, setPartition, setPartition, setPaused, setUnavailable, setSurge, specify,
		specifyName, unspecify}
	rough = []deed{setImage, setImage, setReplicas, setPartition, setPaused, specify, crash, unready, failPod, deletePod, loseLabel,
		nodeGone, badImage}
	hooked = []deed{setImage, setImage, setReplicas, setReplicas, setPartition, setPaused, specify, specifyName, unspecify, crash, unready, deletePod}
	every  = []deed{setImage, setEnv, setReplicas, setPartition, setUnavailable, setSurge, setPaused, setPolicy, specify, specifyName,
		unspecify, crash, unready, failPod, deletePod, loseLabel, nodeGone, badImage}

	losing   = []deed{setImage, setReplicas, setReplicas, deletePod, deletePod, deletePod, failPod, nodeGone, loseLabel, specify}
	choosing = []deed{setImage, setReplicas, setPartition, setSurge, specify, specify, specify, specifyName, specifyName, unspecify, crash}
	going    = []deed{setImage, setImage, setPartition, setPartition, setPartition, setReplicas, setUnavailable, specify, crash, unready}

	disturbing = []deed{crash, unready, deletePod, failPod, setReplicas, setUnavailable}

	writes = []sim.FaultKind{sim.FailWrite, sim.LoseAnswer, sim.LoseRequest, sim.Collide}
	single = []sim.FaultKind{sim.FailWrite, sim.LoseAnswer, sim.LoseRequest, sim.Collide, sim.DieBefore, sim.DieAfter, sim.HandOver, sim.LoseWatch}
	twins  = []sim.FaultKind{sim.Intrude, sim.Intrude, sim.HandOver, sim.DieAfter, sim.LoseAnswer, sim.LoseWatch}

	noSurge = []string{"", "0"}
	surges  = []string{"1", "2", "3", "50%", "100%"}
)

var families = []family{
	{name: "in place", policies: inPlace, surge: noSurge, deeds: intent, faults: single},
	{name: "in place, rough", policies: inPlace, surge: noSurge, deeds: rough, faults: single},
	{name: "in place only", policies: only, surge: noSurge, deeds: []deed{setImage, setReplicas, setPartition, setPaused, crash, specify}, faults: single},
	{name: "recreate", policies: recreate, surge: noSurge, deeds: intent, faults: single},
	{name: "recreate, rough", policies: recreate, surge: noSurge, deeds: rough, faults: single},
	{name: "surge", policies: either, surge: surges, deeds: intent, faults: single},
	{name: "surge, rough", policies: either, surge: surges, deeds: rough, faults: single},
	{name: "plain updates", policies: either, surge: append(noSurge, surges...), deeds: quiet, faults: single},
	{name: "one late update", policies: either, surge: append(noSurge, surges...), deeds: quiet, faults: single, late: true},
	{name: "on delete", policies: either, surge: noSurge, deeds: rough, faults: writes, onDelete: true},
	{name: "hooks", policies: either, surge: append(noSurge, surges...), deeds: hooked, faults: single, hooks: true},
	{name: "claims", policies: either, surge: append(noSurge, surges...), deeds: rough, faults: single, claims: true},
	{name: "claims, reused", policies: either, surge: append(noSurge, surges...), deeds: losing, faults: single, claims: true, reuse: true},
	{name: "surge, chosen pods", policies: either, surge: surges, deeds: choosing, faults: single, tight: true},
	{name: "way back", policies: either, surge: append(noSurge, surges...), deeds: going, faults: single, back: true},
	{name: "batches", policies: either, surge: append(noSurge, surges...), deeds: disturbing, faults: single, batches: true},
	{name: "second driver", policies: either, surge: append(noSurge, surges...), deeds: every, faults: twins},
}

var (
	drawReplicas  = rapid.IntRange(0, 10)
	drawSmall     = rapid.IntRange(0, 3)
	drawBool      = rapid.Bool()
	drawPartition = rapid.SampledFrom([]string{"", "0", "1", "2", "3", "5", "11", "30%", "50%", "99%", "100%"})
	drawLimit     = rapid.SampledFrom([]string{"", "1", "2", "3", "20%", "50%", "100%", "0"})
	drawScale     = rapid.SampledFrom([]string{"", "", "", "1", "2", "50%"})
	drawRare      = rapid.IntRange(0, 7)
	drawSeed      = rapid.Uint32()
	drawSeconds   = rapid.IntRange(0, 60)
	drawVersion   = rapid.IntRange(1, 4)
	drawIndex     = rapid.IntRange(0, 9)
	drawSteps     = rapid.IntRange(1, 5)
	drawFaults    = rapid.IntRange(1, 3)
	drawWrite     = rapid.IntRange(0, 80)
	drawLag       = rapid.SampledFrom([]time.Duration{0, 50 * time.Millisecond, 700 * time.Millisecond, 3 * time.Second})
	drawInterval  = rapid.SampledFrom([]time.Duration{200 * time.Millisecond, time.Second, 3 * time.Second, 3 * time.Second})
	drawWriteTime = rapid.SampledFrom([]time.Duration{time.Millisecond, 30 * time.Millisecond, 300 * time.Millisecond})
	drawPace      = rapid.IntRange(0, 2)
	drawSpan      = rapid.SampledFrom([]time.Duration{time.Second, 5 * time.Second, 20 * time.Second, 2 * time.Minute, 10 * time.Minute})
	drawWatch     = rapid.IntRange(0, 4)
	drawBatches   = rapid.SampledFrom([][]string{{"1", "25%", "100%"}, {"50%", "100%"}, {"2", "3", "4", "100%"}, {"100%"}})
	drawPause     = rapid.SampledFrom([]string{"", "approve", "approve", "10s"})
	drawTrouble   = rapid.SampledFrom([]string{string(sim.PullFails), string(sim.Crashes)})
)

// draw makes a history of the family.
func (f *family) draw(t *rapid.T) *history {
	// All families start from the same seed; the salt makes their histories differ.
	for range f.number {
		drawSeed.Draw(t, "salt")
	}
	h := &history{
		seed: uint64(drawSeed.Draw(t, "seed")), rollback: f.back || drawRare.Draw(t, "rollback") == 7,
		lag: drawLag.Draw(t, "lag"), interval: drawInterval.Draw(t, "interval"), write: drawWriteTime.Draw(t, "write time"),
		pace: paces[drawPace.Draw(t, "pace")],
	}
	s := &h.spec
	*s = setSpec{
		replicas: drawReplicas.Draw(t, "replicas"), partition: value(drawPartition.Draw(t, "partition")),
		unavailable: value(drawLimit.Draw(t, "maxUnavailable")), scaleLimit: value(drawScale.Draw(t, "scale limit")),
		paused: drawRare.Draw(t, "paused") == 7, onDelete: f.onDelete, containers: 1,
	}
	s.policy = f.policies[0]
	if len(f.policies) > 1 {
		s.policy = rapid.SampledFrom(f.policies).Draw(t, "policy")
	}
	s.surge = value(rapid.SampledFrom(f.surge).Draw(t, "maxSurge"))
	if f.tight {
		s.unavailable = value("0")
	}
	if isZero(s.unavailable) && (s.surge == nil || isZero(s.surge)) {
		s.unavailable = value("1")
	}
	switch drawRare.Draw(t, "timing") {
	case 6:
		s.minReady = 5
	case 7:
		s.minReady, s.grace = 20, 3
	case 5:
		s.grace = 10
	case 4:
		s.containers = 2
	}
	if f.hooks {
		s.hooks = hooks{drawBool.Draw(t, "preDelete"), drawBool.Draw(t, "inPlaceUpdate"), drawRare.Draw(t, "preNormal") < 2,
			drawRare.Draw(t, "not ready") == 7, drawRare.Draw(t, "exclude") == 7}
	}
	if f.claims {
		s.claims, s.reuse = 1+drawSmall.Draw(t, "claims")/3, f.reuse || drawBool.Draw(t, "reuse")
	}
	if f.late {
		h.steps = []step{{at: late, what: setImage, n: 2}}
	} else {
		for range drawSteps.Draw(t, "steps") {
			h.steps = append(h.steps, f.step(t))
		}
	}
	if f.batches {
		s.partition, s.paused = nil, false
		h.rollout = &rollout{batches: drawBatches.Draw(t, "batches"), pause: drawPause.Draw(t, "pause")}
		for range drawSmall.Draw(t, "approvals") {
			at := rolloutAt + time.Duration(drawSeconds.Draw(t, "approved at"))*4*time.Second
			h.rollout.approvals = append(h.rollout.approvals, approval{at, 1 + drawSmall.Draw(t, "batch"), drawRare.Draw(t, "wrong") > 5})
		}
	}
	for range drawFaults.Draw(t, "faults") {
		h.faults = append(h.faults, f.fault(t, len(h.faults)))
	}
	return h
}

func (f *family) step(t *rapid.T) step {
	s := step{at: time.Duration(drawSeconds.Draw(t, "at")) * time.Second, what: rapid.SampledFrom(f.deeds).Draw(t, "deed")}
	switch s.what {
	case setImage:
		s.n = drawVersion.Draw(t, "version")
	case setEnv:
		s.text = rapid.SampledFrom([]string{"a", "b"}).Draw(t, "value")
	case setReplicas:
		s.n = drawReplicas.Draw(t, "replicas")
	case setPartition:
		s.text = drawPartition.Draw(t, "partition")
	case setUnavailable:
		s.text = drawLimit.Draw(t, "maxUnavailable")
	case setSurge:
		s.text = rapid.SampledFrom(f.surge).Draw(t, "maxSurge")
	case setPaused:
		s.n = drawSmall.Draw(t, "paused") / 3
	case setPolicy:
		s.text = string(rapid.SampledFrom(f.policies).Draw(t, "policy"))
	case nodeGone:
		s.n, s.span = drawIndex.Draw(t, "node"), drawSpan.Draw(t, "for")
	case badImage:
		s.n, s.text, s.span = drawVersion.Draw(t, "version"), drawTrouble.Draw(t, "trouble"), drawSpan.Draw(t, "for")
	default:
		s.n = drawIndex.Draw(t, "pod")
	}
	return s
}

// fault draws a fault; the first of a history is at one of the first two writes, which every history has.
func (f *family) fault(t *rapid.T, already int) sim.Fault {
	fault := sim.Fault{Kind: rapid.SampledFrom(f.faults).Draw(t, "fault"), For: drawSpan.Draw(t, "for"), Watch: plan.PodKind}
	if already > 0 {
		fault.At = drawWrite.Draw(t, "write")
	} else if drawBool.Draw(t, "second write") {
		fault.At = 1
	}
	if fault.Kind == sim.Intrude {
		fault.For = min(fault.For, 20*time.Second)
	}
	if fault.Kind == sim.LoseWatch {
		switch drawWatch.Draw(t, "watch") {
		case 3:
			fault.Watch = plan.CloneSetKind
		case 4:
			fault.Watch = plan.ControllerRevisionKind
		}
	}
	return fault
}

func between(low, high int) sim.Range {
	return sim.Range{Min: time.Duration(low) * time.Millisecond, Max: time.Duration(high) * time.Millisecond}
}

// paces are a quick, a common and a slow cluster.
var paces = []sim.Pace{
	{Schedule: between(0, 0), Start: between(100, 200), Ready: between(100, 300), Observe: between(0, 0), Restart: between(100, 200), Gate: between(0, 100),
		Terminate: between(100, 300), Retry: between(10000, 10000), NodeLost: between(40000, 40000), Evict: between(60000, 60000)},
	{Schedule: between(50, 500), Start: between(500, 1500), Ready: between(500, 4000), Observe: between(0, 300), Restart: between(300, 2000), Gate: between(0, 1000),
		Terminate: between(500, 3000), Retry: between(10000, 10000), NodeLost: between(40000, 40000), Evict: between(300000, 300000)},
	{Schedule: between(0, 3000), Start: between(1000, 10000), Ready: between(1000, 30000), Observe: between(0, 2000), Restart: between(1000, 20000), Gate: between(0, 1000),
		Terminate: between(1000, 40000), Retry: between(10000, 10000), NodeLost: between(20000, 40000), Evict: between(100000, 300000)},
}

// tally adds up what the histories had in them.
type tally struct {
	histories, rounds, shortest, longest int
	faults                               sim.Counts
	deeds                                [deeds]int
}

func (c *tally) add(h *history, out outcome) {
	c.histories++
	c.rounds += out.rounds
	c.longest = max(c.longest, out.rounds)
	if c.shortest == 0 || out.rounds < c.shortest {
		c.shortest = out.rounds
	}
	for k, n := range out.faulted {
		c.faults[k] += n
	}
	for _, s := range h.steps {
		c.deeds[s.what]++
	}
}

func (c *tally) String() string {
	var words []string
	for k, n := range c.faults {
		if n > 0 {
			words = append(words, fmt.Sprintf("%s %d", sim.FaultKind(k), n))
		}
	}
	for k, n := range c.deeds {
		if n > 0 {
			words = append(words, fmt.Sprintf("%s %d", deedNames[k], n))
		}
	}
	return fmt.Sprintf("%d histories: %d rounds (%d to %d each), %s", c.histories, c.rounds, c.shortest, c.longest, strings.Join(words, ", "))
}

// TestHistories plays random histories and checks every write and every end. What a family prints tells what it saw;
// -rapid.seed plays the same ones again.
func TestHistories(t *testing.T) {
	t.Parallel()
	t.Logf("histories: seed %s, %s for each of %d families", flag.Lookup("rapid.seed").Value, flag.Lookup("rapid.checks").Value, len(families))
	for i := range families {
		f := &families[i]
		f.number = i
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			var all tally
			rapid.Check(t, func(t *rapid.T) {
				h := f.draw(t)
				out, err := play(h, nil)
				switch {
				case err != nil:
					t.Fatalf("%v\nafter %d rounds of\n%s%s", err, out.rounds, h, retold(h))
				case out.rounds < minRounds || out.faulted.Total() == 0:
					t.Fatalf("a history of %d rounds and %d faults proves too little:\n%s", out.rounds, out.faulted.Total(), h)
				}
				all.add(h, out)
			})
			t.Logf("%s: %s", f.name, &all)
		})
	}
}

// retold is the end of a history in all its writes.
func retold(h *history) string {
	var lines []string
	_, _ = play(h, func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) })
	return strings.Join(lines[max(len(lines)-100, 0):], "\n")
}
