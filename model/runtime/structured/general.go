package structured

import (
	"context"
	"math"

	"gonum.org/v1/gonum/blas/blas64"

	"github.com/karasu-project/karasu/model/runtime"
)

// Options of a learner. The zero value is the default.
type Options struct {
	// FixedParams leaves the constants at their defaults, however many contexts.
	FixedParams bool
	// NoFamily predicts from other contexts only, without the local family.
	NoFamily bool
	// LocalOnly predicts from the target's runs only, with the local family.
	LocalOnly bool
}

// Learner makes structured processes.
type Learner struct {
	name    string
	options Options
}

// New returns a learner that reports show under a name.
func New(name string, o Options) *Learner { return &Learner{name, o} }

// Name implements [predict.Learner].
func (l *Learner) Name() string { return l.name }

// Fit implements [predict.Learner]. Constants are fitted from [FitContexts] contexts
// on: less than a second for 300 rows.
func (l *Learner) Fit(ctx context.Context, history []predict.History) (predict.General, error) {
	if err := predict.ValidateHistory(history); err != nil {
		return nil, err
	}
	all := blocks(history)
	if l.options.LocalOnly {
		all = nil
	}
	params := defaults
	if !l.options.FixedParams && len(all) >= FitContexts {
		part := thin(all, maxFitRows)
		var err error
		if params, err = fitParams(ctx, newRows(newEncoder(contextsOf(part)), part)); err != nil {
			return nil, err
		}
	}
	return newGeneral(l.options, params, all)
}

// General is a process conditioned on all contexts of the history, or on the points
// of a peer's weights.
type General struct {
	options Options
	params  Params
	blocks  []block
	// virtual are the points of weights; then there are no blocks.
	virtual *virtual
	rows    *rows
	// root and alpha solve the training rows: K = root root^T, alpha = K^-1 y.
	root  blas64.Triangular
	alpha []float64
	nodes []node
	k     *squares
}

func newGeneral(o Options, p Params, all []block) (*General, error) {
	all = thin(all, MaxRows)
	return condition(o, p, all, newEncoder(contextsOf(all)))
}

func condition(o Options, p Params, all []block, e *encoder) (*General, error) {
	g := &General{options: o, params: p, blocks: all}
	return g, g.solve(newRows(e, all))
}

// solve conditions the process on rows.
func (g *General) solve(r *rows) error {
	g.rows, g.k, g.nodes = r, g.params.squares(), r.nodes(g.params[exponent])
	var err error
	if g.root, err = cholesky(r.covariance(&g.params), len(r.y)); err != nil {
		return err
	}
	g.alpha = append([]float64(nil), r.y...)
	forward(g.root, g.alpha)
	backward(g.root, g.alpha)
	return nil
}

// wider returns the process with features scaled so that a context is within their
// extent.
func (g *General) wider(c predict.Context) (*General, error) {
	if g.virtual == nil {
		return condition(g.options, g.params, g.blocks, newEncoder(append(contextsOf(g.blocks), c)))
	}
	e, linear := g.rows.encoder.extend(c)
	v := *g.virtual
	v.args = make([][]float64, len(g.virtual.args))
	for i, args := range g.virtual.args {
		v.args[i] = append([]float64(nil), args...)
		for _, k := range linear {
			v.args[i][k] = math.Exp(args[k])
		}
	}
	w := &General{options: g.options, params: g.params, virtual: &v}
	return w, w.solve(v.rows(e))
}

// Params returns the constants in use.
func (g *General) Params() Params { return g.params }

// Refit implements [predict.Refitter]: the constants stay.
func (g *General) Refit(history []predict.History) (predict.General, error) {
	if err := predict.ValidateHistory(history); err != nil {
		return nil, err
	}
	return newGeneral(g.options, g.params, blocks(history))
}

// preparedScaleOuts are projected when a context is conditioned, so that a
// prediction takes a microsecond: 64 times 40 microseconds with 280 rows. Others are
// projected when they are asked for.
const preparedScaleOuts = 64

// Condition implements [predict.General].
func (g *General) Condition(context predict.Context, runs []predict.Observation) (predict.Predictor, error) {
	t, err := g.Target(context)
	if err != nil {
		return nil, err
	}
	for x := range preparedScaleOuts {
		t.(*target).project(x + 1)
	}
	return t.Condition(runs)
}
