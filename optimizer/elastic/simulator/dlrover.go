package simulator

import "math"

// rules are those of DLRover's open optimiser, which has no model of throughput: workers
// are added in proportion to what the parameter servers have left of 80% of their
// cores, and taken back if the speed did not rise; memory follows the most used; hot
// servers get more cores. Constants are those of its documents, in units of 8 cores.
type rules struct {
	// noisy says that the servers' use is seen as a share of the truth.
	noisy bool
	jobs  map[*active]*ruled
}

type ruled struct {
	speed, minutes float64 // sum of speeds and minutes at this size
	before         float64 // speed at the size before
	from           int     // that size; 0 before the first change
	settled        bool
	used           float64 // most memory
	hot            int
	decided        float64
}

const (
	overload     = .8   // of the servers' cores
	rulesEvery   = 300. // s between changes
	rulesMargin  = 1.4  // of memory over the most used
	rulesOOM     = 2.   // factor after memory ran out
	worthwhile   = 1.05 // speed after adding workers, at least
	rulesMinutes = 3    // of samples before a change
	rulesHot     = 5    // reports
	asked        = 1    // units at the start
)

func newRules(noisy bool) *rules { return &rules{noisy: noisy, jobs: map[*active]*ruled{}} }

func (r *rules) start(w *world, a *active) (int, float64, bool) {
	if w.free() < asked {
		return 0, 0, false
	}
	r.jobs[a] = &ruled{decided: w.now}
	return asked, a.memoryAsked, true
}

func (r *rules) observe(_ *world, a *active) {
	s := r.jobs[a]
	s.used = max(s.used, a.used)
	if a.ran == tick && a.units == a.next && a.evicted == 0 {
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
		if s.minutes >= rulesMinutes && math.Mod(w.now, rulesEvery) < interval {
			a.memory = max(rulesMargin*s.used, 1)
		}
		if s.settled || s.minutes < rulesMinutes || w.now-s.decided < rulesEvery || a.units != a.next {
			continue
		}
		speed := s.speed / s.minutes
		if s.from > 0 && a.units > s.from && speed < worthwhile*s.before {
			s.settled, s.decided = true, w.now
			w.resize(a, s.from)
			continue
		}
		use := min(speed/a.truth.most, 1)
		if r.noisy {
			use *= a.signal
		}
		target := min(int(math.Round(float64(a.units)*overload/use)), maxUnits, a.units+w.free())
		if use < overload && target > a.units {
			s.from, s.before, s.decided = a.units, speed, w.now
			s.speed, s.minutes = 0, 0
			w.resize(a, target)
		}
	}
}

func (r *rules) outOfMemory(_ *world, a *active) (float64, bool) { return rulesOOM * a.memory, true }

func (r *rules) done(_ *world, a *active) { delete(r.jobs, a) }
