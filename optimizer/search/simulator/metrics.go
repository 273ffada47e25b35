package simulator

import (
	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/optimizer/search"
)

const (
	// usageSpread is how far the 10th and 90th percentiles of a resource's utilisation
	// are from the median, relative to it.
	usageSpread = 0.15
	// systemMemory is the share of a node's memory that is taken without a job.
	systemMemory = 0.1
)

// Metrics returns what each node's resources are busy with during a run, without noise:
// cores during the parallel part, memory by the working set beside what the system takes,
// the network while data is shuffled, and the disk while what does not fit is spilled.
func (w Workload) Metrics(c search.Candidate) model.Metrics {
	seconds, _ := w.Runtime(c)
	nodes := float64(c.Configuration.ScaleOut)
	parallel := w.CoreSeconds / (nodes * c.Resources.VCPUs * CoreSpeed(c.Configuration.MachineType))
	gib := nodes * c.Resources.MemoryGiB
	spilled := 0.
	if usable := memoryFraction * gib; usable < w.WorkingSetGiB {
		spilled = w.SpillPenalty * (1 - usable/w.WorkingSetGiB) * parallel
	}
	return model.Metrics{
		CPU:     usage(parallel / seconds),
		Memory:  usage(systemMemory + w.WorkingSetGiB/gib),
		Disk:    usage(spilled / seconds),
		Network: usage(w.ShuffleSeconds / nodes / seconds),
	}
}

func usage(share float64) *model.Percentiles {
	at := func(factor float64) float64 { return min(max(share*factor, 0), 1) }
	return &model.Percentiles{P10: at(1 - usageSpread), P50: at(1), P90: at(1 + usageSpread)}
}
