package simulator

import (
	"math"
)

// arm decides for jobs. Sizes are in units, memory in bytes of one worker.
type arm interface {
	// start plans a job that waits at the head of the queue, with so many units free and
	// so many jobs waiting behind it. It is false while the job must wait on.
	start(w *world, a *active) (size int, memory float64, ok bool)
	// observe is called after every tick of a job, decide every interval for all.
	observe(w *world, a *active)
	decide(w *world)
	// outOfMemory returns the memory that the job goes on with; false if it dies.
	outOfMemory(w *world, a *active) (memory float64, ok bool)
	// done is called when a job has completed.
	done(w *world, a *active)
}

// active is a job that runs.
type active struct {
	*job
	started float64
	// units that it has, and those that it will have at changeAt.
	units, next int
	changeAt    float64
	memory      float64
	// paused until then; fewer workers, by evicted units, until returned.
	paused, returned float64
	evicted          int
	pushed           float64
	used             float64 // bytes, at the last tick
	speed            float64 // pushes a second in the last tick while it ran
	ran              float64 // seconds of the last tick that it ran
	hotSince         float64
	hotNow, hotFixed bool
	changes          int
	nextEviction     int
}

// world is one simulation.
type world struct {
	now     float64
	units   int
	jobs    []*job
	queue   []*job
	running []*active
	arm     arm
	result  outcome
	// err ends the simulation: an arm was given what cannot be.
	err error
}

func (w *world) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

// outcome of one simulation.
type outcome struct {
	hours   []float64 // to completion, by job
	changes []float64
	dead    int
	// asked and used core-seconds (in units) and byte-seconds.
	cpuUsed, cpuAsked, memoryUsed, memoryAsked float64
}

// longestSimulation in seconds: no job takes that long, whatever happens.
const longestSimulation = 60 * 24 * 3600.

// play runs all jobs to their ends.
func play(jobs []*job, units int, a arm) (outcome, error) {
	w := &world{units: units, jobs: jobs, arm: a}
	next := 0
	for w.err == nil && w.now < longestSimulation && (next < len(jobs) || len(w.queue)+len(w.running) > 0) {
		for next < len(jobs) && jobs[next].arrive <= w.now {
			w.queue = append(w.queue, jobs[next])
			next++
		}
		w.admit()
		if math.Mod(w.now, interval) == 0 {
			w.arm.decide(w)
		}
		w.step()
		w.now += tick
	}
	return w.result, w.err
}

// free units.
func (w *world) free() int {
	free := w.units
	for _, a := range w.running {
		free -= max(a.units, a.next)
	}
	return free
}

// admit starts jobs in the order of their arrival while there is room.
func (w *world) admit() {
	for len(w.queue) > 0 {
		a := &active{job: w.queue[0], started: w.now}
		size, memory, ok := w.arm.start(w, a)
		if !ok {
			return
		}
		a.units, a.next, a.memory = size, size, memory
		a.paused = w.now + podStart + rendezvous
		w.running = append(w.running, a)
		w.queue = w.queue[1:]
	}
}

// resize begins a change of size: new pods start while the others work on.
func (w *world) resize(a *active, units int) {
	if units == a.next || a.next != a.units {
		return // nothing to do, or the last change is still under way
	}
	a.next, a.changeAt = units, w.now+podStart
	if units < a.units {
		a.changeAt = w.now
	}
	a.changes++
}

// step plays one tick of every job.
func (w *world) step() {
	kept := w.running[:0]
	for _, a := range w.running {
		if w.stepJob(a) {
			kept = append(kept, a)
		}
	}
	clear(w.running[len(kept):])
	w.running = kept
}

// stepJob plays one tick of a job and says whether it goes on.
func (w *world) stepJob(a *active) bool {
	end := w.now + tick
	if a.next != a.units && a.changeAt <= w.now {
		a.units = a.next
		a.paused = max(a.paused, w.now) + checkpoint + rendezvous
	}
	w.faults(a)
	share := a.evicted
	if a.returned <= w.now {
		share = 0
	}
	units := a.units - share
	a.ran = max(0, end-max(w.now, a.paused))
	if units <= 0 {
		a.ran = 0
	}
	pushes := 0.
	if a.ran > 0 {
		pushes = a.truth.pushes[units] / a.noise[int((w.now-a.started)/tick)%len(a.noise)]
		if a.hotNow && !a.hotFixed {
			pushes = min(pushes, hotFactor*a.truth.most)
		}
	}
	a.speed = pushes
	done := a.pushed+pushes*a.ran >= a.pushes
	if done {
		a.ran = (a.pushes - a.pushed) / pushes
	}
	a.pushed += pushes * a.ran
	a.used = a.job.memory(a.pushed / a.pushes)
	w.account(a, units, done)
	if a.used > a.memory {
		memory, ok := w.arm.outOfMemory(w, a)
		if !ok {
			w.result.dead++
			w.result.hours = append(w.result.hours, deadHours)
			w.result.changes = append(w.result.changes, float64(a.changes))
			return false
		}
		a.memory = memory
		a.pushed = max(0, a.pushed-lost*pushes)
		a.paused = end + podStart + rendezvous
		return true
	}
	if done {
		at := max(w.now, a.paused) + a.ran
		w.result.hours = append(w.result.hours, (at-a.arrive)/3600)
		w.result.changes = append(w.result.changes, float64(a.changes))
		w.arm.done(w, a)
		return false
	}
	w.arm.observe(w, a)
	return true
}

// faults begins and ends evictions and hot servers.
func (w *world) faults(a *active) {
	ran := w.now - a.started
	for a.nextEviction < len(a.evictions) && a.evictions[a.nextEviction] <= ran {
		a.nextEviction++
		a.evicted = int(math.Ceil(evictionShare * float64(a.units)))
		a.returned = w.now + podStart
		// Those that are left wait for each other, and again when the others are back.
		a.paused = max(a.paused, w.now+rendezvous) + rendezvous
	}
	if !a.hotNow && !a.hotFixed && a.pushed >= a.hot*a.pushes {
		a.hotNow, a.hotSince = true, w.now
	}
	if a.hotNow && w.now-a.hotSince >= hotFor {
		a.hotNow, a.hotFixed = false, true
	}
}

// account adds what the tick used and asked for.
func (w *world) account(a *active, units int, done bool) {
	seconds := tick
	if done {
		seconds = max(0, a.paused-w.now) + a.ran
	}
	asked := float64(max(a.units, a.next))
	w.result.cpuAsked += asked * seconds
	if units > 0 && a.ran > 0 {
		w.result.cpuUsed += float64(units) * a.truth.busy(units, a.speed) * a.ran
	}
	w.result.memoryAsked += asked * a.memory * seconds
	w.result.memoryUsed += float64(a.units) * min(a.used, a.memory) * seconds
}
