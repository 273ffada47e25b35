package checkpoint

import "slices"

// exchangeWork bounds the stages that exchanges look at: some milliseconds.
const exchangeWork = 500_000

// exchange improves the best set by one kind of step as long as that helps and there is
// work left: a stage leaves with all that needs it, and other blocks of stages come in for
// the bytes that it cost. Greedy sets fill the budget with what comes first, so among
// pipelines of about the same size the wrong ones may have it.
func (s *search) exchange() {
	for better := true; better && s.best != nil; {
		better = false
		value := s.value
		from := make([]bool, s.ended())
		copy(from, s.best)
		for i := len(from) - 1; i >= 0 && !better; i-- {
			if !from[i] {
				continue
			}
			in := slices.Clone(from)
			for _, k := range s.descendants(in, i) {
				in[k] = false
			}
			if !s.blocks(in, i) {
				return
			}
			s.scan(in)
			better = s.value > value
		}
	}
}

// ended is the number of stages that have ended at the best set's time, or in it.
func (s *search) ended() int {
	n := len(s.best)
	for n < s.v.g.Len() && s.v.g.stages[n].End <= s.v.g.stages[len(s.best)-1].End {
		n++
	}
	return n
}
