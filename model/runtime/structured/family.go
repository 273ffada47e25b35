package structured

import (
	"math"

	"gonum.org/v1/gonum/blas/blas64"

	"github.com/karasu-project/karasu/model/runtime"
)

// The local family: Gaussian processes over the scale-out alone, for contexts of
// which nothing else is known. Its members differ in how runtimes fall with the
// scale-out and how far they stray from a power law.
var (
	// familySlopes of ln(runtime) over ln(scale-out): nearly ideal speed-up to nearly
	// none.
	familySlopes = []float64{-.85, -.5, -.15}
	// familyShapes are amplitude and exponent of the warped scale-out.
	familyShapes = []struct{ sd, exponent float64 }{{.08, .4}, {.25, .8}, {.5, .8}, {.9, 1.6}}
	// familyNoises of a run with their prior weights: usual, and of a noisy job.
	familyNoises = []struct{ sd, weight float64 }{{.03, .7}, {.12, .3}}
)

const (
	familyLevelSD = 3.
	familySlopeSD = .2
	familyLength  = .6
	// familyTwinSD is of what a scale-out has of its own.
	familyTwinSD = .02
	// familyBeyond widens predictions beyond the scale-outs that were run, for each unit
	// of the logarithm beyond: there curves bend in ways that no member knows.
	familyBeyond = .4
)

// member of the family, conditioned on runs.
type member struct {
	slope, sd2, noise2 float64
	exponent           float64
	nodes              []node
	root               blas64.Triangular
	alpha              []float64
	weight             float64
	// surprise is as in [transfer].
	surprise float64
}

func (m *member) mean(n *node) float64 { return meanLevel + m.slope*n.z }

func (m *member) covariance(a, b *node) float64 {
	dw := (a.w - b.w) / familyLength
	c := familyLevelSD*familyLevelSD + familySlopeSD*familySlopeSD*a.z*b.z + m.sd2*matern52(dw*dw)
	if a.x == b.x {
		c += familyTwinSD * familyTwinSD
	}
	return c
}

// family is an evidence-weighted mixture of its members.
type family struct {
	members []member
	// low and high are the logarithms of the least and largest scale-out that was run.
	low, high float64
}

// newFamily conditions all members on the runs and weighs them by evidence.
func newFamily(runs []predict.Summary) (family, error) {
	f := family{low: math.Inf(-1), high: math.Inf(1)}
	if len(runs) > 0 { // by rising scale-out
		f.low, f.high = math.Log(float64(runs[0].ScaleOut)), math.Log(float64(runs[len(runs)-1].ScaleOut))
	}
	logs := make([]float64, 0, len(familySlopes)*len(familyShapes)*len(familyNoises))
	for _, slope := range familySlopes {
		for _, shape := range familyShapes {
			for _, noise := range familyNoises {
				m := member{slope: slope, sd2: shape.sd * shape.sd, exponent: shape.exponent, noise2: noise.sd * noise.sd}
				l, err := m.condition(runs)
				if err != nil {
					return f, err
				}
				f.members = append(f.members, m)
				logs = append(logs, l+math.Log(noise.weight))
			}
		}
	}
	for i, w := range softmax(logs) {
		f.members[i].weight = w
	}
	return f, nil
}

// condition returns the log evidence of the runs.
func (m *member) condition(runs []predict.Summary) (float64, error) {
	n := len(runs)
	if n == 0 {
		return 0, nil
	}
	k, y := make([]float64, n*n), make([]float64, n)
	for i, s := range runs {
		m.nodes = append(m.nodes, newNode(float64(s.ScaleOut), m.exponent))
		y[i] = math.Log(s.MedianSeconds) - m.mean(&m.nodes[i])
		for j := range i + 1 {
			k[i*n+j] = m.covariance(&m.nodes[i], &m.nodes[j])
		}
		k[i*n+i] += m.noise2 / float64(s.Repeats)
	}
	var err error
	if m.root, err = cholesky(k, n); err != nil {
		return 0, err
	}
	m.alpha = y
	forward(m.root, m.alpha)
	m.surprise = sumOfSquares(m.alpha)
	backward(m.root, m.alpha)
	return -logDiagonal(m.root) - m.surprise/2, nil
}

func sumOfSquares(v []float64) float64 {
	var sum float64
	for _, x := range v {
		sum += x * x
	}
	return sum
}

// predict returns mean and variance of ln(seconds) of one run at x.
func (m *member) predict(x int) (mean, variance float64) {
	n := newNode(float64(x), m.exponent)
	mean, variance = m.mean(&n), m.covariance(&n, &n)
	if len(m.nodes) > 0 {
		v := make([]float64, len(m.nodes))
		for i := range m.nodes {
			v[i] = m.covariance(&n, &m.nodes[i])
			mean += v[i] * m.alpha[i]
		}
		forward(m.root, v)
		for _, c := range v {
			variance -= c * c
		}
	}
	return mean, max(variance, 0) + m.noise2
}

// surprise of the members by their weights.
func (f family) surprise() float64 {
	var sum float64
	for i := range f.members {
		sum += f.members[i].weight * f.members[i].surprise
	}
	return sum
}

// predict returns mean and variance of the mixture.
func (f family) predict(x int) (mean, variance float64) {
	var square float64
	for i := range f.members {
		m, v := f.members[i].predict(x)
		mean += f.members[i].weight * m
		square += f.members[i].weight * (v + m*m)
	}
	l := math.Log(float64(x))
	beyond := familyBeyond * max(f.low-l, l-f.high, 0)
	return mean, max(square-mean*mean, 0) + beyond*beyond
}

// familyEvidence returns the log density of the runs under the family's prior, with a
// noise of variance extra in place of the members' own.
func familyEvidence(runs []predict.Summary, extra float64) (float64, error) {
	n := len(runs)
	var logs []float64
	for _, slope := range familySlopes {
		for _, shape := range familyShapes {
			m := member{slope: slope, sd2: shape.sd * shape.sd, exponent: shape.exponent}
			k, y := make([]float64, n*n), make([]float64, n)
			nodes := make([]node, n)
			for i, s := range runs {
				nodes[i] = newNode(float64(s.ScaleOut), m.exponent)
				y[i] = math.Log(s.MedianSeconds) - m.mean(&nodes[i])
				for j := range i + 1 {
					k[i*n+j] = m.covariance(&nodes[i], &nodes[j])
				}
				k[i*n+i] += extra
			}
			l, err := logDensity(k, y)
			if err != nil {
				return 0, err
			}
			logs = append(logs, l)
		}
	}
	most := logs[0]
	for _, l := range logs {
		most = max(most, l)
	}
	var sum float64
	for _, l := range logs {
		sum += math.Exp(l - most)
	}
	return most + math.Log(sum/float64(len(logs))), nil
}

// softmax returns weights that sum to one.
func softmax(logs []float64) []float64 {
	most := math.Inf(-1)
	for _, l := range logs {
		most = max(most, l)
	}
	out := make([]float64, len(logs))
	var sum float64
	for i, l := range logs {
		out[i] = math.Exp(l - most)
		sum += out[i]
	}
	for i := range out {
		out[i] /= sum
	}
	return out
}
