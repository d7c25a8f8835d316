package sim

import (
	"container/heap"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Stage is one step in the life of a pod. Of all stages the first that matches is the next to happen. A stage without Next
// and Then is a rest: while it matches nothing happens.
type Stage struct {
	Name  string
	Match func(Body) bool
	// Delay is the time from the first match until the step, if the stage still matches then.
	Delay Range
	// Backoff doubles the delay with every restart of a container, up to five minutes.
	Backoff bool
	// Next edits a shallow copy of the pod.
	Next func(Body, *corev1.Pod)
	// Then, if set, is what happens instead.
	Then Ending
}

// Range is a span from which a duration is taken by chance.
type Range struct{ Min, Max time.Duration }

// Ending is what a step does to the existence of a pod.
type Ending int

// The endings.
const (
	Stay   Ending = iota
	Delete        // it is deleted as if by a client
	Remove        // it is gone
)

// Body is a pod in its surroundings, as stages see it.
type Body struct {
	*corev1.Pod
	c *Cluster
}

// lives are the pods that have a life, and a queue of what happens next.
type lives struct {
	stages []Stage
	byUID  map[types.UID]*life
	queue  queue
}

type life struct {
	pod *corev1.Pod
	// stage is the index of the stage that is due, -1 if there is none; turn tells this due time from older ones.
	stage, turn int
}

// due is an entry of the queue. Entries whose turn is over are skipped.
type due struct {
	at    time.Duration
	order int64
	life  *life
	turn  int
}

const maxBackoff = 5 * time.Minute

// look finds out what happens next to a pod that was written or whose surroundings changed.
func (l *lives) look(c *Cluster, pod *corev1.Pod) {
	if len(l.stages) == 0 {
		return
	}
	one := l.byUID[pod.UID]
	if one == nil {
		one = &life{stage: -1}
		l.byUID[pod.UID] = one
	}
	one.pod = pod
	body := Body{pod, c}
	next := -1
	for i := range l.stages {
		if l.stages[i].Match(body) {
			if l.stages[i].Next != nil || l.stages[i].Then != Stay {
				next = i
			}
			break
		}
	}
	if next == one.stage {
		return
	}
	one.stage = next
	one.turn++
	if next >= 0 {
		at := c.now + l.stages[next].delay(body)
		heap.Push(&l.queue, due{at: at, order: c.rv<<20 | int64(len(l.queue)), life: one, turn: one.turn})
	}
}

func (s *Stage) delay(b Body) time.Duration {
	d := s.Delay.Min
	if span := s.Delay.Max - s.Delay.Min; span > 0 {
		d += time.Duration(b.c.chance(uint64(span/time.Millisecond)+1, s.Name, b.c.rv)) * time.Millisecond
	}
	if s.Backoff {
		for range min(restarts(b.Pod), 16) {
			d = min(2*d, maxBackoff)
		}
	}
	return d
}

func restarts(pod *corev1.Pod) int32 {
	var most int32
	for i := range pod.Status.ContainerStatuses {
		most = max(most, pod.Status.ContainerStatuses[i].RestartCount)
	}
	return most
}

func (l *lives) forget(uid types.UID) {
	if one := l.byUID[uid]; one != nil {
		one.turn++
		delete(l.byUID, uid)
	}
}

// Next is when the next thing happens by itself; false if nothing will.
func (c *Cluster) Next() (time.Duration, bool) {
	q := &c.life.queue
	for len(*q) > 0 {
		if first := &(*q)[0]; first.turn == first.life.turn {
			return first.at, true
		}
		heap.Pop(q)
	}
	return 0, false
}

// Advance moves the clock to the given time and lets everything happen that is due until then.
func (c *Cluster) Advance(to time.Duration) {
	for {
		at, ok := c.Next()
		if !ok || at > to {
			break
		}
		c.now = max(c.now, at)
		c.step(heap.Pop(&c.life.queue).(due).life)
	}
	c.now = max(c.now, to)
}

func (c *Cluster) step(one *life) {
	stage := &c.life.stages[one.stage]
	one.stage = -1
	one.turn++
	t, pod := c.tables[0], one.pod
	switch stage.Then {
	case Remove:
		c.erase(t, pod, kubelet, nil)
	case Delete:
		c.remove(t, pod, kubelet, nil)
	default:
		after := *pod
		stage.Next(Body{pod, c}, &after)
		c.change(t, pod, &after, kubelet, nil)
	}
}

// SetStages changes how pods live from now on. What is under way keeps its time.
func (c *Cluster) SetStages(stages []Stage) {
	c.life.stages = stages
	for _, one := range c.life.byUID {
		if one.stage >= len(stages) {
			one.stage = -1
			one.turn++
		}
	}
	c.reconsider()
}

// reconsider looks at all pods after their surroundings have changed.
func (c *Cluster) reconsider() {
	for _, obj := range c.tables[0].items {
		c.life.look(c, obj.(*corev1.Pod))
	}
}

// queue is a heap of what is due, by time and then in order of entry.
type queue []due

func (q queue) Len() int { return len(q) }
func (q queue) Less(i, j int) bool {
	return q[i].at < q[j].at || q[i].at == q[j].at && q[i].order < q[j].order
}
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }

// Push implements heap.Interface.
func (q *queue) Push(x any) { *q = append(*q, x.(due)) }

// Pop implements heap.Interface.
func (q *queue) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}
