package ensemble

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// Two traces agree where the log evidence that they have one shape, minus that of
// each having its own, is above MinAgreement nats. With a shared level they have one
// level too; otherwise each has its own, and their shapes are only correlated
// (SiblingCorrelation).
//
// With the factor A = L L' of the first trace and the cross covariance C, the joint
// evidence needs M = L^-1 C and the factor of the Schur complement B - M' M only. The
// rows of L^-1 K over all configurations are computed once a trace, so that M is
// gathered from them for each of its partners.

// partner is a series as the first of pairs.
type partner struct {
	e *evaluator
	s *series
	// solved is, a scale, L^-1 K: columns of the table x runs.
	solved [][]float64
	// room is for one pair, block behind solved.
	room  []float64
	block *[]float64
}

// free ends the use of a partner.
func (a *partner) free() { a.e.rooms.Put(a.block) }

func (e *evaluator) newPartner(s *series) *partner {
	n, columns := len(s.at), e.table.columns
	a := &partner{e: e, s: s, solved: make([][]float64, len(s.fits))}
	room := e.room(n * len(columns))
	defer e.rooms.Put(room)
	rows := rowsOf(*room, n, len(columns))
	grams := make([]gram, n)
	for i, p := range s.at {
		grams[i] = e.table.row(p, 0)
	}
	a.block = e.room(len(s.fits) * n * len(columns))
	block := *a.block
	for k, sd := range e.p.ShapeSDs {
		for i, g := range grams {
			for c, p := range columns {
				rows[i][c] = g.fixed[p] + sd*sd*g.matern[p]
			}
		}
		forwardRows(s.fits[k].factor, n, rows)
		a.solved[k], block = block[:n*len(columns)], block[n*len(columns):]
		for i, row := range rows {
			for c, v := range row {
				a.solved[k][c*n+i] = v
			}
		}
	}
	return a
}

// undecided is how many nats below the decision a scale may be left out of it: four
// of them together move it by less than 1e-12.
const undecided = 30

// agrees says whether the log Bayes factor of one shape against two is above least, in
// nats. It looks at the most likely scales first and stops where the rest
// cannot change the answer.
func (a *partner) agrees(b *series, shared bool, least float64) (bool, error) {
	scales := len(a.s.fits)
	decision := least + a.s.alone + b.alone + math.Log(float64(scales))
	order := make([]int, scales)
	for k := range order {
		order[k] = k
	}
	slices.SortStableFunc(order, func(i, j int) int {
		return cmp.Compare(a.s.fits[j].log+b.fits[j].log, a.s.fits[i].log+b.fits[i].log)
	})
	sum := 0. // in units of exp(decision)
	for _, k := range order {
		log, err := a.jointEvidence(b, k, shared, decision-undecided)
		if err != nil {
			return false, err
		}
		if sum += math.Exp(log - decision); sum > 1 {
			return true, nil
		}
	}
	return false, nil
}

// bayesFactor is the log Bayes factor that agrees is about, in nats.
func (a *partner) bayesFactor(b *series, shared bool) (float64, error) {
	logs := make([]float64, len(a.s.fits))
	for k := range logs {
		var err error
		if logs[k], err = a.jointEvidence(b, k, shared, math.Inf(-1)); err != nil {
			return 0, err
		}
	}
	return logSumExp(logs) - math.Log(float64(len(logs))) - a.s.alone - b.alone, nil
}

// jointEvidence is the log evidence of both series at the k-th scale. Once it is sure
// to be below floor it returns -Inf.
func (a *partner) jointEvidence(b *series, k int, shared bool, floor float64) (float64, error) {
	e, fit, sd := a.e, &a.s.fits[k], a.e.p.ShapeSDs[k]
	n1, n2 := len(a.s.y), len(b.y)
	level := e.p.SupportLevelSD * e.p.SupportLevelSD
	if need := n1 + n2*(n1+n2+1); len(a.room) < need {
		a.room = make([]float64, need)
	}
	own, m, factor, solved := a.room[:n1], a.room[n1:n1+n2*n1], a.room[n1+n2*n1:n1+n2*(n1+n2)], a.room[n1+n2*(n1+n2):n1+n2*(n1+n2+1)]

	// With one level there is one mean, and the cross covariance has the level's variance.
	correlation, shift, ones := e.p.SiblingCorrelation, 0., 0.
	copy(own, fit.solved)
	if shared {
		mean := (a.s.mean*float64(n1) + b.mean*float64(n2)) / float64(n1+n2)
		floats.AddScaled(own, a.s.mean-mean, fit.ones)
		correlation, shift, ones = 1, b.mean-mean, level
	}
	for j, p := range b.at {
		row := m[j*n1 : (j+1)*n1]
		c := e.table.column[p] * n1
		for t, v := range a.solved[k][c : c+n1] {
			row[t] = correlation*v + ones*fit.ones[t]
		}
	}

	// The conditional variance of a run is at least its noise, which bounds what the
	// rest can add to the logarithm of the density.
	log, rest, pivots := -.5*floats.Dot(own, own)-fit.logDiag, b.noiseBefore[n2], 1.
	for i := range n2 {
		mi, row := m[i*n1:(i+1)*n1], factor[i*n2:i*n2+i+1]
		b.g.at(row, i, sd*sd, level)
		row[i] += b.noise[i]
		for j := range i {
			other := factor[j*n2 : j*n2+j+1]
			row[j] = (row[j] - floats.Dot(mi, m[j*n1:(j+1)*n1]) - floats.Dot(row[:j], other[:j])) / other[j]
		}
		v := row[i] - floats.Dot(mi, mi) - floats.Dot(row[:i], row[:i])
		if !(v > 0) {
			return 0, ErrNotPositiveDefinite
		}
		row[i] = math.Sqrt(v)
		solved[i] = (b.residual[i] + shift - floats.Dot(mi, own) - floats.Dot(row[:i], solved[:i])) / row[i]
		log -= .5 * solved[i] * solved[i]
		if log+rest < floor {
			return math.Inf(-1), nil
		}
		// One logarithm for several pivots, none of which can overflow the product.
		if pivots *= v; i%4 == 3 || i == n2-1 {
			log, pivots = log-.5*math.Log(pivots), 1
			rest = b.noiseBefore[n2] - b.noiseBefore[i+1]
		}
	}
	return log, nil
}

// agreements returns the symmetric matrix of who agrees with whom (false on the
// diagonal). All are of one workload, and have one level as far as they tell, or each
// is a workload of its own.
func (e *evaluator) agreements(all []*series, oneWorkload bool) ([][]bool, error) {
	n := len(all)
	agree := make([][]bool, n)
	for i := range agree {
		agree[i] = make([]bool, n)
	}
	err := each(n-1, func(i int) error {
		a := e.newPartner(all[i])
		defer a.free()
		for j := i + 1; j < n; j++ {
			shared, least := oneWorkload, e.p.MinAgreement
			if oneWorkload && (all[i].centred || all[j].centred) {
				shared, least = false, e.p.MinCentredAgreement
			}
			yes, err := a.agrees(all[j], shared, least)
			if err != nil {
				return err
			}
			agree[i][j], agree[j][i] = yes, yes
		}
		return nil
	})
	return agree, err
}

// largestAgreement returns the indices of the trace with most partners (the first
// of equals) and its partners, in order, and the share of all pairs that agree.
func largestAgreement(agree [][]bool) (members []int, share float64) {
	n := len(agree)
	if n < 2 {
		return []int{0}, 1
	}
	best, most, pairs := 0, -1, 0
	for i, row := range agree {
		partners := count(row)
		pairs += partners
		if partners > most {
			best, most = i, partners
		}
	}
	for i := range n {
		if i == best || agree[best][i] {
			members = append(members, i)
		}
	}
	return members, float64(pairs) / float64(n*(n-1))
}

func count(row []bool) int {
	n := 0
	for _, b := range row {
		if b {
			n++
		}
	}
	return n
}
