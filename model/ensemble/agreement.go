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
	if shared {
		mean1 = (mean1*float64(n1) + mean2*float64(n2)) / float64(n)
		mean2 = mean1
	}
	residual := make([]float64, n)
	for i, v := range a.y {
		residual[i] = v - mean1 - a.prior[i]
	}
	for i, v := range b.y {
		residual[n1+i] = v - mean2 - b.prior[i]
	}

	correlation := 1.
	if !shared {
		correlation = e.p.SiblingCorrelation
	}
	joint, solved := make([]float64, n*n), make([]float64, n)
	logs := make([]float64, len(e.p.ShapeSDs))
	for k, sd := range e.p.ShapeSDs {
		logDiag := 0.
		for i := range n1 {
			copy(joint[i*n:i*n+i+1], a.factors[k][i*n1:i*n1+i+1])
			logDiag += math.Log(joint[i*n+i])
		}
		for i := range n2 {
			row := joint[(n1+i)*n:]
			cross.at(row[:n1], i, sd*sd, crossLevel)
			if correlation != 1 {
				floats.Scale(correlation, row[:n1])
			}
			b.g.at(row[n1:n1+i+1], i, sd*sd, level)
			row[n1+i] += b.noise[i]
		}
		rest, err := factorize(joint, n, n1)
		if err != nil {
			return 0, err
		}
		copy(solved, residual)
		forward(joint, n, solved)
		logs[k] = -.5*floats.Dot(solved, solved) - logDiag - rest
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
