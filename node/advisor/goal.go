package advisor

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/optimizer/catalog"
	"github.com/karasu-project/karasu/optimizer/search"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

// maxBudgetUSD of one run: above it, it is a slip of the pen.
const maxBudgetUSD = 1e9

// normalizeGoal checks what is wanted of a search and spells it one way: the
// objectives, the limits, and the region that carbon is counted for.
func normalizeGoal(s *karasuv1.SearchSettings, region, infrastructure string) error {
	objectives, err := search.ParseObjectives(s.GetObjective())
	if err != nil {
		return badInput("objective", strings.TrimPrefix(err.Error(), "objective "))
	}
	names := make([]string, len(objectives))
	for i, o := range objectives {
		names[i] = string(o)
	}
	s.Objective = strings.Join(names, ",")
	limited := s.GetTargetSeconds() > 0 || s.GetBudgetUsd() > 0
	switch b, c := s.GetBudgetUsd(), s.GetConfidence(); {
	case math.IsNaN(b) || b < 0 || b > maxBudgetUSD:
		return badInput("budget", fmt.Sprintf("must be above 0 and at most %g USD a run: %g", float64(maxBudgetUSD), b))
	case c != 0 && !(c >= .5 && c < 1):
		return badInput("confidence", fmt.Sprintf("must be at least 0.5 and below 1: %g", c))
	case c != 0 && !limited:
		return badInput("confidence", "needs a target or a budget to be confident of")
	}
	found, err := catalog.LookupRegion(infrastructure, region)
	if err != nil {
		if region == "" && !slices.Contains(objectives, search.Carbon) {
			return nil // nobody asked; carbon stays unknown
		}
		return badInput("region", "is unknown: "+strings.TrimPrefix(err.Error(), catalog.ErrUnknownRegion.Error()+" "))
	}
	s.Region = found.Name
	return nil
}

// candidate is a configuration with what the catalog, the grid and the job's own
// runs say of it.
func (t *task) candidate(c catalog.Choice) search.Candidate {
	out := search.NewCandidate(c.Configuration, c.Machine)
	out.Utilisation, out.GramsPerKWh = t.utilisation(c.Configuration), t.gramsPerKWh
	return out
}

// utilisation is the CPU share that the job was measured to use on a configuration,
// or else on all of them: the median of the runs' medians; 0 is unknown.
func (t *task) utilisation(c model.Configuration) float64 {
	var there, all []float64
	for _, r := range t.runs {
		if r.Outcome != model.OK || r.Metrics.CPU == nil {
			continue
		}
		all = append(all, r.Metrics.CPU.P50)
		if r.Configuration == c {
			there = append(there, r.Metrics.CPU.P50)
		}
	}
	if len(there) == 0 {
		there = all
	}
	if len(there) == 0 {
		return 0
	}
	slices.Sort(there)
	return there[len(there)/2]
}
