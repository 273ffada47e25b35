package search

import (
	"fmt"
	"math"
	"slices"

	"github.com/karasu-project/karasu/model"
)

const (
	// runNoiseSD is the assumed standard deviation of the log runtime of one run:
	// about 10%, which is what repeated runs on public clouds show.
	runNoiseSD = 0.1
	// noiseWeight is how many runs the assumption of runNoiseSD counts for once
	// repeated runs of a configuration show their own spread.
	noiseWeight = 4
	// outlierBound is the deviation of a log runtime from the median of all
	// configurations beyond which it is cut: e^4 = 55 times. Memory cliffs in the
	// public tables reach a factor of 25, so they pass untouched.
	outlierBound = 4
	// failureFactor is the probability that a candidate succeeds that has at most
	// the memory of one that failed. Most failures of a profiling run that
	// concern the configuration are for memory.
	failureFactor = 0.3
)

// history is what the observations say, one entry a configuration.
type history struct {
	// points are the configurations with a runtime, by first observation.
	points []point
	// tried has one entry a candidate: it was observed, whatever the outcome.
	tried []bool
	// success has one entry a candidate: the factor in (0, 1] by which failures
	// of configurations with more memory make it less likely to finish.
	success []float64
	// runs counts observations, configurations outside the candidates included.
	runs int
}

// point aggregates the runs of one configuration that have a runtime.
type point struct {
	// candidate is the index into Problem.Candidates; -1 for a configuration
	// that is not a candidate today.
	candidate     int
	configuration model.Configuration
	resources     model.Resources
	// logRuntime is the median of ln(seconds), outliers cut.
	logRuntime float64
	// noiseVar is the variance of logRuntime as a measurement.
	noiseVar float64
	runs     int
	// timedOut says that at least half of the runs were stopped: logRuntime is a
	// lower bound, and the configuration is not valid.
	timedOut bool
}

// meets says whether the point is a valid answer under a limit in log seconds
// (+Inf for none).
func (p *point) meets(limit float64) bool { return !p.timedOut && p.logRuntime <= limit }

// newHistory aggregates observations in the order they were made. It refuses
// runtimes that are not finite and positive ([model.ErrInvalid]).
//
// A configuration with more failures than results counts as tried and has no
// point. With as many results as failures, the results are used.
func newHistory(p *Problem, observed []Observation) (*history, error) {
	index := make(map[model.Configuration]int, len(p.Candidates))
	for i := len(p.Candidates) - 1; i >= 0; i-- {
		index[p.Candidates[i].Configuration] = i
	}
	type group struct {
		point
		logs             []float64
		failed, timeouts int
	}
	var order []*group
	groups := map[model.Configuration]*group{}
	for i, o := range observed {
		if err := validateObservation(o); err != nil {
			return nil, fmt.Errorf("run %d on %s: %w", i+1, o.Configuration, err)
		}
		g := groups[o.Configuration]
		if g == nil {
			g = &group{point: point{candidate: -1, configuration: o.Configuration, resources: o.Resources}}
			if c, ok := index[o.Configuration]; ok {
				g.candidate, g.resources = c, p.Candidates[c].Resources
			} else if err := o.Resources.Validate(); err != nil {
				return nil, fmt.Errorf("run %d on %s, which is no candidate: %w", i+1, o.Configuration, err)
			}
			groups[o.Configuration] = g
			order = append(order, g)
		}
		if o.Outcome == model.Failed {
			g.failed++
			continue
		}
		if o.Outcome == model.Timeout {
			g.timeouts++
		}
		g.logs = append(g.logs, math.Log(o.RuntimeSeconds))
	}

	h := &history{tried: make([]bool, len(p.Candidates)), success: make([]float64, len(p.Candidates)), runs: len(observed)}
	var failed, succeeded []*point
	for _, g := range order {
		if g.candidate >= 0 {
			h.tried[g.candidate] = true
		}
		if g.failed > len(g.logs) {
			failed = append(failed, &g.point)
			continue
		}
		g.logRuntime, g.noiseVar = combine(g.logs)
		if g.timeouts == len(g.logs) { // the longest says the most
			g.logRuntime, g.noiseVar = slices.Max(g.logs), runNoiseSD*runNoiseSD
		}
		g.runs = len(g.logs)
		g.timedOut = 2*g.timeouts >= len(g.logs)
		if !g.timedOut {
			succeeded = append(succeeded, &g.point)
		}
		h.points = append(h.points, g.point)
	}
	boundOutliers(h.points)
	for i := range p.Candidates {
		h.success[i] = successFactor(&p.Candidates[i], failed, succeeded)
	}
	return h, nil
}

func validateObservation(o Observation) error {
	if err := o.Configuration.Validate(); err != nil {
		return err
	}
	switch o.Outcome {
	case model.OK, model.Timeout:
		return model.ValidateSeconds("runtime", o.RuntimeSeconds)
	case model.Failed:
		if o.RuntimeSeconds == 0 {
			return nil
		}
		return model.ValidateSeconds("runtime", o.RuntimeSeconds)
	}
	return fmt.Errorf("outcome must be ok, failed or timeout: %w", model.ErrInvalid)
}

// combine returns the median of n >= 1 log runtimes and its variance: that of one
// run, as their spread corrects it, over n. Spread is measured around the median
// and cut at outlierBound.
func combine(logs []float64) (center, variance float64) {
	center = median(logs)
	sum := noiseWeight * runNoiseSD * runNoiseSD
	for _, y := range logs {
		d := min(math.Abs(y-center), outlierBound)
		sum += d * d
	}
	n := float64(len(logs))
	return center, sum / (noiseWeight + n - 1) / n
}

// boundOutliers cuts log runtimes to within outlierBound of their median, and
// widens the noise of those by what was cut: their direction is believed, their
// size is not.
func boundOutliers(points []point) {
	if len(points) < 3 { // with two there is no telling which one is odd
		return
	}
	logs := make([]float64, len(points))
	for i := range points {
		logs[i] = points[i].logRuntime
	}
	m := median(logs)
	for i := range points {
		p := &points[i]
		cut := math.Abs(p.logRuntime-m) - outlierBound
		if cut <= 0 {
			continue
		}
		p.logRuntime = m + math.Copysign(outlierBound, p.logRuntime-m)
		p.noiseVar += min(cut*cut, outlierBound*outlierBound)
	}
}

// successFactor multiplies failureFactor for every failed configuration that has
// at least the candidate's memory, a node and in total, unless one that succeeded
// shows that less is enough.
func successFactor(c *Candidate, failed, succeeded []*point) float64 {
	holds := func(p *point, nodes, gib float64) bool { // p has at most this much memory
		return p.resources.MemoryGiB <= gib && p.resources.MemoryGiB*float64(p.configuration.ScaleOut) <= gib*nodes
	}
	nodes, gib := float64(c.Configuration.ScaleOut), c.Resources.MemoryGiB
	for _, s := range succeeded {
		if holds(s, nodes, gib) {
			return 1
		}
	}
	f := 1.0
	for _, p := range failed {
		if gib <= p.resources.MemoryGiB && gib*nodes <= p.resources.MemoryGiB*float64(p.configuration.ScaleOut) {
			f *= failureFactor
		}
	}
	return max(f, 1e-6)
}

// median returns the middle of n >= 1 values, the mean of the two middle ones
// where n is even.
func median(values []float64) float64 {
	v := slices.Clone(values)
	slices.Sort(v)
	n := len(v)
	if n%2 == 1 {
		return v[n/2]
	}
	return v[n/2-1] + (v[n/2]-v[n/2-1])/2
}
