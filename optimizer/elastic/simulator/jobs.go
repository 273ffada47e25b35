package simulator

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// job is what arrives; the same for every arm of a seed.
type job struct {
	id     string
	truth  *truth
	arrive float64 // s
	// pushes that it needs in all.
	pushes float64
	oracle int // best static size, units
	// asked in units by a user as in the trace, informed by one who knows the job, with the
	// spread of real requests; over and under are twice and half of that.
	asked, informed, over, under int
	// memory of one worker at progress 0 and 1, and what the user asks for, bytes.
	memoryStart, memoryEnd, memoryAsked float64
	// evictions are seconds after the start; hot is the progress from which the server
	// is hot, 2 is never.
	evictions []float64
	hot       float64
	// noise is the factor on step times by the minute; signal of the server's use is what
	// rules see of it, as a share.
	noise  []float64
	signal float64
}

// Kappa of the oracle: as that of elastic.DefaultPolicy.
const oracleKappa = .25

// newJobs draws jobs. Load is the demand at the oracle's sizes over what the cluster has
// in the time of the arrivals.
func newJobs(curves []*truth, trace *Trace, seed uint64, n, units int, load float64) []*job {
	r := rand.New(rand.NewPCG(seed, 7))
	jobs := make([]*job, n)
	var demand float64 // unit-seconds
	for i := range jobs {
		j := draw(r, curves, trace)
		j.id = fmt.Sprintf("job-%03d", i)
		demand += float64(j.oracle) * j.pushes / j.truth.pushes[j.oracle]
		jobs[i] = j
	}
	for i, at := range arrivals(r, trace, n, demand/(float64(units)*load)) {
		jobs[i].arrive = at
	}
	return jobs
}

func draw(r *rand.Rand, curves []*truth, trace *Trace) *job {
	t := curves[r.IntN(len(curves))]
	j := &job{truth: t, oracle: t.best(oracleKappa), hot: 2}
	j.pushes = trace.Lengths[r.IntN(len(trace.Lengths))] * t.pushes[j.oracle]
	// One pod's requests stand for the user's habits, in cores and in memory.
	pod, pods := r.IntN(len(trace.Cores)), podsAsked[r.IntN(len(podsAsked))]
	spread := trace.Cores[pod] / trace.usualCores
	ask := func(units float64) int { return min(max(int(math.Round(units)), minUnits), maxUnits) }
	j.asked, j.informed = ask(pods*trace.Cores[pod]/coresPerUnit), ask(float64(j.oracle)*spread)
	j.over, j.under = ask(2*float64(j.oracle)*spread), ask(.5*float64(j.oracle)*spread)
	j.memoryEnd = memoryBase(t.Network) * math.Exp(memorySpread*r.NormFloat64())
	j.memoryStart = j.memoryEnd * (startLeast + (startMost-startLeast)*r.Float64())
	if r.Float64() < steepShare {
		j.memoryStart = steepStart * j.memoryEnd
	}
	// Users know what the network needs, not what this job needs.
	j.memoryAsked = memoryAsked * memoryBase(t.Network) * trace.Memory[pod]
	for at := evictionEvery * r.ExpFloat64(); at < deadHours*3600; at += evictionEvery * r.ExpFloat64() {
		j.evictions = append(j.evictions, at)
	}
	if r.Float64() < hotShare {
		j.hot = .8 * r.Float64()
	}
	sequences := trace.Async
	if t.Mode == "sync" {
		sequences = trace.Sync
	}
	noise := sequences[r.IntN(len(sequences))]
	at := r.IntN(len(noise))
	j.noise = slices.Concat(noise[at:], noise[:at])
	j.signal = .5 + .5*r.Float64()
	return j
}

// arrivals are n real ones in a row, stretched to the span in seconds.
func arrivals(r *rand.Rand, trace *Trace, n int, span float64) []float64 {
	for {
		from := r.IntN(len(trace.Arrivals) - n)
		window := trace.Arrivals[from : from+n]
		length := window[n-1] - window[0]
		if length <= 0 {
			continue // all at once: there is nothing to stretch
		}
		out := make([]float64, n)
		for i, at := range window {
			out[i] = (at - window[0]) / length * span
		}
		return out
	}
}

// memory of one worker at a progress, in bytes.
func (j *job) memory(progress float64) float64 {
	return j.memoryStart + (j.memoryEnd-j.memoryStart)*progress
}
