package cluster

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
)

// Writer is what an Executor writes with. Objects and results are as Client describes them.
type Writer interface {
	Create(ctx context.Context, kind schema.GroupKind, obj plan.Object, dry bool) (plan.Object, error)
	Patch(ctx context.Context, ref plan.Ref, subresource string, as types.PatchType, body []byte, dry bool) (plan.Object, error)
	Delete(ctx context.Context, ref plan.Ref, resourceVersion string, dry bool) (plan.Object, error)
	Evict(ctx context.Context, ref plan.Ref, dry bool) error
}

// Overlay learns what writes did, so that the next read sees it.
type Overlay interface {
	Wrote(kind schema.GroupKind, obj plan.Object)
	Gone(ref plan.Ref)
}

// DryRun says how much of a plan reaches the cluster.
type DryRun string

// The dry-run modes.
const (
	DryRunNone DryRun = "none"
	// DryRunClient sends nothing.
	DryRunClient DryRun = "client"
	// DryRunServer sends the first stage for the server to check and not to store.
	DryRunServer DryRun = "server"
)

const (
	defaultParallel = 32
	writeTimeout    = 30 * time.Second
	// stopGrace is how long writes that are under way may take once the context has ended.
	stopGrace = time.Second
)

// Executor carries out plans. Its zero fields have defaults, but for API.
type Executor struct {
	API Writer
	// Overlay may be nil.
	Overlay Overlay
	// Events may be nil: then no events are written.
	Events *Recorder
	DryRun DryRun
	// Parallel is the largest number of writes at a time; 0 means 32.
	Parallel int
	// Told hears of every outcome as it comes, from several goroutines at once. It may be nil.
	Told func(Outcome)
}

// Result is how a write ended.
type Result string

// The results of writes.
const (
	// Done: the cluster is as the action wants it.
	Done Result = "done"
	// Checked: the server would do it (DryRunServer).
	Checked Result = "checked"
	// Conflicted: the object is not what the plan saw. Observe again; nothing was written.
	Conflicted Result = "conflict"
	// Failed: the server refused.
	Failed Result = "failed"
	// Unknown: no answer. The write may or may not have happened; Report.Doubts names what to read.
	Unknown Result = "unknown"
	// Skipped: not sent, because of dry-run, an earlier failure or a stop.
	Skipped Result = "skipped"
)

// Outcome is what became of one action.
type Outcome struct {
	Stage  string
	Action plan.Action
	Result Result
	// Object is what the server returned; nil for deletes and for what was not written.
	Object plan.Object
	// Err explains Conflicted, Failed and Unknown.
	Err  error
	Took time.Duration
}

// Report is what became of a plan.
type Report struct {
	// Outcomes has one entry for each action, chained ones too, in the plan's order.
	Outcomes []Outcome
	// Doubts are the objects that have to be read from the server itself before the next plan: those of conflicts and of
	// writes without an answer. Refs without a UID were to be created.
	Doubts []plan.Ref
	// RetryAfter is the longest time that the server asked to wait.
	RetryAfter time.Duration
}

// Failures lists the outcomes that failed or have no answer. Conflicts are not among them.
func (r *Report) Failures() []Outcome {
	return r.with(Failed, Unknown)
}

// Conflicts lists the outcomes that need nothing but another look.
func (r *Report) Conflicts() []Outcome { return r.with(Conflicted) }

func (r *Report) with(results ...Result) []Outcome {
	var list []Outcome
	for _, o := range r.Outcomes {
		for _, result := range results {
			if o.Result == result {
				list = append(list, o)
			}
		}
	}
	return list
}

// Run carries out stages in order on behalf of subject. When an action fails, what is being written beside it finishes
// and nothing further begins. A conflict lets its stage go on and later stages wait for the next plan. When the context
// ends no action is begun any more; writes under way get a second.
func (x *Executor) Run(ctx context.Context, subject Subject, stages []plan.Stage) *Report {
	report := &Report{}
	write, done := withGrace(ctx)
	defer done()
	halted := x.DryRun == DryRunClient
	for i, stage := range stages {
		chains := make([]*chain, len(stage.Actions))
		for j := range stage.Actions {
			chains[j] = newChain(stage.Name, &stage.Actions[j])
		}
		if !halted {
			x.stage(ctx, write, subject, chains)
		}
		for _, c := range chains {
			report.add(c)
			halted = halted || c.broken
		}
		halted = halted || i == 0 && x.DryRun == DryRunServer
	}
	return report
}

// withGrace is a context for writes: it outlives ctx by stopGrace.
func withGrace(ctx context.Context) (context.Context, func()) {
	write, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var timer *time.Timer
	var mu sync.Mutex
	stop := context.AfterFunc(ctx, func() {
		mu.Lock()
		defer mu.Unlock()
		timer = time.AfterFunc(stopGrace, cancel)
	})
	return write, func() {
		stop()
		mu.Lock()
		defer mu.Unlock()
		if timer != nil {
			timer.Stop()
		}
		cancel()
	}
}

// stage runs chains with slow start: 1, 2, 4 … at a time, each group waiting for the one before, so that a mistake that
// concerns all of them is made once. From the full width on the chains follow each other freely.
func (x *Executor) stage(ctx, write context.Context, subject Subject, chains []*chain) {
	width := x.Parallel
	if width <= 0 {
		width = defaultParallel
	}
	for size := 1; len(chains) > 0 && size < width; size *= 2 {
		group := chains[:min(size, len(chains))]
		chains = chains[len(group):]
		var wg sync.WaitGroup
		for _, c := range group {
			wg.Go(func() { x.chain(ctx, write, subject, c) })
		}
		wg.Wait()
		for _, c := range group {
			if c.failed {
				return
			}
		}
	}
	x.flow(ctx, write, subject, chains, width)
}

// flow runs chains at full width until one fails.
func (x *Executor) flow(ctx, write context.Context, subject Subject, chains []*chain, width int) {
	queue := make(chan *chain)
	failed := make(chan struct{})
	var once sync.Once
	var wg sync.WaitGroup
	for range min(width, len(chains)) {
		wg.Go(func() {
			for c := range queue {
				if x.chain(ctx, write, subject, c); c.failed {
					once.Do(func() { close(failed) })
				}
			}
		})
	}
send:
	for _, c := range chains {
		select {
		case <-failed:
			break send
		case queue <- c:
		}
	}
	close(queue)
	wg.Wait()
}

func (r *Report) add(c *chain) {
	r.Outcomes = append(r.Outcomes, c.outcomes...)
	r.Doubts = append(r.Doubts, c.doubts...)
	r.RetryAfter = max(r.RetryAfter, c.retryAfter)
}
