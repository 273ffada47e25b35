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

// Throughput fits the terms of the time of a step to the sizes that were measured so far,
// with the cap that is known from elsewhere. Each new report makes it another one.
func (s JobState) Throughput() (*throughput.Model, error) {
	servers := s.Plan.Servers.Replicas
	var samples []throughput.Sample
	for _, v := range s.Speeds {
		x := throughput.Sample{
			Setting:     s.Setting(v.Workers),
			StepSeconds: float64(v.Workers) / math.Exp(v.Log), Minutes: v.Minutes,
		}
		if s.Job.GlobalBatch > 0 {
			x.StepSeconds = 1 / math.Exp(v.Log)
		}
		samples = append(samples, x)
	}
	var prior throughput.Prior
	if s.Cap != nil {
		prior = throughput.CapPrior(s.Cap.Log+math.Log(float64(max(servers, 1))), s.Cap.SD, servers, s.Plan.Servers.Pod.CPU)
	}
	return throughput.Fit(s.Job.Mode, samples, prior)
}

// Setting of so many workers under the job's plan, for its [JobState.Throughput].
func (s JobState) Setting(workers int) throughput.Setting {
	x := throughput.Setting{
		Workers: workers, Servers: s.Plan.Servers.Replicas, WorkerCores: s.Plan.Workers.Pod.CPU, ServerCores: s.Plan.Servers.Pod.CPU,
		Batch: float64(s.Job.Batch),
	}
	if s.Job.GlobalBatch > 0 {
		x.Batch = float64(s.Job.GlobalBatch) / float64(max(workers, 1))
	}
	return x
}

// minSizes that were measured before a knee is told to others.
const minSizes = 2

// measured is the belief from the job's own speeds alone.
func (s *running) measured() throughput.Belief {
	own := running{JobState: s.JobState}
	own.Prior, own.Cap = throughput.Uniform(), nil
	return *own.posterior()
}
