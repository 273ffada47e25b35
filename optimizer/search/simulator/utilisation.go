package simulator

import (
	"hash/fnv"
	"math"
	"math/rand/v2"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/optimizer/search"
)

// utilisationNoise is the standard deviation of a share of utilisation between runs.
const utilisationNoise = 0.03

// Utilisation is what a run of the workload on a configuration would measure. The
// share of the time that a resource is in use follows from the terms of the runtime:
// cores work in the parallel part, the network in the shuffle, disks where data does
// not fit; memory is the working set's part of what is usable. Of a share x the median
// is x, the 10th percentile x/2 and the 90th (1+x)/2.
func (w Workload) Utilisation(c search.Candidate, seed uint64) model.Metrics {
	seconds, _ := w.Runtime(c)
	nodes := float64(c.Configuration.ScaleOut)
	parallel := w.CoreSeconds / (nodes * c.Resources.VCPUs * CoreSpeed(c.Configuration.MachineType))
	shuffle := w.ShuffleSeconds / nodes
	spill := seconds - w.SerialSeconds - parallel - shuffle - w.SyncSeconds*math.Log2(nodes)
	usable := memoryFraction * nodes * c.Resources.MemoryGiB

	h := fnv.New64a()
	_, _ = h.Write([]byte(w.Identity() + "\x00utilisation\x00" + c.Configuration.String())) // never fails
	r := rand.New(rand.NewPCG(seed, h.Sum64()))
	of := func(share float64) *model.Percentiles {
		x := min(max(share+utilisationNoise*r.NormFloat64(), 0), 1)
		return &model.Percentiles{P10: x / 2, P50: x, P90: (1 + x) / 2}
	}
	return model.Metrics{
		CPU: of((parallel + spill) / seconds), Memory: of(w.WorkingSetGiB / usable),
		Disk: of(spill / seconds), Network: of(shuffle / seconds),
	}
}
