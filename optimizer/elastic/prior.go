package elastic

import (
	"math"
	"slices"
	"strconv"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/model/throughput"
)

// Whose history a prior rests on.
const (
	fromNobody = "nobody's history"
	fromOthers = "the history of other training models"
	fromPeers  = "peers' history of the training model"
	fromOwn    = "own history of the training model"
)

// Widths of the kernel around knees of other jobs, in the logarithm, and the share that
// stays uniform: of jobs of other training models and of the same one. A point estimate
// lost to rules without any model.
const (
	othersWidth, othersUniform = .7, .5
	sameWidth, sameUniform     = .5, .25
	// nearness is what a step between machine types, a factor of two in cores, weighs;
	// batchStep is the factor of batches that counts as one.
	nearness  = 1. / 3
	batchStep = 16
)

// prior is what is known of a job before it runs.
type prior struct {
	weights throughput.Weights
	history string
	// jobs that it rests on; the others are not like it.
	jobs []Summary
	// most units at the start.
	most float64
	cap  *KnownCap
}

// prior finds the jobs that tell most of this one: own ones of the training model,
// then peers', then any of the same mode.
func (c *Controller) prior(j Job, k Knowledge) prior {
	var own, peers, others []Summary
	for _, s := range k.Jobs {
		switch same := s.Topic.Framework == j.Topic.Framework && s.Topic.Algorithm == j.Topic.Algorithm; {
		case s.Mode != j.Mode || (s.GlobalBatch > 0) != (j.GlobalBatch > 0):
		case same && s.Own:
			own = append(own, s)
		case same:
			peers = append(peers, s)
		default:
			others = append(others, s)
		}
	}
	caps := fitCaps(j, k)
	p := prior{weights: throughput.Uniform(), history: fromNobody, most: c.policy.StartAlone, cap: knownCap(j, caps)}
	var width, uniform float64
	switch {
	case len(own) > 0:
		p.jobs, p.history, p.most, width, uniform = own, fromOwn, c.policy.StartOwn, sameWidth, sameUniform
	case len(peers) > 0:
		p.jobs, p.history, p.most, width, uniform = peers, fromPeers, c.policy.StartPeers, sameWidth, sameUniform
	case len(others) > 0:
		// Their sizes tell too little to start with.
		p.jobs, p.history, width, uniform = others, fromOthers, othersWidth, othersUniform
	default:
		return p
	}
	var known []throughput.Known
	same := 1. // and the own jobs that were the same as this one
	for _, s := range p.jobs {
		d := s.distance(j)
		if s.Own && d == 0 && s.Knee > 0 {
			same++
		}
		known = append(known, throughput.Known{Knee: s.Knee * carried(s, j, caps), Weight: math.Pow(nearness, d) / (1 + s.KneeSD)})
	}
	p.weights = throughput.Around(known, width, uniform/same)
	if p.weights == throughput.Uniform() || !p.reaches(j) {
		p.most = c.policy.StartAlone
	}
	return p
}

// reaches says whether knees of other jobs can be relied on to start with: they ran on
// this machine type, or it is known what a server here takes of the training model.
func (p prior) reaches(j Job) bool {
	if p.cap != nil || !j.Mode.Servers() || j.MachineType == "" {
		return true
	}
	return slices.ContainsFunc(p.jobs, func(s Summary) bool { return s.MachineType == j.MachineType || s.MachineType == "" })
}

// distance of a job's machine type and batch, in steps.
func (s Summary) distance(j Job) float64 {
	var d float64
	cores := j.Current.Workers.Pod.CPU
	switch {
	case s.MachineType != "" && s.MachineType == j.MachineType:
	case s.WorkerCores > 0 && cores > 0:
		d += max(math.Abs(math.Log2(s.WorkerCores/cores)), .5)
	default:
		d++
	}
	if s.Batch > 0 && j.Batch > 0 {
		d += math.Abs(math.Log(float64(s.Batch)/float64(j.Batch))) / math.Log(batchStep)
	}
	return d
}

// carried is what a knee in units is multiplied by on the machine type of this job. A
// worker's own time for a step is inversely proportional to its cores, so that knees in
// cores are proportional to the cap.
func carried(s Summary, j Job, caps *throughput.Caps) float64 {
	if log, ok := caps.Between(s.MachineType, j.MachineType); ok {
		return math.Exp(log)
	}
	return 1
}

// fitCaps fits the caps of jobs and the factors of machine types in the job's mode.
func fitCaps(j Job, k Knowledge) *throughput.Caps {
	var caps []throughput.Cap
	for _, s := range k.Jobs {
		if s.Mode == j.Mode && s.Cap > 0 && s.MachineType != "" {
			caps = append(caps, throughput.Cap{Row: modelRow(s.Topic), MachineType: s.MachineType, Log: math.Log(s.Cap), SD: s.CapSD})
		}
	}
	for i, author := range k.Factors {
		for _, f := range author {
			if f.Mode == j.Mode {
				caps = append(caps, throughput.Cap{Row: authorRow(i), MachineType: f.MachineType, Log: f.Log, SD: f.SD})
			}
		}
	}
	return throughput.FitCaps(j.Mode, caps)
}

// knownCap carries caps of the training model over to one server of this job.
func knownCap(j Job, caps *throughput.Caps) *KnownCap {
	if j.GlobalBatch > 0 || !j.Mode.Servers() {
		return nil
	}
	log, sd, ok := caps.Predict(modelRow(j.Topic), j.MachineType)
	if !ok {
		return nil
	}
	return &KnownCap{Log: log, SD: sd}
}

// modelRow names a training model, wherever it ran.
func modelRow(t model.Topic) string { return "model/" + t.Framework + "/" + t.Algorithm }

func authorRow(i int) string { return "author/" + strconv.Itoa(i) }
