package stage

import (
	"container/heap"
	"slices"
)

// submitSeconds is the median time from the end of a stage's last parent to its start, on
// the public TPC graphs.
const submitSeconds = .13

// work is what a schedule needs of a stage.
type work struct {
	// duration that it takes from start to end, taskSeconds over all of its tasks.
	duration, taskSeconds float64
	// width is the number of its tasks that can run at a time; 0 is unknown.
	width int
	// done says that start and end are known.
	done       bool
	start, end float64
}

// times of each stage by the two schedules, in seconds from the job's start.
type times struct {
	// critical has each stage start as soon as its parents ended, and run for its
	// duration; queued has it wait for slots that stages with lower numbers left, and
	// run for its task time over its slots. Without known slots they are the same.
	critical, queued []float64
	start, end       []float64
}

// schedule the stages that are not done from now on. The end of a stage is the later one
// of both schedules.
func (c *compiled) schedule(w []work, now float64) times {
	n := len(w)
	t := times{critical: make([]float64, n), start: make([]float64, n), end: make([]float64, n)}
	for _, i := range c.order {
		if w[i].done {
			t.critical[i] = w[i].end
			continue
		}
		t.critical[i] = c.ready(t.critical, i, now) + w[i].duration
	}
	t.queued = slices.Clone(t.critical)
	if c.Slots > 0 {
		c.queue(w, now, t.queued)
	}
	for i := range w {
		if t.start[i], t.end[i] = w[i].start, w[i].end; !w[i].done {
			t.end[i] = max(t.critical[i], t.queued[i])
			t.start[i] = max(now, t.end[i]-w[i].duration)
		}
	}
	return t
}

// ready is when the parents of a stage have ended and it is submitted.
func (c *compiled) ready(end []float64, i int, now float64) float64 {
	at := now
	for _, p := range c.parents[i] {
		at = max(at, end[p]+submitSeconds)
	}
	return at
}

// queue fills in the ends of a list schedule on the slots: first in, first out by stage
// number as Spark's scheduler does it, without preemption; a stage takes all slots that
// are free, up to its width, and more as they become free.
func (c *compiled) queue(w []work, now float64, end []float64) {
	q := &queue{free: c.Slots, at: now}
	waits := make([]int, len(w))
	for i := range w {
		if w[i].done {
			continue
		}
		for _, p := range c.parents[i] {
			if !w[p].done {
				waits[i]++
			}
		}
		if waits[i] == 0 {
			heap.Push(&q.coming, event{at: c.ready(end, i, now), stage: i})
		}
	}
	for len(q.coming)+len(q.waiting)+len(q.running) > 0 {
		for _, i := range q.step(w) {
			end[i] = q.at
			for _, k := range c.children[i] {
				if waits[k]--; waits[k] == 0 && !w[k].done {
					heap.Push(&q.coming, event{at: c.ready(end, k, now), stage: k})
				}
			}
		}
	}
}

// queue is the state of the slots at one time.
type queue struct {
	at      float64
	free    int
	coming  events // by the time at which they may start
	waiting events // by number
	running []share
}

// share of the slots that a running stage has, and the task time that is left.
type share struct {
	stage, slots, width int
	left                float64
}

// step gives out slots, moves on to the next event, and returns the stages that end then.
func (q *queue) step(w []work) []int {
	for k := range q.running {
		q.grant(&q.running[k])
	}
	for q.free > 0 && len(q.waiting) > 0 {
		i := heap.Pop(&q.waiting).(event).stage //nolint:forcetypeassert // only events are in it
		s := share{stage: i, width: w[i].width, left: w[i].taskSeconds}
		q.grant(&s)
		q.running = append(q.running, s)
	}
	slices.SortFunc(q.running, func(a, b share) int { return a.stage - b.stage })
	next, first := -1.0, -1
	for k, s := range q.running {
		if at := q.at + s.left/float64(s.slots); first < 0 || at < next {
			next, first = at, k
		}
	}
	if len(q.coming) > 0 && (first < 0 || q.coming[0].at < next) {
		e := heap.Pop(&q.coming).(event) //nolint:forcetypeassert // only events are in it
		q.pass(max(e.at, q.at))
		heap.Push(&q.waiting, event{at: float64(e.stage), stage: e.stage})
		return nil
	}
	q.pass(next)
	q.running[first].left = 0 // whatever rounding left
	var ended []int
	q.running = slices.DeleteFunc(q.running, func(s share) bool {
		if s.left > 0 {
			return false
		}
		ended = append(ended, s.stage)
		q.free += s.slots
		return true
	})
	return ended
}

// grant gives a stage the free slots that it can use.
func (q *queue) grant(s *share) {
	more := q.free
	if s.width > 0 {
		more = min(more, s.width-s.slots)
	}
	s.slots += more
	q.free -= more
}

// pass moves the time on.
func (q *queue) pass(at float64) {
	for k := range q.running {
		s := &q.running[k]
		s.left = max(0, s.left-(at-q.at)*float64(s.slots))
	}
	q.at = at
}

// event of a stage; the least time comes first, then the least number.
type event struct {
	at    float64
	stage int
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].stage < e[j].stage
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(v any)   { *e = append(*e, v.(event)) } //nolint:forcetypeassert // only events
func (e *events) Pop() any {
	old := *e
	last := old[len(old)-1]
	*e = old[:len(old)-1]
	return last
}
