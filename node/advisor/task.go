package advisor

import (
	"fmt"
	"slices"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/optimizer/catalog"
	"github.com/karasu-project/karasu/optimizer/search"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/wire"
)

// task is a search in the terms of package model: its settings, its workload and
// the runs so far.
type task struct {
	settings *karasuv1.SearchSettings
	workload model.Workload
	runs     []model.Run
	// objectives are those of the settings, one to three.
	objectives []search.Objective
	// claims are the configurations that are under way.
	claims []model.Configuration
	// stored says that the search was begun earlier: the catalog may have changed since.
	stored bool
	// claimedRuns are the IDs of runs whose configurations had been claimed.
	claimedRuns []string
	// compared is a configuration that is kept among the candidates whatever is known of
	// it; the zero value is none.
	compared model.Configuration
	// created is when the search was started, in milliseconds since 1970 UTC.
	created float64
	// knownTypes extend the default space while it is being frozen.
	knownTypes []string
	// foreseen is what a prediction of the job's runtimes rests on, "" without one;
	// unforeseen why there is none although something is known of the algorithm.
	foreseen, unforeseen string
	// gramsPerKWh of the region's grid; 0 is unknown.
	gramsPerKWh float64
}

func newTask(s *karasuv1.SearchSettings) (*task, error) {
	w, err := wire.ToWorkload(s.GetWorkload())
	if err != nil {
		return nil, err
	}
	t := &task{settings: s, workload: w}
	if t.objectives, err = search.ParseObjectives(s.GetObjective()); err != nil {
		return nil, err
	}
	if r, err := catalog.LookupRegion(w.Infrastructure, s.GetRegion()); err == nil {
		t.gramsPerKWh = r.GramsPerKWh
	}
	return t, nil
}

func openTask(s *karasuv1.Search) (*task, error) {
	t, err := newTask(s.GetSettings())
	if err != nil {
		return nil, fmt.Errorf("stored search: %w", err)
	}
	for _, m := range s.GetRuns() {
		r, err := wire.ToRun(m)
		if err != nil {
			return nil, fmt.Errorf("stored search %q: %w", t.workload.Job, err)
		}
		t.runs = append(t.runs, r)
	}
	t.created, t.stored, t.claimedRuns = s.GetCreatedUnixMillis(), true, s.GetClaimedRuns()
	t.claims, err = claimed(s)
	return t, err
}

// objective is the first: the one that an incumbent is best at.
func (t *task) objective() search.Objective { return t.objectives[0] }

// has reports whether the configuration has been run.
func (t *task) has(c model.Configuration) bool {
	for _, r := range t.runs {
		if r.Configuration == c {
			return true
		}
	}
	return false
}

// adopt takes stored runs as first steps: those on machine types that the catalog
// knows, as far as the limit goes.
func (a *Advisor) adopt(t *task, runs []model.Run) {
	for _, r := range runs {
		if _, err := a.Catalog.Lookup(t.workload.Infrastructure, r.Configuration.MachineType); err == nil && len(t.runs) < maxSteps {
			t.runs = append(t.runs, r)
		}
	}
}

// observations are the runs with the resources of their machine types. Runs on types
// that the catalog no longer knows are left out.
func (a *Advisor) observations(t *task) ([]search.Observation, error) {
	out := make([]search.Observation, 0, len(t.runs))
	for _, r := range t.runs {
		m, err := a.Catalog.Lookup(t.workload.Infrastructure, r.Configuration.MachineType)
		if t.stored && unknownMachine(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, search.Observation{
			Configuration: r.Configuration, Resources: m.Resources,
			Outcome: r.Outcome, RuntimeSeconds: r.RuntimeSeconds, Metrics: r.Metrics,
		})
	}
	return out, nil
}

// claimed converts the configurations of a stored search that are under way.
func claimed(s *karasuv1.Search) ([]model.Configuration, error) {
	out := make([]model.Configuration, 0, len(s.GetClaims()))
	for _, m := range s.GetClaims() {
		c, err := wire.ToConfiguration(m)
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

// release takes a configuration out of the claims; false where it is none.
func (t *task) release(c model.Configuration) bool {
	i := slices.Index(t.claims, c)
	if i < 0 {
		return false
	}
	t.claims = slices.Delete(t.claims, i, i+1)
	return true
}
