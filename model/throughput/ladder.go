package throughput

// Ladder evaluates beliefs at the same sizes again and again.
type Ladder struct {
	// Units of the sizes, ascending.
	Units                []float64
	speeds, elasticities []Weights
}

// NewLadder prepares the sizes for beliefs of one law.
func NewLadder(law Law, units []float64) *Ladder {
	l := &Ladder{Units: units, speeds: make([]Weights, len(units)), elasticities: make([]Weights, len(units))}
	for i, u := range units {
		for k := range Knees {
			l.speeds[i][k] = law.logSpeed(u, Knee(k))
			l.elasticities[i][k] = law.elasticity(u, Knee(k))
		}
	}
	return l
}

// LogSpeed is the mean log speed at the i-th size up to a constant of the belief:
// differences are mean log speed-ups.
func (l *Ladder) LogSpeed(b *Belief, i int) float64 { return dot(&b.Weights, &l.speeds[i]) }

// Elasticity is that of [Belief.Elasticity] at the i-th size.
func (l *Ladder) Elasticity(b *Belief, i int) float64 { return dot(&b.Weights, &l.elasticities[i]) }

func dot(a, b *Weights) float64 {
	var sum float64
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}
