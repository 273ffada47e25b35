package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/optimizer/catalog"
	"github.com/karasu-project/karasu/optimizer/search"
)

// benchCmd has a command for each capability. None needs a home or a daemon.
type benchCmd struct {
	Search      benchSearchCmd      `cmd:"" help:"Replay searches over a run table: what the network would have saved."`
	Pareto      benchParetoCmd      `cmd:"" help:"Replay searches for several objectives."`
	Calibration benchCalibrationCmd `cmd:"" help:"Replay searches and check the probabilities that they state."`
	Predict     benchPredictCmd     `cmd:"" help:"Predict runtimes in contexts left out of run tables, with every model."`
	Elastic     benchElasticCmd     `cmd:"" help:"Play training jobs on a cluster with and without elastic resources, and predict their speed."`
	Checkpoint  benchCheckpointCmd  `cmd:"" help:"Cut public stage graphs, and predict stages that were left out."`
	Network     benchNetworkCmd     `cmd:"" help:"Run networks of nodes in this process: what reaches whom, how fast, at what cost."`
}

// progress returns a callback that draws a bar on a terminal, and nil elsewhere.
func progress(a *app, what string) func(done, total int) {
	if !isTerminal(a.stderr) {
		return nil
	}
	var bar *progressbar.ProgressBar
	return func(done, total int) {
		if bar == nil {
			bar = progressbar.NewOptions(total, progressbar.OptionSetWriter(a.stderr), progressbar.OptionSetDescription(what),
				progressbar.OptionShowCount(), progressbar.OptionSetPredictTime(true), progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish())
		}
		_ = bar.Set(done)
	}
}

// unknownValue says what to do about an objective that the built-in catalog, which
// replays know alone, has no figures for.
func unknownValue(err error) error {
	if errors.Is(err, search.ErrUnknownPrice) || errors.Is(err, search.ErrUnknownPower) || errors.Is(err, search.ErrUnknownGrid) {
		return fmt.Errorf("%w in the built-in catalog; replay with bench search --objective runtime, which needs none", err)
	}
	return err
}

// candidatesOf lists the configurations of a table with what the built-in catalog
// knows of them.
func candidatesOf(runs []model.Run) ([]search.Candidate, error) {
	known := catalog.Builtin()
	seen := map[model.Configuration]bool{}
	var out []search.Candidate
	for _, r := range runs {
		if seen[r.Configuration] {
			continue
		}
		seen[r.Configuration] = true
		m, err := known.Lookup(r.Workload.Infrastructure, r.Configuration.MachineType)
		if err != nil {
			return nil, err
		}
		// Without a default region the grid stays unknown, and with it carbon only.
		grid, _ := catalog.LookupRegion(r.Workload.Infrastructure, "")
		c := search.NewCandidate(r.Configuration, m)
		c.GramsPerKWh = grid.GramsPerKWh
		out = append(out, c)
	}
	return out, nil
}
