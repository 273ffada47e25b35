package throughput

import "math"

// Memory follows what one role's pods use against the job's progress: a base and a
// growth, by a straight line fitted online. The zero value has seen nothing.
type Memory struct {
	N float64 `json:"n,omitempty"`
	// MeanX and MeanY are of progress and bytes; XX and XY sums of squared deviations.
	MeanX float64 `json:"mean_x,omitempty"`
	MeanY float64 `json:"mean_y,omitempty"`
	XX    float64 `json:"xx,omitempty"`
	XY    float64 `json:"xy,omitempty"`
	YY    float64 `json:"yy,omitempty"`
	// Most is the largest amount seen, in bytes.
	Most float64 `json:"most,omitempty"`
}

// Observe takes the largest use among the role's pods, in bytes, at some progress: a
// share, or steps where the job's length is unknown. Both are numbers, not negative.
func (m *Memory) Observe(progress, bytes float64) {
	m.N++
	dx, dy := progress-m.MeanX, bytes-m.MeanY
	m.MeanX += dx / m.N
	m.MeanY += dy / m.N
	m.XX += dx * (progress - m.MeanX)
	m.XY += dx * (bytes - m.MeanY)
	m.YY += dy * (bytes - m.MeanY)
	m.Most = max(m.Most, bytes)
}

// minPoints of a line: fewer say only what was used.
const minPoints = 3

// Growth is the bytes that are added per unit of progress; never negative.
func (m *Memory) Growth() float64 {
	if m.N < minPoints || m.XX <= 0 {
		return 0
	}
	return max(m.XY/m.XX, 0)
}

// At predicts the bytes used at a progress and the standard deviation. It is never
// below what was used already.
func (m *Memory) At(progress float64) (bytes, sd float64) {
	growth := m.Growth()
	bytes = max(m.MeanY+growth*(progress-m.MeanX), m.Most)
	if m.N < minPoints || m.XX <= 0 {
		return bytes, 0
	}
	residual := max(m.YY-growth*m.XY, 0) / (m.N - 2)
	d := progress - m.MeanX
	return bytes, math.Sqrt(residual * (1 + 1/m.N + d*d/m.XX))
}

// RunsOut is the progress at which the line reaches a limit in bytes; false if it never
// does.
func (m *Memory) RunsOut(limit float64) (progress float64, ok bool) {
	growth := m.Growth()
	if growth <= 0 {
		return 0, false
	}
	return m.MeanX + (limit-m.MeanY)/growth, true
}

// Validate checks values that come from outside.
func (m *Memory) Validate() error {
	for _, v := range []float64{m.N, m.MeanX, m.MeanY, m.XX, m.YY, m.Most} {
		if !(v >= 0) || math.IsInf(v, 0) {
			return ErrInvalid
		}
	}
	if math.IsNaN(m.XY) || math.IsInf(m.XY, 0) {
		return ErrInvalid
	}
	return nil
}
