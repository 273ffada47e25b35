package checkpoint

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/karasu-project/karasu/model"
	optimizer "github.com/karasu-project/karasu/optimizer/checkpoint"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

// Objectives of checkpoints.
const (
	Storage = "storage"
	Restart = "restart"
	Mix     = "mix"
)

const (
	// defaultOverhead is the share of a job's time that writes may take: what the public
	// comparisons of restarts allow.
	defaultOverhead = .05
	// maxOverhead is ten times the job's time, which is no bound in practice.
	maxOverhead = 10
	// defaultWeight of storage in a mix.
	defaultWeight = .5
	// maxNames bounds the hosts and stages that a goal names.
	maxNames = 1000
)

// goal is a validated [karasuv1.CheckpointGoal] with its defaults.
type goal struct {
	message *karasuv1.CheckpointGoal
	failure failure
}

// newGoal validates and fills in what is not given. Errors wrap [model.ErrInvalid].
func newGoal(m *karasuv1.CheckpointGoal, x optimizer.Exposure) (*goal, error) {
	if m == nil {
		m = &karasuv1.CheckpointGoal{}
	}
	m = proto.CloneOf(m)
	if m.Objective == "" {
		m.Objective = Storage
	}
	switch m.GetObjective() {
	case Storage, Restart:
		if m.Weight != nil {
			return nil, badInput("weight", "is that of storage in a mix: it needs the objective %s", Mix)
		}
	case Mix:
		if m.Weight == nil {
			m.Weight = new(float64(defaultWeight))
		}
		if w := m.GetWeight(); !(w >= 0 && w <= 1) {
			return nil, badInput("weight", "must be between 0 and 1: %g", w)
		}
		if m.GetCuts() > 1 {
			return nil, badInput("cuts", "must be 1 for a mix: %d", m.GetCuts())
		}
	default:
		return nil, badInput("objective", "must be %s, %s or %s: %q", Storage, Restart, Mix, model.Clip(m.GetObjective()))
	}
	if m.DurableBytes != nil && !(m.GetDurableBytes() >= 0 && m.GetDurableBytes() <= model.MaxInputBytes) {
		return nil, badInput("durable bytes", "must be between 0 and 1 EiB: %g", m.GetDurableBytes())
	}
	if m.DurableShare != nil && !(m.GetDurableShare() >= 0 && m.GetDurableShare() <= 1) {
		return nil, badInput("durable share", "must be between 0 and 1: %g", m.GetDurableShare())
	}
	if m.WriteBandwidth == 0 {
		m.WriteBandwidth = optimizer.DefaultBandwidth
	}
	if !(m.GetWriteBandwidth() >= 1 && m.GetWriteBandwidth() <= model.MaxInputBytes) {
		return nil, badInput("write bandwidth", "must be between 1 byte and 1 EiB a second: %g", m.GetWriteBandwidth())
	}
	if m.MaxOverhead == nil {
		m.MaxOverhead = new(float64(defaultOverhead))
	}
	if !(m.GetMaxOverhead() > 0 && m.GetMaxOverhead() <= maxOverhead) {
		return nil, badInput("overhead", "must be a share of the job's time above 0 and at most %d: %g", maxOverhead, m.GetMaxOverhead())
	}
	if m.Cuts == 0 {
		m.Cuts = 1
	}
	if m.GetCuts() > optimizer.MaxCuts {
		return nil, badInput("cuts", "must be between 1 and %d: %d", optimizer.MaxCuts, m.GetCuts())
	}
	if len(m.GetNever()) > maxNames || len(m.GetHotspots()) > maxNames {
		return nil, badInput("goal", "names more than %d stages or hosts", maxNames)
	}
	if slices.Contains(m.GetNever(), "") || slices.Contains(m.GetHotspots(), "") {
		return nil, badInput("goal", "names a stage or host that is empty")
	}
	if m.GetObjective() == Restart && len(m.GetHotspots()) > 0 {
		return nil, badInput("hotspots", "are about storage, not about restarts: the objective must be %s or %s", Storage, Mix)
	}
	f, err := newFailure(m.FailuresPerHour, x)
	if err != nil {
		return nil, err
	}
	return &goal{m, f}, nil
}

// problem is the goal for one graph.
func (g *goal) problem(graph *optimizer.Graph) optimizer.Problem {
	m := g.message
	budget := math.Inf(1)
	if m.DurableBytes != nil {
		budget = m.GetDurableBytes()
	}
	if m.DurableShare != nil {
		budget = min(budget, m.GetDurableShare()*graph.Bytes())
	}
	p := optimizer.Problem{
		HotspotsOnly: len(m.GetHotspots()) > 0, Bandwidth: m.GetWriteBandwidth(), MaxSlowdown: m.GetMaxOverhead(),
	}
	if p.Unlimited = math.IsInf(budget, 1); !p.Unlimited {
		p.Budget = budget
	}
	return p
}

// budget in bytes that all cuts together may write.
func (g *goal) budget(graph *optimizer.Graph) float64 {
	p := g.problem(graph)
	b := p.MaxSlowdown * graph.Seconds() * p.Bandwidth
	if !p.Unlimited {
		b = min(b, p.Budget)
	}
	return b
}

// pinned says which stages must not be persisted. The error wraps [model.ErrInvalid].
func (g *goal) pinned(stages []model.Stage) (func(id int) bool, error) {
	out := make(map[int]bool)
	for _, name := range g.message.GetNever() {
		found := false
		number, err := strconv.Atoi(name)
		for _, s := range stages {
			if err == nil && s.ID == number || err != nil && strings.Contains(s.Name, name) {
				out[s.ID], found = true, true
			}
		}
		if !found {
			return nil, badInput("never", "names no stage of the job: %q; give a stage's number or a part of its call site", model.Clip(name))
		}
	}
	return func(id int) bool { return out[id] }, nil
}

// failure is how often the job fails, and why that is believed.
type failure struct {
	rate    optimizer.Rate
	source  string
	summary string
}

// The least and greatest rates that are taken, an hour.
const minRate, maxRate = 1e-6, 1e6

// newFailure takes the given rate, or else fits that of stored executions.
func newFailure(given *float64, x optimizer.Exposure) (failure, error) {
	if given != nil {
		if !(*given >= minRate && *given <= maxRate) {
			return failure{}, badInput("failure rate", "must be between %g and %g an hour: %g", minRate, maxRate, *given)
		}
		return failure{optimizer.Rate{PerHour: *given, Low: *given, High: *given}, "given", fmt.Sprintf("%g failures an hour, as given", *given)}, nil
	}
	rate, err := optimizer.DefaultPrior().Fit(x)
	if err != nil {
		return failure{}, err
	}
	f := failure{rate: rate, source: "fitted"}
	f.summary = fmt.Sprintf("%.2g failures an hour (90%%: %.2g to %.2g): %d of stored applications failed in %.3g hours that they ran, and one in a hundred hours is believed before",
		rate.PerHour, rate.Low, rate.High, x.Failures, x.Hours)
	if x.Hours == 0 {
		f.source = "assumed"
		f.summary = fmt.Sprintf("%.2g failures an hour, which is assumed: no stored application tells how it ended", rate.PerHour)
	}
	return f, nil
}

func (f failure) message() *karasuv1.FailureRate {
	return &karasuv1.FailureRate{
		PerHour: f.rate.PerHour, LowPerHour: f.rate.Low, HighPerHour: f.rate.High,
		Hours: f.rate.Hours, Failures: uint32(min(f.rate.Failures, math.MaxInt32)), Source: f.source, Summary: f.summary,
	}
}

// probability of a failure before a job of this length in seconds ends.
func (f failure) probability(seconds float64) float64 {
	return -math.Expm1(-f.rate.PerHour * seconds / 3600)
}
