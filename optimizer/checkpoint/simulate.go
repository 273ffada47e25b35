package checkpoint

import (
	"fmt"
	"math/rand/v2"
)

// Bounds of a simulation.
const (
	// MaxRuns bounds the runs, and maxFailures the failures of one run: a job whose
	// failures come faster than its work never ends.
	MaxRuns     = 1_000_000
	maxFailures = 1_000
)

// Simulation is the outcome of runs with failures.
type Simulation struct {
	Runs int
	// Failures is the mean number a run, Unfinished the share of runs that were given up
	// after a thousand.
	Failures, Unfinished float64
	// Seconds is the mean time of a run until it ends, LostSeconds the part of it that
	// repeated work, WriteSeconds that went into durable writes.
	Seconds, LostSeconds, WriteSeconds float64
}

// Simulate runs a job again and again under a policy. Failures strike the work that is
// being done; a failed job goes on at the point of the last step that was ready, and may
// fail again. Under laws that hold one failure (uniform, Weibull without a rate), a run
// fails exactly once. The same seed gives the same answer. Errors: ErrOption.
func Simulate(g *Graph, p Policy, f Failures, runs int, seed uint64) (Simulation, error) {
	if err := f.Validate(); err != nil {
		return Simulation{}, err
	}
	if runs < 1 || runs > MaxRuns {
		return Simulation{}, fmt.Errorf("%d runs: must be between 1 and %d: %w", runs, MaxRuns, ErrOption)
	}
	once := f.Law != Exponential && f.PerHour == 0 || f.Law == "" || f.Law == Uniform
	random := rand.New(rand.NewPCG(seed, 0x6b61726173750000))
	out := Simulation{Runs: runs}
	for range runs {
		point, durable, failures := 0.0, 0, 0
		elapsed, lost := p.WriteSeconds, 0.0
		for {
			left := g.end - point
			at, fails := g.end, false
			if !once || failures == 0 {
				at, fails = f.Draw(random.Float64(), left)
				at += point
			}
			if !fails {
				elapsed += left
				break
			}
			failures++
			elapsed += at - point
			for durable < len(p.Steps) && p.Steps[durable].Ready <= at {
				durable++
			}
			next := p.restart(durable, at)
			lost += at - next
			if point = next; failures == maxFailures {
				out.Unfinished++
				break
			}
		}
		out.Failures += float64(failures)
		out.Seconds += elapsed
		out.LostSeconds += lost
	}
	n := float64(runs)
	out.Failures /= n
	out.Unfinished /= n
	out.Seconds /= n
	out.LostSeconds /= n
	out.WriteSeconds = p.WriteSeconds
	return out, nil
}

// restart is the point at which a job goes on that failed at a time, with a number of
// steps ready. What goes before the first stage is done again.
func (p Policy) restart(ready int, at float64) float64 {
	if ready == 0 {
		return 0
	}
	return max(0, min(p.Steps[ready-1].RestartSeconds, at)-p.FirstSeconds)
}
