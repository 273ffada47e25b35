package simulator

import "math"

// rules are those of DLRover's Brain for workers of parameter-server training
// (job_worker_resource_optimizer), which has no model of throughput: while the busiest
// server uses less than 80% of its cores and speed has not dropped, workers become as
// many as would use 80%, at first at once and then by steps of at most 4; 4 less where a
// server uses 95%. Memory is 1.2 times the most used, twice the limit after it ran out,
// and hot servers get more cores. A worker is a unit.
type rules struct {
	// noisy says that the servers' use is seen as a share of the truth.
	noisy bool
	jobs  map[*active]*ruled
}

// ruled is what the rules remember of a job.
type ruled struct {
	// speed and minutes are summed at this size, before is the mean at the size before.
	speed, minutes, before float64
	changes                int
	decided                float64
	used                   float64 // most memory
	hot                    int
}

const (
	firstUnits   = 1
	overload     = .8
	exhausted    = .95
	rulesStep    = 4
	decelerated  = .1
	rulesEvery   = 300. // s between decisions
	rulesMinutes = 5    // of samples before a change
	rulesMargin  = 1.2
	rulesAfter   = 2.
	rulesHot     = 5 // reports
)

func newRules(noisy bool) *rules { return &rules{noisy: noisy, jobs: map[*active]*ruled{}} }

func (r *rules) start(w *world, a *active) (int, float64, bool) {
	if w.free() < firstUnits {
		return 0, 0, false
	}
	r.jobs[a] = &ruled{decided: w.now}
	return firstUnits, a.memoryAsked, true
}

func (r *rules) observe(w *world, a *active) {
	s := r.jobs[a]
	s.used = max(s.used, a.used)
	if a.ran == tick && a.units == a.next && a.returned <= w.now {
		s.speed += a.speed
		s.minutes++
	}
	if a.hotNow && !a.hotFixed {
		if s.hot++; s.hot >= rulesHot {
			a.hotFixed = true
		}
	}
}

func (r *rules) decide(w *world) {
	for _, a := range w.running {
		s := r.jobs[a]
		if s.minutes < rulesMinutes || w.now-s.decided < rulesEvery || a.units != a.next {
			continue
		}
		s.decided = w.now
		a.memory = rulesMargin * s.used
		speed := s.speed / s.minutes
		use := min(speed/a.truth.most, 1)
		if r.noisy {
			use *= a.signal
		}
		target := a.units
		switch {
		case use >= exhausted && a.units > rulesStep:
			target -= rulesStep
		case use < overload && speed > (1-decelerated)*s.before:
			target = int(math.Ceil(float64(a.units) * overload / use))
			if s.changes > 0 {
				target = min(target, a.units+rulesStep)
			}
		}
		target = min(target, maxUnits, a.units+w.free())
		if target != a.units {
			s.before, s.speed, s.minutes = speed, 0, 0
			s.changes++
			w.resize(a, target)
		}
	}
}

func (r *rules) outOfMemory(_ *world, a *active) (float64, bool) { return rulesAfter * a.memory, true }

func (r *rules) done(_ *world, a *active) { delete(r.jobs, a) }
