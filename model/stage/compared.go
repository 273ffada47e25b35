package stage

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/karasu-project/karasu/model/trees"
)

// Compared is a simpler model that the general one is measured against.
type Compared struct {
	Name string
	// at is the logarithm that it predicts for a stage, and whether it can.
	at func(c *compiled, x []float64, i int, k knowledge, t target) (float64, bool)
}

// Names of the models that are compared.
const (
	BoostedName   = "boosted trees"
	RidgeName     = "ridge"
	EstimatesName = "optimizer estimates"
	AverageName   = "historic average"
)

// FitCompared fits boosted trees, a linear model of the same features, a linear model of
// the optimizer's estimates, and averages by the operators of a stage.
func FitCompared(jobs []Job) ([]Compared, error) {
	list, err := compileAll(jobs)
	if err != nil {
		return nil, err
	}
	if list = newest(list); len(list) == 0 {
		return nil, fmt.Errorf("%w: no jobs", ErrNoHistory)
	}
	groups := groupNumbers(list)
	var boosted, ridge, estimates [2][targets]func([]float64) float64
	for _, k := range []knowledge{atSubmission, atStart} {
		for t, r := range tabulate(list, groups, k) {
			if len(r.y) == 0 {
				continue
			}
			if ridge[k][t], err = fitRidge(r, nil, ridgePenalty); err != nil {
				return nil, err
			}
			if estimates[k][t], err = fitRidge(r, estimateColumns(k), 1e-6); err != nil {
				return nil, err
			}
			if boosted[k][t], err = fitBoosted(r); err != nil {
				return nil, err
			}
		}
	}
	table := func(fits *[2][targets]func([]float64) float64) func(*compiled, []float64, int, knowledge, target) (float64, bool) {
		return func(_ *compiled, x []float64, i int, k knowledge, t target) (float64, bool) {
			f := fits[k][t]
			if f == nil {
				return 0, false
			}
			return f(x[i*width(k) : (i+1)*width(k)]), true
		}
	}
	return []Compared{
		{BoostedName, table(&boosted)}, {RidgeName, table(&ridge)}, {EstimatesName, table(&estimates)},
		{AverageName, averages(list)},
	}, nil
}

// Predict returns durations, task times and output sizes, without a spread. started is
// as in [General.PredictStarted].
func (m Compared) Predict(job Job, started bool) ([]Prediction, error) {
	c, err := compile(&job)
	if err != nil {
		return nil, err
	}
	k := atSubmission
	if started {
		k = atStart
	}
	x := c.features(k)
	list := make([]Prediction, len(c.stages))
	for i := range list {
		p := &list[i]
		p.ID = c.stages[i].ID
		for t, to := range []*Distribution{&p.Duration, &p.TaskSeconds, &p.OutputBytes} {
			if target(t) == outputTarget && !c.writes[i] {
				continue
			}
			if v, ok := m.at(c, x, i, k, target(t)); ok {
				*to = newDistribution(v, 0)
			}
		}
	}
	return list, nil
}

// estimateColumns are what an optimizer says of a stage's input.
func estimateColumns(k knowledge) []int {
	if k == atSubmission {
		return []int{bytesFeature, rowsFeature}
	}
	return []int{submissionWidth + runBytesFeature, submissionWidth + runRowsFeature}
}

// varying returns the columns in which rows differ.
func (r rows) varying() []int {
	var out []int
	for f := range r.d {
		for i := range r.y {
			if r.x[i*r.d+f] != r.x[f] {
				out = append(out, f)
				break
			}
		}
	}
	return out
}

// take returns the table of some columns.
func (r rows) take(columns []int) []float64 {
	x := make([]float64, 0, len(r.y)*len(columns))
	for i := range r.y {
		for _, f := range columns {
			x = append(x, r.x[i*r.d+f])
		}
	}
	return x
}

// ridgePenalty on standardised features.
const ridgePenalty = 3

// fitRidge regresses on standardised columns; nil is all that vary.
func fitRidge(r rows, columns []int, penalty float64) (func([]float64) float64, error) {
	vary := r.varying()
	if columns == nil {
		columns = vary
	}
	columns = slices.DeleteFunc(slices.Clone(columns), func(f int) bool { return !slices.Contains(vary, f) })
	n, d := len(r.y), len(columns)
	var base float64
	for _, v := range r.y {
		base += v / float64(n)
	}
	if d == 0 {
		return func([]float64) float64 { return base }, nil
	}
	x := r.take(columns)
	mean, sd := make([]float64, d), make([]float64, d)
	for j := range d {
		column := make([]float64, n)
		for i := range n {
			column[i] = x[i*d+j]
		}
		mean[j], sd[j] = trees.Moments(column)
		for i := range n {
			x[i*d+j] = (x[i*d+j] - mean[j]) / sd[j]
		}
	}
	y := make([]float64, n)
	for i, v := range r.y {
		y[i] = v - base
	}
	table := mat.NewDense(n, d, x)
	var normal mat.SymDense
	normal.SymOuterK(1, table.T())
	for j := range d {
		normal.SetSym(j, j, normal.At(j, j)+penalty)
	}
	var chol mat.Cholesky
	var right, beta mat.VecDense
	right.MulVec(table.T(), mat.NewVecDense(n, y))
	if !chol.Factorize(&normal) {
		return nil, fmt.Errorf("%w: the linear model of %d stages has no solution", ErrInput, n)
	}
	if err := chol.SolveVecTo(&beta, &right); err != nil {
		return nil, fmt.Errorf("%w: linear model of %d stages: %w", ErrInput, n, err)
	}
	return func(row []float64) float64 {
		v := base
		for j, f := range columns {
			v += beta.AtVec(j) * (row[f] - mean[j]) / sd[j]
		}
		return v
	}, nil
}

func fitBoosted(r rows) (func([]float64) float64, error) {
	columns := r.varying()
	if len(columns) == 0 {
		columns = []int{0}
	}
	e, err := trees.Fit(r.take(columns), len(columns), r.y, trees.Options{Depth: 4, MinLeaf: 3})
	if err != nil {
		return nil, err
	}
	return func(row []float64) float64 {
		x := make([]float64, len(columns))
		for j, f := range columns {
			x[j] = row[f]
		}
		return e.Predict(x)
	}, nil
}

// averages of the past stages with the same operators, or of all where there is none.
func averages(list []*compiled) func(*compiled, []float64, int, knowledge, target) (float64, bool) {
	type mean struct{ sum, n float64 }
	same := make(map[string]*[targets]mean)
	all := &[targets]mean{}
	for _, c := range list {
		for i := range c.stages {
			s := signature(c.stages[i].Operators)
			if same[s] == nil {
				same[s] = &[targets]mean{}
			}
			for t := range targets {
				if v, ok := c.value(i, t); ok {
					for _, m := range []*mean{&same[s][t], &all[t]} {
						m.sum += v
						m.n++
					}
				}
			}
		}
	}
	return func(c *compiled, _ []float64, i int, _ knowledge, t target) (float64, bool) {
		m := all[t]
		if s := same[signature(c.stages[i].Operators)]; s != nil && s[t].n > 0 {
			m = s[t]
		}
		return math.Log(m.sum / max(m.n, 1)), m.n > 0
	}
}

func signature(operators []string) string {
	sorted := slices.Clone(operators)
	slices.Sort(sorted)
	return strings.Join(sorted, "\x00")
}
