package demo

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/node/share"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/wire"
)

// oracle answers a search from the rows of one workload, as profiling would.
type oracle struct {
	workload       model.Workload
	runs           map[model.Configuration]model.Run
	configurations []model.Configuration
	// target is the median runtime of completed runs, in seconds.
	target float64
	// prices in USD per second of a whole configuration.
	prices map[model.Configuration]float64
	// optimum is the cost of the cheapest valid configuration, in USD.
	optimum float64
}

func newOracle(g share.Group, price func(model.Configuration) (float64, error)) (*oracle, error) {
	o := &oracle{
		workload: g.Workload, runs: map[model.Configuration]model.Run{},
		prices: map[model.Configuration]float64{}, optimum: math.Inf(1),
	}
	var completed []float64
	for _, r := range g.Runs {
		if _, twice := o.runs[r.Configuration]; twice {
			continue
		}
		usd, err := price(r.Configuration)
		if err != nil {
			return nil, err
		}
		o.runs[r.Configuration], o.prices[r.Configuration] = r, usd
		o.configurations = append(o.configurations, r.Configuration)
		if r.Outcome == model.OK {
			completed = append(completed, r.RuntimeSeconds)
		}
	}
	if len(completed) == 0 {
		return nil, fmt.Errorf("%w: workload %q has no completed run", ErrTable, g.Workload.Job)
	}
	slices.Sort(completed)
	o.target = (completed[(len(completed)-1)/2] + completed[len(completed)/2]) / 2
	for _, c := range o.configurations {
		if r := o.runs[c]; o.valid(r) {
			o.optimum = min(o.optimum, o.prices[c]*r.RuntimeSeconds)
		}
	}
	return o, nil
}

func (o *oracle) valid(r model.Run) bool {
	return r.Outcome == model.OK && r.RuntimeSeconds <= o.target
}

// search lets a fresh newcomer search one workload, first with the network and then
// alone. The newcomer knows nobody's runs but through its peers, shares nothing, and
// is gone before the next search, so that no search can learn from another.
func search(ctx context.Context, opts Options, index int, g share.Group, members []*member, progress func(string)) (out []Search, about *Organisation, err error) {
	m, err := open(ctx, opts.Dir, fmt.Sprintf("%s-%d", Newcomer, index+1), share.Off, nil)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, m.app.Stop(context.WithoutCancel(ctx))) }()
	if err := connect(ctx, m, members[len(members)-1]); err != nil {
		return nil, nil, err
	}
	if err := settle(ctx, append(slices.Clone(members), m)); err != nil {
		return nil, nil, err
	}
	truth, err := newOracle(g, m.price(g.Workload.Infrastructure))
	if err != nil {
		return nil, nil, err
	}
	for _, mode := range []string{"network", "solo"} {
		trace, err := m.trace(ctx, truth, mode, opts.Steps)
		if err != nil {
			return nil, nil, fmt.Errorf("search %s (%s): %w", g.Workload.Job, mode, err)
		}
		out = append(out, *trace)
		progress(fmt.Sprintf("searched %s (%s)", g.Workload.Job, mode))
	}
	about, err = m.describe(ctx)
	if about != nil {
		about.Name, about.PrivateRuns = Newcomer, 0
	}
	return out, about, err
}

func (m *member) price(infrastructure string) func(model.Configuration) (float64, error) {
	return func(c model.Configuration) (float64, error) {
		t, err := m.app.Catalog().Lookup(infrastructure, c.MachineType)
		if err != nil {
			return 0, err
		}
		if t.USDPerHour == 0 {
			return 0, fmt.Errorf("%w: the price of %s is unknown, so its cost cannot be minimised", ErrTable, c.MachineType)
		}
		return t.USDPerHour * float64(c.ScaleOut) / 3600, nil
	}
}

// trace plays one search to its end.
func (m *member) trace(ctx context.Context, truth *oracle, mode string, steps int) (*Search, error) {
	w := truth.workload
	w.Job = w.Job + " (" + mode + ")"
	settings := &karasuv1.SearchSettings{
		Workload: wire.FromWorkload(w), TargetSeconds: truth.target, Objective: "cost", Solo: mode == "solo",
	}
	for _, c := range truth.configurations {
		settings.Configurations = append(settings.Configurations, wire.FromConfiguration(c))
	}
	state, err := m.app.Advisor().Start(ctx, settings)
	if err != nil {
		return nil, err
	}
	out := &Search{Workload: truth.workload.Job, Mode: mode, TargetSeconds: truth.target}
	best := math.Inf(1)
	for len(out.Configurations) < steps && !state.GetNext().GetExhausted() {
		next := state.GetNext()
		c, err := wire.ToConfiguration(next.GetPrediction().GetConfiguration())
		if err != nil {
			return nil, err
		}
		out.SuggestMillis = append(out.SuggestMillis, next.GetMilliseconds())
		r := truth.runs[c]
		state, err = m.app.Advisor().Report(ctx, &karasuv1.ReportRunRequest{
			Job: w.Job, Configuration: wire.FromConfiguration(c), RuntimeSeconds: r.RuntimeSeconds, Outcome: wire.FromOutcome(r.Outcome),
		})
		if err != nil {
			return nil, err
		}
		out.Configurations = append(out.Configurations, c.String())
		if truth.valid(r) {
			best = min(best, truth.prices[c]*r.RuntimeSeconds)
		}
		var ratio *float64
		if !math.IsInf(best, 1) {
			v := best / truth.optimum
			ratio = &v
		}
		out.BestOverOptimum = append(out.BestOverOptimum, ratio)
	}
	for _, w := range state.GetWeights() {
		name := w.GetOrganisation()
		if name == "" {
			name = w.GetOrigin()
		}
		out.Weights = append(out.Weights, Weight{Organisation: name, Topic: w.GetTopic(), Share: w.GetShare()})
	}
	return out, nil
}

// describe says what the member gave and got.
func (m *member) describe(ctx context.Context) (*Organisation, error) {
	preview, err := m.app.PreviewShare(ctx)
	if err != nil {
		return nil, err
	}
	_, received := m.records()
	out := &Organisation{Name: m.name, PrivateRuns: len(m.runs), RecordsReceived: received}
	for _, r := range preview.GetRecords() {
		if !r.GetShared() {
			continue
		}
		out.RecordsShared++
		out.BytesShared += int(r.GetBytes())
		if out.Sample == "" && r.GetSummary() != nil {
			out.Sample = protojson.MarshalOptions{UseProtoNames: true}.Format(r.GetSummary())
		}
	}
	return out, nil
}
