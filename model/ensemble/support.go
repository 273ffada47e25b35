package ensemble

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// support is one workload's knowledge after its traces were tested against each
// other.
type support struct {
	class Class
	// traces are the indices into the ensemble's traces that were pooled.
	traces []int
	pooled *series
	// credence is plausibility x agreement within x agreement between workloads.
	credence float64
	// inputBytes is the median over the workload's traces; 0 is unknown.
	inputBytes float64
}

// supports groups traces by class and workload, drops implausible ones, pools
// those that agree, and tests the workloads of a class against each other
// (steps 5 and 7 of the method, see the package comment).
func (e *evaluator) supports(traces []Trace, center []float64) ([]*support, error) {
	type key struct {
		class    Class
		workload string
	}
	groups := map[key][]int{}
	for i, t := range traces {
		if e.p.Mass[t.Class] > 0 {
			k := key{t.Class, t.Workload}
			groups[k] = append(groups[k], i)
		}
	}
	keys := slices.SortedFunc(maps.Keys(groups), func(a, b key) int {
		// By appearance, since names may be keyed hashes and sums depend on the order.
		return cmp.Or(cmp.Compare(a.class, b.class), cmp.Compare(groups[a][0], groups[b][0]))
	})
	// All positions first, then what is computed of each trace alone.
	series, plausible := make([]*series, len(traces)), make([]float64, len(traces))
	var indices []int
	for _, k := range keys {
		for _, i := range groups[k] {
			series[i] = e.newSeries(&traces[i], center)
			indices = append(indices, i)
		}
	}
	e.table.fill()
	if err := each(len(indices), func(k int) error {
		i := indices[k]
		if err := e.resolveBounds(series[i]); err != nil {
			return err
		}
		if err := e.fit(series[i]); err != nil {
			return err
		}
		plausible[i] = e.plausibility(series[i])
		return nil
	}); err != nil {
		return nil, err
	}
	var all []*support
	for _, k := range keys {
		s, err := e.workload(traces, series, plausible, groups[k])
		if err != nil {
			return nil, err
		}
		s.class = k.class
		all = append(all, s)
	}
	return all, e.weighClasses(all)
}

// workload pools the traces at the given indices, all of one workload.
func (e *evaluator) workload(traces []Trace, series []*series, plausible []float64, indices []int) (*support, error) {
	var s support
	var bytes []float64
	best := indices[0]
	for _, i := range indices {
		if traces[i].InputBytes > 0 {
			bytes = append(bytes, traces[i].InputBytes)
		}
		if plausible[i] > plausible[best] {
			best = i
		}
	}
	kept := slices.DeleteFunc(slices.Clone(indices), func(i int) bool { return plausible[i] < e.p.MinPlausible })
	if len(kept) == 0 {
		kept = []int{best}
	}
	if len(bytes) > 0 {
		slices.Sort(bytes)
		s.inputBytes = linearQuantile(bytes, .5)
	}
	agree, err := e.agreements(pick(series, kept), true)
	if err != nil {
		return nil, err
	}
	members, share := largestAgreement(agree)
	s.traces = pick(kept, members)
	s.credence = stat.Mean(pick(plausible, s.traces), nil) * share
	s.pooled, err = e.pool(pick(series, s.traces))
	return &s, err
}

// pick returns the values at the given indices.
func pick[T any](values []T, at []int) []T {
	out := make([]T, len(at))
	for i, k := range at {
		out[i] = values[k]
	}
	return out
}

// weighClasses multiplies every support's credence by the share of the workloads of
// its class that agree with it, each with its own level.
func (e *evaluator) weighClasses(all []*support) error {
	for class := range classes {
		var of []*support
		var pooled []*series
		for _, s := range all {
			if s.class == class {
				of, pooled = append(of, s), append(pooled, s.pooled)
			}
		}
		if len(of) < 2 {
			continue
		}
		agree, err := e.agreements(pooled, false)
		if err != nil {
			return err
		}
		for i, s := range of {
			if e.p.SelfAgreement {
				s.credence *= float64(1+count(agree[i])) / float64(len(of))
			} else {
				s.credence *= float64(count(agree[i])) / float64(len(of)-1)
			}
		}
	}
	return nil
}

// shift is a displacement of the scale-out, in doublings, and its prior.
type shift struct{ k, mass float64 }

// shifts returns where a support's shape may be displaced to: a job with twice
// the data behaves on twice the nodes as this one does.
func (e *evaluator) shifts(supportBytes, targetBytes float64) []shift {
	if supportBytes > 0 && targetBytes > 0 {
		// Quarters of a doubling, so that displaced points meet others exactly.
		k := math.RoundToEven(4*math.Log2(targetBytes/supportBytes)) / 4
		if math.Abs(k) <= e.p.MaxShift {
			return []shift{{k, e.p.KnownShiftMass}, {0, 1 - e.p.KnownShiftMass}}
		}
	}
	all := make([]shift, len(e.p.Shifts))
	for i, k := range e.p.Shifts {
		all[i] = shift{k, e.p.ShiftMass[i]}
	}
	return all
}
