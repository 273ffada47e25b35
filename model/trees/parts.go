package trees

import (
	"fmt"
	"math"
)

// Parts are trees in a form that can be stored and shared: the nodes of one tree after
// the other in preorder, left before right. Feature is -1 for a leaf, whose Value is
// what it predicts; otherwise Value is the threshold that the left side stays at or below.
type Parts struct {
	Trees    int
	Features []int32
	Values   []float32
}

// Bounds of parts, which may come from anybody.
const (
	maxNodes = 1 << 20
	// maxLevels bounds the height of a tree that is read.
	maxLevels = 200
)

// Parts returns the forest's trees. Thresholds and values are rounded to 32 bits.
func (f *Forest) Parts() Parts { return parts(f.trees) }

func parts(list [][]node) Parts {
	p := Parts{Trees: len(list)}
	for _, t := range list {
		p.add(t, 0)
	}
	return p
}

func (p *Parts) add(t []node, at int) {
	n := t[at]
	p.Features = append(p.Features, int32(n.feature))
	if n.feature < 0 {
		p.Values = append(p.Values, float32(n.value))
		return
	}
	p.Values = append(p.Values, float32(n.threshold))
	p.add(t, n.left)
	p.add(t, n.right)
}

// Forest returns the forest of parts over d features. It wraps [ErrInput].
func (p Parts) Forest(d int) (*Forest, error) {
	list, err := p.read(d)
	if err != nil {
		return nil, err
	}
	return &Forest{trees: list}, nil
}

func (p Parts) read(d int) ([][]node, error) {
	if d < 1 || d > MaxFeatures || p.Trees < 1 || p.Trees > maxTrees || len(p.Features) != len(p.Values) ||
		len(p.Features) > maxNodes {
		return nil, fmt.Errorf("%w: %d trees of %d features and %d values over %d features",
			ErrInput, p.Trees, len(p.Features), len(p.Values), d)
	}
	r := reader{Parts: p, d: d}
	list := make([][]node, 0, p.Trees)
	for range p.Trees {
		r.tree = nil
		if err := r.node(0); err != nil {
			return nil, err
		}
		list = append(list, r.tree)
	}
	if r.at != len(p.Features) {
		return nil, fmt.Errorf("%w: %d nodes behind the last tree", ErrInput, len(p.Features)-r.at)
	}
	return list, nil
}

// reader reads one tree after the other.
type reader struct {
	Parts
	d, at int
	tree  []node
}

func (r *reader) node(level int) error {
	if r.at >= len(r.Features) || level > maxLevels {
		return fmt.Errorf("%w: a tree ends early or is higher than %d", ErrInput, maxLevels)
	}
	feature, value := int(r.Features[r.at]), float64(r.Values[r.at])
	if feature < -1 || feature >= r.d || !(math.Abs(value) <= math.MaxFloat32) {
		return fmt.Errorf("%w: node %d has feature %d and value %g", ErrInput, r.at, feature, value)
	}
	r.at++
	at := len(r.tree)
	r.tree = append(r.tree, node{feature: feature, threshold: value, value: value})
	if feature < 0 {
		return nil
	}
	r.tree[at].left = len(r.tree)
	if err := r.node(level + 1); err != nil {
		return err
	}
	r.tree[at].right = len(r.tree)
	return r.node(level + 1)
}
