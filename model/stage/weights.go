package stage

import (
	"errors"
	"fmt"
	"math"

	"github.com/karasu-project/karasu/model/trees"
)

var (
	// ErrWeights is wrapped by errors about weights that cannot be used.
	ErrWeights = errors.New("unusable weights of a stage model")
	// ErrNewer says that weights count an operator that this version does not know, which
	// is no fault of who made them. It comes with ErrWeights.
	ErrNewer = errors.New("it counts an operator that is not known here; its author has a newer version")
)

// Family names the model and its features with a version.
const Family = "stage-trees/1"

// Bounds of weights, which may come from anybody.
const (
	// MaxNodes bounds the nodes of all trees: 6 bytes each.
	MaxNodes      = 65_536
	maxOperators  = 512
	maxTrained    = 1 << 30
	maxLeafOrStep = 2 * maxLog
)

// Weights are a general model in a form that can be shared.
type Weights struct {
	Family string
	// Operators are hashes of the public operators that features count, in their order.
	Operators []uint64
	// Forests of duration, task time and output size at submission, then at a stage's
	// start. One without trees is not known.
	Forests []WeightForest
	// End corrects the ends of the schedule, Blend and Shift say by how much; without
	// trees it does not.
	End          WeightForest
	Blend, Shift float64
	// Jobs and Stages that the model learned from.
	Jobs, Stages int
}

// WeightForest is a forest, and what its spread says about its error: the standard
// deviation is Factor x sqrt(variance among trees + Floor), in logarithms.
type WeightForest struct {
	trees.Parts
	Factor, Floor float64
}

// Weights returns a smaller model of the same data: every leaf is a mean over at least
// five stages. It wraps [ErrNoHistory] where too little is known to share it so.
func (g *General) Weights() (*Weights, error) {
	if g.shared != nil { // it came as weights
		return g.shared, nil
	}
	if g.jobs < folds {
		return nil, fmt.Errorf("%w: a model of %d jobs is not shared, it needs %d", ErrNoHistory, g.jobs, folds)
	}
	if n := len(g.tables[atSubmission][durationTarget].y); n < 4*sharedLeaf {
		return nil, fmt.Errorf("%w: a model of %d stages is not shared, it needs %d", ErrNoHistory, n, 4*sharedLeaf)
	}
	w := &Weights{Family: Family, Jobs: g.jobs, Stages: g.stages}
	for _, o := range publicOperators {
		w.Operators = append(w.Operators, operatorHash(o))
	}
	for _, tables := range g.tables {
		for _, r := range tables {
			f, err := g.smaller(r)
			if err != nil {
				return nil, err
			}
			w.Forests = append(w.Forests, f)
		}
	}
	var err error
	w.End, err = g.smaller(g.corrections)
	w.Blend, w.Shift = g.stack.blend, g.stack.shift
	return w, err
}

// smaller grows a forest for others; it has no trees where rows are too few.
func (g *General) smaller(r rows) (WeightForest, error) {
	if len(r.y) < 4*sharedLeaf {
		return WeightForest{}, nil
	}
	o := trees.ForestOptions{MinLeaf: max(sharedLeaf, len(r.y)/sharedLeaves), MinSplit: 2 * sharedLeaf, Features: splitFeatures, Seed: g.seed}
	f, _, err := fitForest(r, sharedTrees, o)
	if err != nil {
		return WeightForest{}, err
	}
	return f.weights(), nil
}

func (f *forest) weights() WeightForest {
	w := WeightForest{Factor: f.factor, Floor: f.floor}
	for _, b := range f.blocks {
		p := b.Parts()
		w.Trees += p.Trees
		w.Features = append(w.Features, p.Features...)
		w.Values = append(w.Values, p.Values...)
	}
	return w
}

// FromWeights returns the model of weights, in a time that is linear in their nodes. It
// wraps [ErrWeights], and [ErrNewer] where that is why.
func FromWeights(w *Weights) (*General, error) {
	if w == nil || w.Family != Family {
		return nil, fmt.Errorf("%w: not of family %s", ErrWeights, Family)
	}
	if len(w.Forests) != 2*int(targets) || len(w.Operators) > maxOperators ||
		w.Jobs < 1 || w.Jobs > maxTrained || w.Stages < w.Jobs || w.Stages > maxTrained {
		return nil, fmt.Errorf("%w: %d forests, %d operators, of %d jobs and %d stages",
			ErrWeights, len(w.Forests), len(w.Operators), w.Jobs, w.Stages)
	}
	nodes := len(w.End.Features)
	for _, f := range w.Forests {
		nodes += len(f.Features)
	}
	if nodes > MaxNodes {
		return nil, fmt.Errorf("%w: %d nodes, want at most %d", ErrWeights, nodes, MaxNodes)
	}
	columns, err := w.columns()
	if err != nil {
		return nil, err
	}
	g := &General{jobs: w.Jobs, stages: w.Stages, shared: w, stack: &stack{}}
	for i, f := range w.Forests {
		k, t := knowledge(i/int(targets)), target(i%int(targets))
		d := width(k)
		if t == durationTarget {
			d += chainWidth
		}
		if g.forests[k][t], err = f.forest(d, columns); err != nil {
			return nil, fmt.Errorf("%w: forest %d: %w", ErrWeights, i, err)
		}
	}
	if g.forests[atSubmission][durationTarget] == nil {
		return nil, fmt.Errorf("%w: no forest of durations", ErrWeights)
	}
	if g.stack.forest, err = w.End.forest(submissionWidth+stackWidth, columns); err != nil {
		return nil, fmt.Errorf("%w: correction of ends: %w", ErrWeights, err)
	}
	if !(w.Blend >= 0 && w.Blend <= 1 && math.Abs(w.Shift) <= maxCorrection) {
		return nil, fmt.Errorf("%w: blend %g, shift %g", ErrWeights, w.Blend, w.Shift)
	}
	g.stack.blend, g.stack.shift = w.Blend, w.Shift
	return g, nil
}

// columns maps the features of the weights to those here: operators by their hash, since
// the sender may know fewer.
func (w *Weights) columns() ([]int32, error) {
	place := make(map[uint64]int32, len(publicOperators))
	for i, o := range publicOperators {
		place[operatorHash(o)] = int32(planFeatures + i)
	}
	var columns []int32
	for i := range int32(planFeatures) {
		columns = append(columns, i)
	}
	for i, h := range w.Operators {
		c, ok := place[h]
		if !ok {
			return nil, fmt.Errorf("%w: operator %d: %w", ErrWeights, i, ErrNewer)
		}
		columns = append(columns, c)
	}
	for i := submissionWidth - 1; i < width(atStart)+chainWidth+stackWidth; i++ {
		columns = append(columns, int32(i))
	}
	return columns, nil
}

// forest of d features; nil where it has no trees.
func (f WeightForest) forest(d int, columns []int32) (*forest, error) {
	if f.Trees == 0 && len(f.Features) == 0 {
		return nil, nil //nolint:nilnil // none is not an error
	}
	if !(f.Factor >= 0 && f.Factor <= maxLog && f.Floor >= 0 && f.Floor <= maxLog*maxLog) {
		return nil, fmt.Errorf("%w: factor %g and floor %g of its error", trees.ErrInput, f.Factor, f.Floor)
	}
	if len(f.Values) != len(f.Features) {
		return nil, fmt.Errorf("%w: %d features and %d values of nodes", trees.ErrInput, len(f.Features), len(f.Values))
	}
	p := trees.Parts{Trees: f.Trees, Values: f.Values, Features: make([]int32, len(f.Features))}
	for i, c := range f.Features {
		switch {
		case c == -1:
			p.Features[i] = -1
			if !(math.Abs(float64(f.Values[i])) <= maxLeafOrStep) {
				return nil, fmt.Errorf("%w: leaf %d is not a logarithm of seconds or bytes", trees.ErrInput, i)
			}
		case c >= 0 && int(c) < len(columns):
			p.Features[i] = columns[c]
		default:
			return nil, fmt.Errorf("%w: node %d has feature %d", trees.ErrInput, i, c)
		}
	}
	block, err := p.Forest(d)
	if err != nil {
		return nil, err
	}
	return &forest{blocks: []*trees.Forest{block}, calibration: calibration{factor: f.Factor, floor: f.Floor}}, nil
}
