package search

import (
	"fmt"
	"math"
	"slices"

	"github.com/karasu-project/karasu/model/ensemble"
)

// hopelessChance is the probability that any open candidate keeps to the limits below which a
// search without an answer advises to stop.
const hopelessChance = 0.05

// anyKeeps is the probability that a run on at least one open candidate ends within its
// limit. Within a hypothesis candidates mostly rise and fall together with the level, so
// it is that of the best one there; it is 1 where nothing limits a candidate.
//
// A level that is borrowed of others must not end a search by itself: where the
// hypotheses with the search's own guess are more hopeful, theirs counts.
func (s *state) anyKeeps(m *ensemble.Mixture, noiseSD float64) float64 {
	var sum, weight [2]float64 // own level, borrowed level
	for h, w := range m.Weight {
		if w == 0 {
			continue
		}
		k := 0
		if m.Borrowed != nil && m.Borrowed[h] {
			k = 1
		}
		best := 0.
		for i, open := range s.open {
			if !open {
				continue
			}
			p := s.history.success[i]
			if !math.IsInf(s.limit[i], 1) {
				p *= ensemble.NormalCDF((s.limit[i] - m.Mean[h][i]) / math.Sqrt(m.Variance[h][i]+noiseSD*noiseSD))
			}
			best = max(best, p)
		}
		sum[k] += w * best
		weight[k] += w
	}
	p := sum[0] + sum[1]
	if weight[0] > 0 {
		p = max(p, sum[0]/weight[0])
	}
	return min(p, 1)
}

// giveUp advises to stop where, after minRuns runs without an answer, it is unlikely that
// any candidate keeps to the limits, and names the likeliest.
func (s *state) giveUp(e *Evaluation, m *ensemble.Mixture, noiseSD float64) {
	if e.Next < 0 || e.Incumbent >= 0 || s.history.runs < minRuns {
		return
	}
	anyKeeps := s.anyKeeps(m, noiseSD)
	for i, o := range s.open {
		if o && !math.IsInf(s.limit[i], 1) { // as it is stated
			anyKeeps = max(anyKeeps, e.Predictions[i].MeetsTarget)
		}
	}
	if anyKeeps >= hopelessChance {
		return
	}
	// Of equally hopeless ones, the one that is nearest to its limit.
	open := make([]int, 0, len(s.open))
	for i, o := range s.open {
		if o {
			open = append(open, i)
		}
	}
	excess := func(i int) float64 {
		if math.IsInf(s.limit[i], 1) {
			return -math.Log(s.history.success[i])
		}
		return e.Predictions[i].LogMean - s.limit[i] - math.Log(s.history.success[i])
	}
	closest := slices.MinFunc(open, func(a, b int) int {
		switch x, y := excess(a), excess(b); {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	})
	wanted := "keeps to the limits"
	if math.IsInf(s.limit[closest], 1) {
		wanted = "ends with a result"
	}
	chance := "less than 1%"
	if anyKeeps >= .01 {
		chance = fmt.Sprintf("%.0f%%", 100*anyKeeps)
	}
	e.Stop = true
	e.Reason = fmt.Sprintf("probably no candidate %s: that any of the %d left does is %s likely, and %s comes closest",
		wanted, len(open), chance, s.problem.Candidates[closest].Configuration)
}
