package simulator

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/interp"

	"github.com/karasu-project/karasu/model/throughput/replay"
)

// Units of 8 vCPU that a job can have: what was measured.
const (
	minUnits = 1
	maxUnits = 14
)

// truth is the speed of one job by units.
type truth struct {
	replay.Curve
	// pushes a second at 0 (unused) to maxUnits units.
	pushes [maxUnits + 1]float64
	// most is the largest of them: what the parameter server takes.
	most float64
}

// newTruth interpolates between the measured numbers of workers so that speed is
// monotone between each two of them (Fritsch and Butland 1984).
func newTruth(c replay.Curve) (*truth, error) {
	var x, y []float64
	for _, p := range c.Points {
		x = append(x, float64(p.Workers*c.Cores)/coresPerUnit)
		y = append(y, p.Pushes())
	}
	if len(x) < 3 || x[0] > minUnits || x[len(x)-1] < maxUnits {
		return nil, fmt.Errorf("%s on %s: measured from %g to %g units, need %d to %d", c.Job(), c.MachineType, x[0], x[len(x)-1], minUnits, maxUnits)
	}
	var curve interp.FritschButland
	if err := curve.Fit(x, y); err != nil {
		return nil, fmt.Errorf("%s on %s: %w", c.Job(), c.MachineType, err)
	}
	t := &truth{Curve: c}
	for u := minUnits; u <= maxUnits; u++ {
		t.pushes[u] = curve.Predict(float64(u))
		t.most = max(t.most, t.pushes[u])
	}
	return t, nil
}

// coresPerUnit is elastic.UnitCores.
const coresPerUnit = 8.

// best is the size with the best trade of speed and cores: ln speed - kappa ln units.
func (t *truth) best(kappa float64) int {
	best, most := minUnits, math.Inf(-1)
	for u := minUnits; u <= maxUnits; u++ {
		if j := math.Log(t.pushes[u]) - kappa*math.Log(float64(u)); j > most {
			best, most = u, j
		}
	}
	return best
}

// busy is the share of its workers' cores that the job uses.
func (t *truth) busy(units int, pushes float64) float64 {
	var alone float64
	for u := minUnits; u <= maxUnits; u++ {
		alone = max(alone, t.pushes[u]/float64(u))
	}
	return busy * min(pushes/float64(units)/alone, 1)
}

// workers of so many units.
func (t *truth) workers(units int) int { return units * coresPerUnit / t.Cores }
