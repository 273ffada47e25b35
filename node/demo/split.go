package demo

import (
	"fmt"
	"slices"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/node/share"
)

// plan says who holds what and what is searched.
type plan struct {
	// shared has the runs of each holder.
	shared [][]model.Run
	// searches are the workloads that nobody holds, with all their rows.
	searches []share.Group
}

// split deals workloads over the organisations. Of every algorithm that the table
// has on more than one data set, the last data set is held by nobody and searched;
// without any such algorithm the last workload is.
func split(o Options) (plan, error) {
	groups := share.GroupRuns(o.Runs)
	if len(groups) < 2 {
		return plan{}, fmt.Errorf("%w: %d workloads, the demo needs at least 2: one that is known and one that is searched", ErrTable, len(groups))
	}
	var known, searched []share.Group
	for i, g := range groups {
		last := i+1 == len(groups) || groups[i+1].Workload.Topic() != g.Workload.Topic()
		several := i > 0 && groups[i-1].Workload.Topic() == g.Workload.Topic()
		if last && several {
			searched = append(searched, g)
		} else {
			known = append(known, g)
		}
	}
	if len(searched) == 0 {
		searched, known = known[len(known)-1:], known[:len(known)-1]
	}
	if o.MaxSearches > 0 && len(searched) > o.MaxSearches {
		searched = searched[:o.MaxSearches]
	}
	p := plan{searches: searched, shared: make([][]model.Run, min(len(holders()), len(known)))}
	for i, g := range known {
		holder := i % len(p.shared)
		p.shared[holder] = append(p.shared[holder], spread(g.Runs, o.History)...)
	}
	return p, nil
}

// spread takes at most n runs, evenly over their order; 0 takes all.
func spread(runs []model.Run, n int) []model.Run {
	if n <= 0 || n >= len(runs) {
		return slices.Clone(runs)
	}
	out := make([]model.Run, n)
	for i := range out {
		out[i] = runs[i*len(runs)/n]
	}
	return out
}
