package elastic

import (
	"math"

	"github.com/karasu-project/karasu/model/throughput"
)

// summary is what others can learn from the job.
func (s *running) summary() Summary {
	j := s.Job
	out := Summary{
		Own: true, Topic: j.Topic, MachineType: j.MachineType, Mode: j.Mode, Batch: j.Batch, GlobalBatch: j.GlobalBatch,
		WorkerCores: j.Current.Workers.Pod.CPU, Workers: s.Plan.Workers.Replicas, Servers: s.Plan.Servers.Replicas,
		WorkerMemory: s.Workers.Use.Most, ServerMemory: s.Servers.Use.Most, Reports: s.Reports,
	}
	if len(s.Speeds) < minSizes {
		return out // one size says nothing of the knee
	}
	// Without the prior: what others said must not come back as a measurement.
	b := s.measured()
	knee, sd := b.LogKnee()
	out.Knee, out.KneeSD = math.Exp(knee), sd
	if log, sd, ok := b.LogCap(); ok && j.Mode.Servers() {
		out.Cap, out.CapSD = math.Exp(log)/float64(max(s.Plan.Servers.Replicas, 1)), sd
	}
	return out
}

// minSizes that were measured before a knee is told to others.
const minSizes = 2

// measured is the belief from the job's own speeds alone.
func (s *running) measured() throughput.Belief {
	own := running{JobState: s.JobState}
	own.Prior, own.Cap = throughput.Uniform(), nil
	return *own.posterior()
}
