package checkpoint

import (
	"cmp"
	"math"
	"slices"
)

// chain finds the best sequence of candidates by dynamic programming over the last cut
// and the number of cuts, keeping the trade-offs between time saved and bytes written.
type chain struct {
	v          *values
	f          Failures
	candidates []restartCut
	width      float64
	exact      bool
}

// label is a sequence that ends in some candidate: saved counts what is saved before
// that candidate is ready, and cost all bytes.
type label struct {
	saved, cost float64
	previous    int32 // candidate, or -1
	at          int32 // label of the previous one
}

// end is the best sequence of some length: its last candidate and label.
type end struct {
	saved         float64
	length        int // cuts less one; -1 is none
	candidate, at int
}

// plans returns the best plan of at most one to k cuts.
func (c *chain) plans(k int) []Plan {
	g := c.v.g
	n := len(c.candidates)
	last := make([]float64, n) // what a candidate saves as the last one
	for i := range n {
		last[i] = c.gain(i, g.end)
	}
	table := make([][][]label, k) // by number of cuts less one, and candidate
	best := end{length: -1}
	var out []Plan
	var marginal []float64
	for r := range k {
		table[r] = make([][]label, n)
		for j := range n {
			list := []label{{cost: c.candidates[j].cost, previous: -1}}
			if r > 0 {
				list = c.extend(table[r-1], j)
			}
			table[r][j] = list
			for at, l := range list {
				if saved := l.saved + last[j]; saved > best.saved*(1+1e-12) {
					best = end{saved, r, j, at}
				}
			}
		}
		marginal = append(marginal, best.saved)
		p := c.trace(table, best)
		p.Marginal = slices.Clone(marginal)
		p.Exact = c.exact // after labels may have been left out
		out = append(out, p)
	}
	return out
}

// trace follows the labels back to the plan.
func (c *chain) trace(table [][][]label, e end) Plan {
	p := Plan{LostSeconds: c.f.lost(c.v.g.end), SavedSeconds: e.saved, FirstSeconds: c.v.resume.first}
	if e.length < 0 {
		return p
	}
	p.DurableBytes = table[e.length][e.candidate][e.at].cost
	p.WriteSeconds = p.DurableBytes / c.width
	for r, i, at := e.length, e.candidate, e.at; r >= 0; r-- {
		p.Cuts = append(p.Cuts, c.v.cut(c.candidates[i].in))
		l := table[r][i][at]
		i, at = int(l.previous), int(l.at)
	}
	slices.Reverse(p.Cuts)
	return p
}

// gain is what candidate i saves by failures up to a time.
func (c *chain) gain(i int, until float64) float64 {
	a, g := c.candidates[i], c.v.g
	return c.f.gain(c.v.resume.first, a.start, a.ready, until, g.end)
}

// extend appends candidate j to shorter sequences.
func (c *chain) extend(shorter [][]label, j int) []label {
	var list []label
	b := c.candidates[j]
	for i := range j {
		a := c.candidates[i]
		if a.start >= b.start {
			continue
		}
		gain := c.gain(i, b.ready)
		for at, l := range shorter[i] {
			if cost := l.cost + b.cost; cost <= c.v.budget {
				list = append(list, label{saved: l.saved + gain, cost: cost, previous: int32(i), at: int32(at)})
			}
		}
	}
	return c.best(list)
}

// best keeps the labels that no other beats in both saved and cost.
func (c *chain) best(list []label) []label {
	slices.SortStableFunc(list, func(a, b label) int {
		return cmp.Or(cmp.Compare(a.cost, b.cost), cmp.Compare(b.saved, a.saved))
	})
	out := list[:0]
	most := math.Inf(-1)
	for _, l := range list {
		if l.saved > most {
			most = l.saved
			out = append(out, l)
		}
	}
	if len(out) > labels { // keep the ends and an even choice between
		c.exact = false
		thin := make([]label, labels)
		for i := range thin {
			thin[i] = out[i*(len(out)-1)/(labels-1)]
		}
		return thin
	}
	return slices.Clip(out)
}
