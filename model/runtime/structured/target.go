package structured

import (
	"math"
	"sync"

	"gonum.org/v1/gonum/blas/blas64"

	"github.com/karasu-project/karasu/model/runtime"
)

// target is the process seen from one context: a process over its scale-outs.
type target struct {
	g       *General
	context *encoded
	pairs   []pair
	own     pair
	// foreign says that the history knows nothing of the context's environment.
	foreign bool

	mu sync.Mutex
	at map[int]*projection
}

// projection is what the training rows say of one scale-out of the target.
type projection struct {
	node node
	// mean of ln(seconds), and v = L^-1 k(rows, x).
	mean float64
	v    []float64
}

// Target implements [predict.Targeter]. Where the context lies outside of the
// history's extent, features are scaled anew and the rows solved again.
func (g *General) Target(c predict.Context) (predict.Target, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if err := g.rows.encoder.check(c); err != nil {
		return nil, err
	}
	if !g.rows.encoder.covers(c) {
		var err error
		if g, err = g.wider(c); err != nil {
			return nil, err
		}
	}
	// Weights are of the environment that they were shared for.
	id, foreign := len(g.rows.contexts), g.virtual == nil
	for i, b := range g.blocks {
		if b.context.Environment == c.Environment {
			foreign = false
		}
		if b.context.Equal(c) {
			id = i
		}
	}
	t := &target{g: g, context: g.rows.encoder.encode(c, id), foreign: foreign, at: map[int]*projection{}}
	if g.virtual != nil {
		t.context.machine, t.context.environment = resourceName(t.context.cores, t.context.memory), virtualEnvironment
		clear(t.context.texts) // those of the points are not known
	}
	t.pair()
	return t, nil
}

// pair compares the context with those of the rows.
func (t *target) pair() {
	size := t.g.rows.encoder.sizeRange()
	for _, o := range t.g.rows.contexts {
		t.pairs = append(t.pairs, t.g.k.pair(t.context, o, size))
	}
	t.own = t.g.k.pair(t.context, t.context, size)
}

// project returns the projection of a scale-out, from memory where it was asked for
// before: a prediction takes as long as a look-up then.
func (t *target) project(x int) *projection {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p := t.at[x]; p != nil {
		return p
	}
	p := t.projectAt(float64(x))
	if len(t.at) < maxProjections {
		t.at[x] = p
	}
	return p
}

func (t *target) projectAt(x float64) *projection {
	g := t.g
	p := &projection{node: newNode(x, g.params[exponent]), mean: t.context.mean(x), v: make([]float64, len(g.nodes))}
	for a := range t.pairs {
		for i := g.rows.start[a]; i < g.rows.start[a+1]; i++ {
			p.v[i] = g.k.covariance(&t.pairs[a], &p.node, &g.nodes[i])
			p.mean += p.v[i] * g.alpha[i]
		}
	}
	if len(p.v) > 0 {
		forward(g.root, p.v)
	}
	return p
}

// meanAt returns the mean of ln(seconds) at x, without the variance's cost.
func (t *target) meanAt(x float64) float64 {
	g, n := t.g, newNode(x, t.g.params[exponent])
	mean := t.context.mean(x)
	for a := range t.pairs {
		for i := g.rows.start[a]; i < g.rows.start[a+1]; i++ {
			mean += g.k.covariance(&t.pairs[a], &n, &g.nodes[i]) * g.alpha[i]
		}
	}
	return mean
}

// maxProjections bounds the memory of a target.
const maxProjections = 512

// covariance of the function at two scale-outs given the training rows (RW eq. 2.24).
func (t *target) covariance(a, b *projection) float64 {
	c := t.g.k.covariance(&t.own, &a.node, &b.node)
	for i, v := range a.v {
		c -= v * b.v[i]
	}
	return c
}

// transfer is the process over the target's scale-outs given its runs, too.
type transfer struct {
	t     *target
	runs  []*projection
	root  blas64.Triangular
	alpha []float64
	// surprise is the sum of the runs' squared errors in standard deviations, each
	// given the runs before it.
	surprise float64
}

// condition adds the target's runs.
func (t *target) condition(runs []predict.Summary) (*transfer, error) {
	tr := &transfer{t: t}
	n := len(runs)
	k := make([]float64, n*n)
	for i, s := range runs {
		p := t.project(s.ScaleOut)
		tr.runs = append(tr.runs, p)
		tr.alpha = append(tr.alpha, math.Log(s.MedianSeconds)-p.mean)
		for j := range i + 1 {
			k[i*n+j] = t.covariance(p, tr.runs[j])
		}
		k[i*n+i] += t.g.params.noise(s.Repeats)
	}
	if n == 0 {
		return tr, nil
	}
	var err error
	if tr.root, err = cholesky(k, n); err != nil {
		return nil, err
	}
	forward(tr.root, tr.alpha)
	tr.surprise = sumOfSquares(tr.alpha)
	backward(tr.root, tr.alpha)
	return tr, nil
}

// predict returns mean and variance of ln(seconds) of one run at x.
func (tr *transfer) predict(x int) (mean, variance float64) {
	p := tr.t.project(x)
	mean, variance = p.mean, tr.t.covariance(p, p)
	if n := len(tr.runs); n > 0 {
		v := make([]float64, n)
		for i, r := range tr.runs {
			v[i] = tr.t.covariance(p, r)
			mean += v[i] * tr.alpha[i]
		}
		forward(tr.root, v)
		for _, c := range v {
			variance -= c * c
		}
	}
	return mean, max(variance, 0) + tr.t.g.params.noise(1)
}

// evidence returns the log density of the runs given the training rows, with
// additional noise of variance extra (RW eq. 5.8).
func (t *target) evidence(runs []predict.Summary, extra float64) (float64, error) {
	n := len(runs)
	k, y := make([]float64, n*n), make([]float64, n)
	ps := make([]*projection, n)
	for i, s := range runs {
		ps[i] = t.project(s.ScaleOut)
		y[i] = math.Log(s.MedianSeconds) - ps[i].mean
		for j := range i + 1 {
			k[i*n+j] = t.covariance(ps[i], ps[j])
		}
		k[i*n+i] += extra
	}
	return logDensity(k, y)
}

// logDensity of y under a normal distribution with mean 0 and the covariance k.
func logDensity(k, y []float64) (float64, error) {
	n := len(y)
	if n == 0 {
		return 0, nil
	}
	root, err := cholesky(k, n)
	if err != nil {
		return 0, err
	}
	v := append([]float64(nil), y...)
	forward(root, v)
	l := -logDiagonal(root) - float64(n)/2*math.Log(2*math.Pi)
	for _, t := range v {
		l -= t * t / 2
	}
	return l, nil
}
