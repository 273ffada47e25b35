package spark

import "github.com/karasu-project/karasu/model"

// timeline sums an amount over time in a fixed number of bins, whose width doubles
// whenever time runs over the last.
type timeline struct {
	base  int64 // ms; the start of the first bin
	width int64 // ms
	bins  [timelineBins]float64
}

const (
	timelineBins  = 512
	firstBinWidth = 1000 // ms
)

// spread adds an amount evenly over [from, to], in ms.
func (t *timeline) spread(from, to int64, amount float64) {
	t.cover(from, to)
	from = max(from, t.base)
	to = max(to, from+1)
	rate := amount / float64(to-from)
	for i := (from - t.base) / t.width; i <= (to-1-t.base)/t.width; i++ {
		low := t.base + i*t.width
		t.bins[i] += rate * float64(min(to, low+t.width)-max(from, low))
	}
}

// cover makes the bins reach to a time. The first call sets where they begin; what is
// before that counts in the first bin.
func (t *timeline) cover(from, to int64) {
	if t.width == 0 {
		t.base, t.width = from, firstBinWidth
	}
	for (max(from, to)-t.base)/t.width >= timelineBins {
		t.halve()
	}
}

func (t *timeline) halve() {
	for i := range timelineBins / 2 {
		t.bins[i] = t.bins[2*i] + t.bins[2*i+1]
	}
	clear(t.bins[timelineBins/2:])
	t.width *= 2
}

// shareOf returns percentiles over time of this amount over another, which has the
// same bins; nil where the other is nothing.
func (t *timeline) shareOf(whole *timeline) *model.Percentiles {
	var s sketch
	for i, w := range whole.bins {
		if w > 0 {
			s.add(min(1, t.bins[i]/w), w)
		}
	}
	return s.shares()
}
