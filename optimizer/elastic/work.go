package elastic

import (
	"math"
	"slices"
	"time"

	"github.com/karasu-project/karasu/model/throughput"
)

// unknownLeft is the least work that a job of unknown length is taken to have left;
// otherwise as much as it has run: what lasted long tends to last long.
const unknownLeft = time.Hour

// posterior is the belief of the job's knee from its reports.
func (s *running) posterior() *throughput.Belief {
	if s.believed == s.Reports+1 {
		return &s.belief
	}
	points := make([]throughput.Point, 0, len(s.Speeds))
	for _, v := range s.Speeds {
		points = append(points, throughput.Measured(s.Job.units(v.Workers), v.Log, v.Minutes))
	}
	s.belief, s.believed = throughput.Posterior(s.Job.law(), s.Prior, points), s.Reports+1
	if s.Cap != nil {
		s.belief.Tell(s.Cap.Log+math.Log(float64(max(s.Plan.Servers.Replicas, 1))), s.Cap.SD)
	}
	s.curve(points)
	return &s.belief
}

// curve fills in the log speeds of the ladder: by the belief, and where a size was
// measured, by what was measured.
func (s *running) curve(points []throughput.Point) {
	ladder := s.rungs()
	s.logs = slices.Grow(s.logs[:0], len(ladder.Units))
	for i := range ladder.Units {
		s.logs = append(s.logs, ladder.LogSpeed(&s.belief, i))
	}
	for k, r := range s.belief.Residuals(points) {
		if i, ok := slices.BinarySearch(s.sizes, s.Speeds[k].Workers); ok {
			s.logs[i] += r
		}
	}
}

// log speed at the i-th size, up to a constant.
func (s *running) log(i int) float64 {
	s.posterior()
	return s.logs[i]
}

// largest is the most units that were measured.
func (s *running) largest() float64 {
	var most int
	for _, v := range s.Speeds {
		most = max(most, v.Workers)
	}
	return s.Job.units(most)
}

// pushesLeft is the work left; false where it is not known.
func (s *running) pushesLeft() (float64, bool) {
	j, r := s.Job, s.Last
	if r == nil {
		return 0, false
	}
	progress, known := s.progress(*r)
	switch done := progress - s.FirstProgress; {
	case !known:
		return 0, false
	case j.TotalSamples > 0 && r.Samples > 0 && j.batch() > 0:
		return max(j.TotalSamples-r.Samples, 0) / j.batch(), true
	case j.TotalSteps > 0 && (j.Mode == Async || j.GlobalBatch > 0):
		return float64(max(j.TotalSteps-r.Step, 0)), true
	case s.Pushes > 0 && done > minDone:
		return (1 - progress) * s.Pushes / done, true
	case j.TotalSteps > 0:
		return float64(max(j.TotalSteps-r.Step, 0)) * float64(max(r.Workers, 1)), true
	}
	return 0, false
}

// minDone of a job before its pace is known.
const minDone = .005

// secondsLeft at the i-th size of the ladder, and whether the job's length is known.
func (s *running) secondsLeft(now time.Time, i int) (seconds float64, known bool) {
	b, ladder := s.posterior(), s.rungs()
	if left, ok := s.pushesLeft(); ok {
		if log, _, ok := b.LogSpeed(ladder.Units[i]); ok {
			return min(left/math.Exp(log+s.log(i)-ladder.LogSpeed(b, i)), maxSeconds), true
		}
	}
	ran := max(now.Sub(s.Started), unknownLeft).Seconds()
	return ran * math.Exp(s.log(s.rung())-s.log(i)), false
}

// rung is where the plan is on the ladder: the largest size that is not above it.
func (s *running) rung() int {
	at := 0
	for i, n := range s.sizes {
		if n <= s.Plan.Workers.Replicas {
			at = i
		}
	}
	return at
}

// cores of so many workers.
func (s *running) cores(workers int) float64 { return s.Job.units(workers) * UnitCores }

// serverCores of the plan, as far as known.
func (s *running) serverCores() float64 {
	p := s.Plan
	p.Workers = Group{}
	return p.Cores()
}
