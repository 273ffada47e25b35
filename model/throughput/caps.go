package throughput

import (
	"fmt"
	"math"
	"slices"
)

// RankOneSD is how far a cap is off its rank-one prediction, as the standard deviation
// of the logarithm: measured on 16 curves of parameter-server training on four machine
// types.
const RankOneSD = .15

// Factor is what a machine type's parameter servers take, beside other types': pushes a
// second of any training model are proportional to exp(Log). Only differences between
// factors of one author mean anything.
type Factor struct {
	// Mode: a push in one mode takes another share of a server than in the other.
	Mode        Mode    `json:"mode"`
	MachineType string  `json:"machine_type"`
	Log         float64 `json:"log"`
	// SD is the standard deviation of Log.
	SD float64 `json:"sd"`
}

// Validate says which field cannot be.
func (f Factor) Validate() error {
	if err := f.Mode.Validate(); err != nil {
		return fmt.Errorf("factor: %w", err)
	}
	switch {
	case f.MachineType == "" || len(f.MachineType) > 512:
		return fmt.Errorf("factor: machine type must have 1 to 512 bytes: %w", ErrInvalid)
	case !(math.Abs(f.Log) <= 30):
		return fmt.Errorf("factor of %s: log must be between -30 and 30: %g: %w", f.MachineType, f.Log, ErrInvalid)
	case !(f.SD >= 0 && f.SD <= 30):
		return fmt.Errorf("factor of %s: sd must be between 0 and 30: %g: %w", f.MachineType, f.SD, ErrInvalid)
	}
	return nil
}

// Cap is the most pushes a second that a parameter server took from one training model
// on one machine type.
type Cap struct {
	// Row names the training model, or the author of factors.
	Row, MachineType string
	// Log is the logarithm of the cap, SD its standard deviation.
	Log, SD float64
}

// Caps separates caps of one mode into a level of each row and a factor of each machine type:
// Log = level + factor, by weighted least squares.
type Caps struct {
	mode            Mode
	levels, factors map[string]estimate
	// group tells which rows and machine types are connected by caps; between others
	// nothing carries over.
	group map[node]int
}

type estimate struct{ log, variance float64 }

// node is a row or a machine type.
type node struct {
	machine bool
	name    string
}

// sweeps of alternating least squares: the tables are small and nearly full, on which
// ten reach six digits.
const sweeps = 60

// FitCaps fits all caps of one mode together. Caps that are no numbers are left out.
func FitCaps(mode Mode, caps []Cap) *Caps {
	caps = slices.DeleteFunc(slices.Clone(caps), func(c Cap) bool {
		return math.IsNaN(c.Log) || math.IsInf(c.Log, 0) || !(c.SD >= 0) || math.IsInf(c.SD, 0)
	})
	c := &Caps{mode: mode, levels: map[string]estimate{}, factors: map[string]estimate{}, group: connect(caps)}
	for _, x := range caps {
		c.levels[x.Row], c.factors[x.MachineType] = estimate{}, estimate{}
	}
	for range sweeps {
		weights := c.weights(caps)
		update(c.levels, caps, weights, func(x Cap) (string, float64) { return x.Row, c.factors[x.MachineType].log })
		update(c.factors, caps, weights, func(x Cap) (string, float64) { return x.MachineType, c.levels[x.Row].log })
	}
	return c
}

// weights are the inverse variances of caps, less where a cap is further off than two
// standard deviations, in inverse proportion (Huber 1964): on small machine types some
// jobs never reach a steady cap.
func (c *Caps) weights(caps []Cap) []float64 {
	out := make([]float64, len(caps))
	for i, x := range caps {
		sd := math.Hypot(RankOneSD, x.SD)
		out[i] = 1 / (sd * sd)
		if far := math.Abs(x.Log-c.levels[x.Row].log-c.factors[x.MachineType].log) / (2 * sd); far > 1 {
			out[i] /= far
		}
	}
	return out
}

// update sets each estimate to the weighted mean of its caps less the other side.
func update(to map[string]estimate, caps []Cap, weights []float64, side func(Cap) (name string, other float64)) {
	type sum struct{ w, y float64 }
	sums := map[string]sum{}
	for i, x := range caps {
		name, other := side(x)
		w := weights[i]
		s := sums[name]
		sums[name] = sum{s.w + w, s.y + w*(x.Log-other)}
	}
	for name, s := range sums {
		to[name] = estimate{s.y / s.w, 1 / s.w}
	}
}

// connect numbers the connected parts of the table.
func connect(caps []Cap) map[node]int {
	parent := map[node]node{}
	var find func(node) node
	find = func(n node) node {
		p, ok := parent[n]
		if !ok || p == n {
			parent[n] = n
			return n
		}
		root := find(p)
		parent[n] = root
		return root
	}
	for _, c := range caps {
		parent[find(node{false, c.Row})] = find(node{true, c.MachineType})
	}
	number, group := map[node]int{}, map[node]int{}
	for n := range parent {
		root := find(n)
		if _, ok := number[root]; !ok {
			number[root] = len(number)
		}
		group[n] = number[root]
	}
	return group
}

// Predict returns the logarithm of a row's cap on a machine type and its standard
// deviation. It is false where the caps tell nothing of it.
func (c *Caps) Predict(row, machineType string) (log, sd float64, ok bool) {
	r, known := c.group[node{false, row}]
	m, also := c.group[node{true, machineType}]
	if !known || !also || r != m {
		return 0, 0, false
	}
	level, factor := c.levels[row], c.factors[machineType]
	return level.log + factor.log, math.Sqrt(RankOneSD*RankOneSD + level.variance + factor.variance), true
}

// Between is the difference of two machine types' factors, to - from. It is false where
// the caps tell nothing of it.
func (c *Caps) Between(from, to string) (log float64, ok bool) {
	a, known := c.group[node{true, from}]
	b, also := c.group[node{true, to}]
	if !known || !also || a != b {
		return 0, false
	}
	return c.factors[to].log - c.factors[from].log, true
}

// Factors lists the machine types' factors by name, with mean 0, of the largest
// connected part of the table.
func (c *Caps) Factors() []Factor {
	size := map[int]int{}
	names := make([]string, 0, len(c.factors))
	for name := range c.factors {
		size[c.group[node{true, name}]]++
		names = append(names, name)
	}
	slices.Sort(names)
	best := -1
	for _, name := range names { // by name, so that ties have one winner
		if g := c.group[node{true, name}]; best < 0 || size[g] > size[best] {
			best = g
		}
	}
	var out []Factor
	var mean float64
	for _, name := range names {
		if c.group[node{true, name}] == best {
			f := c.factors[name]
			out = append(out, Factor{c.mode, name, f.log, math.Sqrt(f.variance)})
			mean += f.log
		}
	}
	for i := range out {
		out[i].Log -= mean / float64(len(out))
	}
	return out
}
