package replay

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/karasu-project/karasu/model/throughput"
)

// Protocols: which points of a curve are seen.
const (
	// Smallest sees the smallest numbers of workers.
	Smallest = "smallest"
	// Random sees points drawn at random.
	Random = "random"
	// Pooled sees points drawn at random from all batch sizes together.
	Pooled = "pooled"
)

// Priors.
const (
	NoPrior = "none"
	// CapPrior is the cap that other curves tell: of the same network and mode on other
	// machine types, and of other networks on this one. Nothing of the network in this
	// mode on this machine type is in it.
	CapPrior = "cap"
)

// All stands for all jobs, and Larger and Small for two machine types each.
const (
	All    = "all"
	Larger = "t2.xlarge and larger"
	Small  = "t2.medium and smaller"
)

// draws of random points from each curve.
const draws = 40

// trial is one way to predict.
type trial struct {
	protocol, prior string
	points          int
}

// trials in the order of the report.
var trials = []trial{
	{Smallest, NoPrior, 2}, {Smallest, NoPrior, 3}, {Smallest, NoPrior, 5},
	{Smallest, CapPrior, 1}, {Smallest, CapPrior, 2}, {Smallest, CapPrior, 3},
	{Random, NoPrior, 3}, {Random, NoPrior, 5},
	{Pooled, NoPrior, 3}, {Pooled, NoPrior, 5}, {Pooled, NoPrior, 8},
}

// Run predicts every curve by every protocol. Errors are of speeds at the numbers of
// workers that were not seen. The seed draws the random points.
func Run(curves []Curve, seed uint64) ([]Row, error) {
	s := &scores{}
	caps, err := fitted(curves)
	if err != nil {
		return nil, err
	}
	for _, t := range trials {
		groups := single(curves)
		if t.protocol == Pooled {
			groups = pooled(curves)
		}
		for _, g := range groups {
			if err := s.try(t, g, caps, rand.New(rand.NewPCG(seed, 1))); err != nil {
				return nil, fmt.Errorf("%s on %s: %w", g.job, g.machineType, err)
			}
		}
	}
	return s.rows(), nil
}

// group is the curves that are predicted together.
type group struct {
	job, machineType string
	row              string
	mode             throughput.Mode
	samples          []throughput.Sample
}

func single(curves []Curve) []group {
	var out []group
	for _, c := range curves {
		out = append(out, group{c.Job(), c.MachineType, c.row(), c.Mode, c.samples()})
	}
	return out
}

func pooled(curves []Curve) []group {
	var out []group
	for _, c := range curves {
		i := slices.IndexFunc(out, func(g group) bool { return g.job == c.row() && g.machineType == c.MachineType })
		if i < 0 {
			out = append(out, group{c.row(), c.MachineType, c.row(), c.Mode, nil})
			i = len(out) - 1
		}
		out[i].samples = append(out[i].samples, c.samples()...)
	}
	return out
}

// row of the table of caps: they hardly depend on the batch.
func (c Curve) row() string { return fmt.Sprintf("%s/%s", c.Network, c.Mode) }

func (c Curve) samples() []throughput.Sample {
	var out []throughput.Sample
	for _, p := range c.Points {
		out = append(out, throughput.Sample{
			Setting: throughput.Setting{Workers: p.Workers, Servers: 1, WorkerCores: float64(c.Cores), Batch: float64(c.Batch)},
			// Runs took minutes; the number matters only beside a prior.
			StepSeconds: p.StepSeconds, Minutes: 5,
		})
	}
	return out
}

// modeCap is a cap in one mode.
type modeCap struct {
	mode throughput.Mode
	throughput.Cap
}

// fitted are the caps of all curves where a cap shows.
func fitted(curves []Curve) ([]modeCap, error) {
	var out []modeCap
	for _, c := range curves {
		m, err := throughput.Fit(c.Mode, c.samples(), throughput.Prior{})
		if err != nil {
			return nil, err
		}
		if log, sd, ok := m.LogCap(throughput.Setting{Workers: 1, Servers: 1, WorkerCores: float64(c.Cores), Batch: float64(c.Batch)}); ok {
			out = append(out, modeCap{c.Mode, throughput.Cap{Row: c.row(), MachineType: c.MachineType, Log: log, SD: sd}})
		}
	}
	return out, nil
}

// prior of a group from the caps of others.
func (g group) prior(caps []modeCap) throughput.Prior {
	var others []throughput.Cap
	for _, c := range caps {
		if c.mode == g.mode && !(c.Row == g.row && c.MachineType == g.machineType) {
			others = append(others, c.Cap)
		}
	}
	log, sd, ok := throughput.FitCaps(g.mode, others).Predict(g.row, g.machineType)
	if !ok {
		return throughput.Prior{}
	}
	return throughput.CapPrior(log, sd, 1, 0)
}

func (s *scores) try(t trial, g group, caps []modeCap, random *rand.Rand) error {
	n := len(g.samples)
	if n <= t.points {
		return nil
	}
	var prior throughput.Prior
	if t.prior == CapPrior {
		prior = g.prior(caps)
	}
	rounds := 1
	if t.protocol != Smallest {
		rounds = draws
	}
	for range rounds {
		order := make([]int, n)
		for i := range order {
			order[i] = i
		}
		if t.protocol != Smallest {
			order = random.Perm(n)
		}
		var seen []throughput.Sample
		for _, i := range order[:t.points] {
			seen = append(seen, g.samples[i])
		}
		m, err := throughput.Fit(g.mode, seen, prior)
		if err != nil {
			return err
		}
		for _, i := range order[t.points:] {
			x := g.samples[i]
			predicted, _ := m.StepSeconds(x.Setting)
			// The error of the speed, which is proportional to 1 / step.
			s.add(t, g, math.Abs(x.StepSeconds/predicted-1))
		}
	}
	return nil
}
