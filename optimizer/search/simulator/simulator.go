// Package simulator makes up workloads and how long they take, for the demo and
// for tests that need more runs than anybody measured.
//
// Nothing in it is a measurement, and no number from it says how good the search
// is on real jobs; whoever shows its runs must show [Notice] with them.
//
// The runtime of a workload on n nodes of c cores and m GiB is, in seconds,
//
//	serial + work/(n c v) + shuffle/n + sync log2(n) + spill
//
// where work is in core-seconds and proportional to the input, v is the speed of a
// core (see [CoreSpeed]), shuffle is the time that one node would need to move all
// shuffled data, sync is the cost of a barrier times the number of iterations, and
// spill is what recomputing costs where the working set W does not fit in the
// usable memory M = 0.6 n m:
//
//	spill = penalty (1 - M/W) work/(n c v)   if M < W, else 0
//
// A run fails where M is below a tenth of W. A measured runtime is this times
// exp(0.05 z), z standard normal. The first three terms are the scale-out model of
// Ernest (Venkataraman et al., NSDI 2016), 0.6 is Spark's spark.memory.fraction,
// and the cliff is what the search has to find.
package simulator

import (
	"hash/fnv"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/optimizer/search"
)

// Notice is to be shown wherever simulated runs are.
const Notice = "These runs are simulated by a formula, not measured."

const (
	// memoryFraction of a node's memory holds data (Spark's default).
	memoryFraction = 0.6
	// failBelow is the share of the working set that must fit for a run to end.
	failBelow = 0.1
	// noiseSD is of log runtime; repeated cloud runs scatter by some 5%.
	noiseSD = 0.05
	// networkSecondsPerGiB is the time of one node to send a GiB at 5 Gbit/s and
	// read it back from disk.
	networkSecondsPerGiB = 3
)

// Workload is a made-up job. Its fields are the formula's terms.
type Workload struct {
	model.Workload
	// SerialSeconds do not shrink with nodes.
	SerialSeconds float64
	// CoreSeconds of parallel work.
	CoreSeconds float64
	// ShuffleSeconds that one node would need for all shuffled data.
	ShuffleSeconds float64
	// SyncSeconds a doubling of nodes.
	SyncSeconds float64
	// WorkingSetGiB should fit in memory.
	WorkingSetGiB float64
	// SpillPenalty is the added work where nothing fits, as a multiple of the work.
	SpillPenalty float64
}

// CoreSpeed is a core's speed relative to a general-purpose one: compute-optimised
// types (their names begin with c, or hold "highcpu") are taken as 15% faster.
func CoreSpeed(machineType string) float64 {
	m := strings.ToLower(machineType)
	if strings.HasPrefix(m, "c") || strings.Contains(m, "highcpu") {
		return 1.15
	}
	return 1
}

// Runtime returns the runtime without noise, in seconds. ok is false where the
// run fails for lack of memory; seconds is then the time until it does.
func (w Workload) Runtime(c search.Candidate) (seconds float64, ok bool) {
	nodes := float64(c.Configuration.ScaleOut)
	parallel := w.CoreSeconds / (nodes * c.Resources.VCPUs * CoreSpeed(c.Configuration.MachineType))
	seconds = w.SerialSeconds + parallel + w.ShuffleSeconds/nodes + w.SyncSeconds*math.Log2(nodes)
	usable := memoryFraction * nodes * c.Resources.MemoryGiB
	if usable < w.WorkingSetGiB {
		seconds += w.SpillPenalty * (1 - usable/w.WorkingSetGiB) * parallel
	}
	return seconds, usable >= failBelow*w.WorkingSetGiB
}

// Run returns one run with noise. It depends on the workload, the configuration
// and the seed only, so that the order of runs changes nothing.
func (w Workload) Run(c search.Candidate, seed uint64) model.Run {
	seconds, ok := w.Runtime(c)
	h := fnv.New64a()
	_, _ = h.Write([]byte(w.Identity() + "\x00" + c.Configuration.String())) // never fails
	z := rand.New(rand.NewPCG(seed, h.Sum64())).NormFloat64()
	r := model.Run{
		Workload: w.Workload, Configuration: c.Configuration, Outcome: model.OK,
		// Milliseconds, as a job history would have it.
		RuntimeSeconds: math.Round(1000*seconds*math.Exp(noiseSD*z)) / 1000,
	}
	if !ok {
		r.Outcome = model.Failed
	}
	return r
}

// Runs returns runs of every workload on perWorkload candidates drawn without
// replacement; 0 or more than there are takes all, in their order.
func Runs(workloads []Workload, candidates []search.Candidate, perWorkload int, seed uint64) []model.Run {
	var runs []model.Run
	for i, w := range workloads {
		draw := make([]int, len(candidates))
		for j := range draw {
			draw[j] = j
		}
		if perWorkload > 0 && perWorkload < len(candidates) {
			draw = rand.New(rand.NewPCG(seed, uint64(i))).Perm(len(candidates))[:perWorkload]
		}
		for _, j := range draw {
			runs = append(runs, w.Run(candidates[j], seed))
		}
	}
	return runs
}
