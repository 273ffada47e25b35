package ensemble

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
)

// bayesFactor is the log evidence that two traces have one shape, minus that of
// each having its own; in nats. With shared, they have one level too; otherwise
// each has its own, and their shapes are only correlated (SiblingCorrelation).
//
// The factor of the first trace alone is the leading block of the joint one, so
// only the second trace's rows are factorised.
func (e *evaluator) bayesFactor(a, b *series, shared bool) (float64, error) {
	n1, n2 := len(a.y), len(b.y)
	n := n1 + n2
	cross := e.prior.gram(b.x, a.x)
	level := e.p.SupportLevelSD * e.p.SupportLevelSD
	crossLevel := 0.
	if shared {
		crossLevel = level
	}

	mean1, mean2 := stat.Mean(a.y, nil), stat.Mean(b.y, nil)
	correlation := e.p.SiblingCorrelation
	if shared {
		correlation = 1
		mean1 = (mean1*float64(n1) + mean2*float64(n2)) / float64(n)
		mean2 = mean1
	}

	// The rows of b in the factor of the joint covariance, n2 x n, and the solution.
	if need := (n2 + 1) * n; len(e.scratch) < need {
		e.scratch = make([]float64, need)
	}
	rows, solved := e.scratch[:n2*n], e.scratch[n2*n:(n2+1)*n]
	logs := make([]float64, len(e.p.ShapeSDs))
	for k, sd := range e.p.ShapeSDs {
		if shared {
			for i, v := range a.y {
				solved[i] = v - mean1 - a.prior[i]
			}
			forward(a.factors[k], n1, solved[:n1])
		} else {
			copy(solved, a.solved[k])
		}
		logDiag := a.logDiag[k]
		for i := range n2 {
			row := rows[i*n : i*n+n1+i+1]
			cross.at(row[:n1], i, sd*sd, crossLevel)
			if correlation != 1 {
				floats.Scale(correlation, row[:n1])
			}
			b.g.at(row[n1:], i, sd*sd, level)
			row[n1+i] += b.noise[i]

			forward(a.factors[k], n1, row[:n1])
			for j := range i {
				other := rows[j*n : j*n+n1+j+1]
				row[n1+j] = (row[n1+j] - floats.Dot(row[:n1+j], other[:n1+j])) / other[n1+j]
			}
			v := row[n1+i] - floats.Dot(row[:n1+i], row[:n1+i])
			if !(v > 0) {
				return 0, ErrNotPositiveDefinite
			}
			row[n1+i] = math.Sqrt(v)
			logDiag += math.Log(row[n1+i])
			solved[n1+i] = (b.y[i] - mean2 - b.prior[i] - floats.Dot(row[:n1+i], solved[:n1+i])) / row[n1+i]
		}
		logs[k] = -.5*floats.Dot(solved, solved) - logDiag
	}
	return logSumExp(logs) - math.Log(float64(len(logs))) - a.alone - b.alone, nil
}

// agreements returns the symmetric matrix of who agrees with whom (false on the
// diagonal): one shape for both is not worse than two by more than a nat.
func (e *evaluator) agreements(all []*series, shared bool) ([][]bool, error) {
	agree := make([][]bool, len(all))
	for i := range agree {
		agree[i] = make([]bool, len(all))
		for j := range i {
			factor, err := e.bayesFactor(all[j], all[i], shared && !all[i].centred && !all[j].centred)
			if err != nil {
				return nil, err
			}
			agree[i][j] = factor > e.p.MinAgreement
			agree[j][i] = agree[i][j]
		}
	}
	return agree, nil
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
